/* Long options, described by tables: parsing, checking and help come from the same lines. */
#ifndef OCLATTN_RUN_OPTIONS_H
#define OCLATTN_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "io/failure.h"

typedef enum option_kind {
    OPTION_FLAG,  /* bool */
    OPTION_TEXT,  /* const char * */
    OPTION_SIZE,  /* int64_t, 0 or more */
    OPTION_COUNT, /* int64_t, 1 or more */
    OPTION_LIST   /* text_list, of an option that may be repeated */
} option_kind;

typedef struct text_list {
    const char *items[16];
    size_t count;
} text_list;

typedef struct option_spec {
    const char *name, *metavar; /* metavar NULL for a flag */
    option_kind kind;
    size_t offset; /* of the value, in the group's values */
    const char *help;
} option_spec;

typedef struct option_group {
    const char *heading;
    const option_spec *specs;
    size_t count;
    void *values;
} option_group;

/* Takes "--name value" and "--name=value"; a value may begin with one dash. */
bool options_parse(const option_group *groups, size_t group_count, int count, char *const *words, failure *f);
void options_print(const option_group *groups, size_t group_count, FILE *to);

/* Values with a meaning of their own; `label` is the option. */
bool parse_float(const char *label, const char *text, float *value, failure *f);
bool parse_integer(const char *label, const char *text, int64_t least, int64_t most, int64_t *value, failure *f);
/* Exactly `count` numbers of at least `least`, separated by commas. */
bool parse_integers(const char *label, const char *text, size_t count, int64_t least, int64_t *values, failure *f);
bool is_integer(const char *text);

#endif
