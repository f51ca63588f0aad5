/* Data of the self-test, and verdicts on results. */
#ifndef OCLATTN_PROBE_SELFTEST_VALUES_H
#define OCLATTN_PROBE_SELFTEST_VALUES_H

#include <stdint.h>

#include "selftest.h"

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
double values_largest(const values *v);

/* Moves them to and from a buffer of the session. */
bool upload(session *s, const values *v, oclattn_tensor *tensor);
bool download(session *s, values *v, cl_mem buffer);

void fail_test(outcome *result, const char *reason);
/* Of a call that did not succeed: what the library refuses, with a reason, is no failure. */
void take_status(outcome *result, oclattn_status status, const oclattn_error *error);
/* A NaN where a number is expected is out of bounds. */
void compare_one(outcome *result, const char *what, size_t i, double found, double expected, double tolerance);

/* The problems by operation; see selftest.h. */
void attention_run(session *s, const char *variant, size_t index, outcome *result);
size_t attention_count(void);
void attention_describe(size_t index, char *words, size_t size);
void projection_run(session *s, const char *variant, size_t index, outcome *result);
size_t projection_count(void);
void projection_describe(size_t index, char *words, size_t size);
void heads_run(session *s, bool split, size_t index, outcome *result);
size_t heads_count(void);
void heads_describe(size_t index, char *words, size_t size);
void states_run(session *s, size_t index, outcome *result);
size_t states_count(void);
void states_describe(size_t index, char *words, size_t size);

/* "f32" and so on. */
const char *type_word(oclattn_type type);

#endif
