/* What a run says on stdout, as text or as JSON. */
#ifndef OCLATTN_RUN_REPORT_H
#define OCLATTN_RUN_REPORT_H

#include <jansson.h>

#include "compare.h"
#include "device.h"
#include "io/output_file.h"
#include "options.h"
#include "timing.h"

/* A finite number, or null: strict JSON has no NaN. */
json_t *json_number(double value);
json_t *shape_json(const int64_t *shape, int rank);
/* Prints and releases. */
void json_print(json_t *root);

void device_print(const oclattn_device_info *info);
json_t *device_json(const oclattn_device_info *info);

void timing_print(const timing *t);
json_t *timing_json(const timing *t);

/* The plan's own description, which the caller frees. NULL: out of memory. */
char *plan_text(const oclattn_plan *plan);
/* Prints it, indented by two. */
void plan_print(const char *text);

/* A result that may go to a file. */
typedef struct result_file {
    output_file out;
    host_array array;
} result_file;

/* Whether no result would replace a file that an option names as input. */
bool results_spare_inputs(const result_file *results, size_t count, const option_group *groups, size_t group_count,
                          failure *f);
/* Before the work: every file could be written, and no two are the same. */
bool results_check(result_file *results, size_t count, failure *f);
/* After it: all of them, or none. */
bool results_write(result_file *results, size_t count, failure *f);
void results_print(const result_file *results, size_t count);
json_t *results_json(const result_file *results, size_t count);

#endif
