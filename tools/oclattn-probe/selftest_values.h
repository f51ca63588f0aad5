/* Data of the self-test. */
#ifndef OCLATTN_PROBE_SELFTEST_VALUES_H
#define OCLATTN_PROBE_SELFTEST_VALUES_H

#include <stdint.h>

#include "selftest_problems.h"

/* Numbers in a storage type, and the same as they were rounded to it. */
typedef struct values {
    oclattn_type type;
    size_t count;
    void *raw;
    double *real;
} values;

/* Raw bytes that are NaN in every type, so that what a kernel leaves out shows. False: out of memory. */
bool values_make(values *v, oclattn_type type, int64_t count);
/* From -1 to 1. */
double random_number(uint64_t *state);
bool values_random(values *v, oclattn_type type, int64_t count, uint64_t *state);
void values_free(values *v);
void values_set(values *v, size_t i, double value);
double values_get(const values *v, size_t i);
/* Whether the element still is as values_make left it. */
bool values_is_untouched(const values *v, size_t i);
double values_largest(const values *v);
/* Copies `count` elements between values of one type. */
void values_copy(values *to, size_t to_index, const values *from, size_t from_index, size_t count);

/* Moves them to and from a buffer of the session. */
bool upload(session *s, const values *v, oclattn_tensor *tensor);
bool download(session *s, values *v, cl_mem buffer);

/* "f32" and so on. */
const char *type_word(oclattn_type type);

#endif
