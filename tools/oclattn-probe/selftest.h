/* Every variant of every operation, on a handful of problems each, against the float64 reference. */
#ifndef OCLATTN_PROBE_SELFTEST_H
#define OCLATTN_PROBE_SELFTEST_H

#include "machine.h"
#include "plan/plan.h"
#include "session.h"

typedef enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_SKIP } verdict;

typedef struct outcome {
    verdict verdict;
    char reason[512];
    double worst; /* the largest error, as a part of what is allowed; below 0: nothing was compared */
} outcome;

/* A variant's operation has this many problems; the first is 0. */
size_t problem_count(plan_kind operation);
void problem_describe(plan_kind operation, size_t index, char *words, size_t size);
/* Runs one on the session's device. `variant` has no meaning for operations that have one variant only. */
void problem_run(session *s, plan_kind operation, const char *variant, size_t index, outcome *result);

typedef struct selftest_wish {
    const char *variant; /* NULL: all */
    int64_t problem;     /* -1: all */
    double limit_s;      /* for each variant */
    bool quiet;          /* no lines on stdout */
} selftest_wish;

/* Tests the chosen device, adds "selftest" to the document, and writes the quarantine. EXIT_DONE, EXIT_WRONG_RESULT, or
 * what `f` says. */
exit_code selftest_run(const machine *m, json_t *document, const selftest_wish *wish, const char *cache_dir,
                       failure *f);

#endif
