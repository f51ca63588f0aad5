/* Every variant of every operation, on a handful of problems each, against the float64 reference. */
#ifndef OCLATTN_PROBE_SELFTEST_H
#define OCLATTN_PROBE_SELFTEST_H

#include "machine.h"

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
