/* What a device reaches at best, measured by OpenCL kernels. All take about the budget, and the best of many runs
 * counts. Times are the host's, so nothing depends on a driver's event times. */
#ifndef OCLATTN_MEASURE_PEAKS_H
#define OCLATTN_MEASURE_PEAKS_H

#include "device.h"

typedef enum measure_number { MEASURE_F32, MEASURE_F16, MEASURE_F64 } measure_number;

/* Operations a second, two for each multiplication with its addition. Compiling several forms of the loop comes before
 * the budget: after prepare_s, one that works is enough. Below 0: `f` says why. */
double measure_fma(const measure_device *d, measure_number number, double prepare_s, double budget_s, failure *f);

/* More than any cache holds: 256 MiB, or four times the device's cache where that is more; an eighth of its largest buffer
 * where that is less. */
size_t measure_uncached_bytes(const measure_device *d);

/* Bytes a second. Below 0: `f` says why. */
double measure_read(const measure_device *d, double budget_s, failure *f);        /* noise larger than any cache */
double measure_cached_read(const measure_device *d, double budget_s, failure *f); /* the same few bytes over and over */
double measure_copy(const measure_device *d, double budget_s, failure *f);        /* both ways together */
double measure_local_read(const measure_device *d, double budget_s, failure *f);

typedef struct launch_times {
    double alone_s;  /* a kernel that does nothing, and the wait for it */
    double in_row_s; /* one of many, with one wait for all */
} launch_times;

bool measure_launches(const measure_device *d, double budget_s, launch_times *times, failure *f);

#endif
