/* Are a candidate's results right? */
#ifndef OCLATTN_TUNE_CHECK_H
#define OCLATTN_TUNE_CHECK_H

#include "work.h"

/* A small problem, and its result in float64. */
typedef struct tune_check {
    tune_work work;
    double *expected, *tolerance; /* of each output */
} tune_check;

/* check_clear also after an error. */
bool check_make(tune_check *check, const tune_device *device, const tune_problem *problem, failure *f);
void check_clear(tune_check *check);

/* Plans the problem with the tuning file that the environment names now, and compares. False: EXIT_WRONG_RESULT, or why
 * it did not run. */
bool check_run(const tune_check *check, const char *variant, failure *f);

/* Whether two plans for the same work agree, within what the reference allows both of them. */
bool check_agreement(tune_run *known, tune_run *candidate, failure *f);

#endif
