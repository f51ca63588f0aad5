/* Kernels that repeat their work `rounds` times, as often as makes a run long enough to measure. */
#ifndef OCLATTN_MEASURE_ROUNDS_H
#define OCLATTN_MEASURE_ROUNDS_H

#include "device.h"

typedef struct rounds_work {
    const measure_device *device;
    cl_kernel kernel;
    cl_uint argument; /* number of the kernel's argument `rounds`, an int */
    cl_int rounds;
} rounds_work;

/* Raises `rounds` until a run is long enough. It begins with a guess, 1 at least, that is not too high. */
bool rounds_calibrate(rounds_work *w, failure *f);
/* Rounds a second of one run. Below 0: it failed. */
double rounds_rate(rounds_work *w, failure *f);
/* The best of many runs within the budget. Below 0: it failed. */
double rounds_best_rate(rounds_work *w, double budget_s, failure *f);

#endif
