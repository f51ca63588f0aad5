/* Runs a computation once or several times, with its time and the bits of its results. */
#ifndef OCLATTN_RUN_TIMING_H
#define OCLATTN_RUN_TIMING_H

#include "device.h"

typedef struct timing {
    int64_t runs;
    double median_ms, least_ms; /* host clock, from the call of enqueue to the end of the last command */
    bool same_bits;
} timing;

typedef bool (*enqueue_fn)(void *job, cl_event *event, failure *f);

typedef struct run_output {
    oclattn_tensor tensor;
    host_array *array; /* receives the result */
} run_output;

bool timing_run(device_session *session, int64_t repeat, enqueue_fn enqueue, void *job, const run_output *outputs,
                size_t output_count, timing *t, failure *f);

#endif
