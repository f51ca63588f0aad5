/* Two plans for the same work, one against the other. */
#ifndef OCLATTN_TUNE_RACE_H
#define OCLATTN_TUNE_RACE_H

#include "work.h"

typedef struct race_limits {
    int least_rounds;
    double budget_s; /* of each work; no round begins after it but the least */
} race_limits;

/* Runs them in turn, so that what slows the machine down slows both, and keeps the least time of each, in seconds. Ends
 * early where the second one is clearly slower. */
bool race_run(tune_run *first, tune_run *second, const race_limits *limits, double least_s[2], failure *f);

#endif
