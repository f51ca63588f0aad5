/* The options that both commands share, and what they mean. */
#ifndef OCLATTN_RUN_COMMON_H
#define OCLATTN_RUN_COMMON_H

#include <oclattn/oclattn.h>

#include "io/array.h"
#include "options.h"

typedef struct common_options {
    const char *dtype, *variant, *device, *log;
    int64_t repeat;
    bool check, explain, json, help;
} common_options;

option_group common_option_group(common_options *options);

/* "f32", "f16", "bf16". `text` NULL: `otherwise`. */
bool parse_type(const char *label, const char *text, oclattn_type otherwise, oclattn_type *type, failure *f);
const char *type_name(oclattn_type type);
array_type array_type_of(oclattn_type type);
/* The type that a result of `type` has in a .npy file, which has no bfloat16. */
array_type file_type_of(oclattn_type type);

/* Reads a .npy file of floats and rounds it to `type`. */
bool load_floats(const char *label, const char *path, oclattn_type type, host_array *array, failure *f);

/* Turns a status of the library into a sentence and an exit code. */
bool fail_library(failure *f, oclattn_status status, const oclattn_error *error);

#endif
