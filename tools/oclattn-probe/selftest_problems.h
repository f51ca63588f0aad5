/* The problems of the self-test, and verdicts on results. All of it runs in a child process. */
#ifndef OCLATTN_PROBE_SELFTEST_PROBLEMS_H
#define OCLATTN_PROBE_SELFTEST_PROBLEMS_H

#include "session.h"

typedef enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_SKIP } verdict;

typedef struct outcome {
    verdict verdict;
    char reason[512];
    double worst; /* the largest error, as a part of what is allowed; below 0: nothing was compared */
} outcome;

/* What one kernel, or one operation, is tried on. The first problem is 0. */
typedef struct problem_set {
    size_t count;
    void (*describe)(size_t index, char *words, size_t size);
    /* variant: NULL where there is only one. */
    void (*run)(session *s, const char *variant, size_t index, outcome *result);
} problem_set;

extern const problem_set attention_problems;  /* of every variant of attention */
extern const problem_set scores_problems;     /* attention_scores: scores and probabilities as outputs */
extern const problem_set combine_problems;    /* attention_combine: chunks of keys put together */
extern const problem_set projection_problems; /* of every variant of projections, and pack_weights */
extern const problem_set split_problems, merge_problems, states_problems;
extern const problem_set mha_problems; /* the chain of all */

void fail_test(outcome *result, const char *reason);
/* Of a call that did not succeed: what the library refuses, or has no memory for, with a reason, is no failure. */
void take_status(outcome *result, oclattn_status status, const oclattn_error *error);
/* A NaN where a number is expected is out of bounds. */
void compare_one(outcome *result, const char *what, size_t i, double found, double expected, double tolerance);

#endif
