/* One device under measurement: the library's context on it, a queue, its peaks, and random numbers made on it. */
#ifndef OCLATTN_BENCH_DEVICE_H
#define OCLATTN_BENCH_DEVICE_H

#include <jansson.h>

#include "measure/device.h"

/* What the device reaches at best. Below 0: not known. */
typedef struct device_peaks {
    double fma_f32; /* operations a second */
    double read;    /* bytes a second, from memory */
    double cached;  /* and from a cache */
} device_peaks;

typedef struct bench_device {
    oclattn_context *context;
    cl_command_queue queue; /* in order, keeps times */
    oclattn_device_info info;
    measure_device measure;
    device_peaks peaks;
    cl_program fill_program;
    cl_kernel fill_kernel;
} bench_device;

/* spec NULL: the library's choice. device_close may be called after a failure too. */
bool device_open(bench_device *d, const char *spec, failure *f);
void device_close(bench_device *d);

/* Takes about budget_s and what compiling takes. May be called again: the best counts. A peak that cannot be measured
 * costs a warning on stderr. */
void device_measure_peaks(bench_device *d, double budget_s);

/* Normally distributed numbers times `scale`, the same ones for the same seed. */
bool device_fill(const bench_device *d, cl_mem buffer, oclattn_type type, int64_t count, uint32_t seed, float scale,
                 failure *f);
/* Elements first to first + count - 1 as float64; the caller frees. NULL: failed. */
double *device_read(const bench_device *d, cl_mem buffer, oclattn_type type, int64_t first, int64_t count, failure *f);
bool device_finish(const bench_device *d, failure *f);

void device_print(const bench_device *d);
void device_print_peaks(const bench_device *d, bool again);
json_t *device_json(const bench_device *d);
/* "P:D" */
json_t *device_spec_json(const bench_device *d);

#endif
