#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "timing.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "progress.h"

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool run_once(enqueue_fn enqueue, void *job, double *ms, failure *f) {
    cl_event event = NULL;
    const double start = now_ms();
    if (!enqueue(job, &event, f)) {
        return false;
    }
    const cl_int code = clWaitForEvents(1, &event);
    *ms = now_ms() - start;
    clReleaseEvent(event);
    return code == CL_SUCCESS
               ? true
               : fail_with(f, EXIT_RUNTIME, "the device failed while running (OpenCL error %d)", (int)code);
}

static bool same_as_before(const device_session *session, const run_output *output, bool *same, failure *f) {
    host_array again = {0};
    if (!array_create(&again, output->array->type, output->array->rank, output->array->shape, "a repeated result", f)) {
        return false;
    }
    const bool good = device_download(session, &output->tensor, &again, f);
    if (good && output->tensor.buffer) {
        *same = *same && memcmp(again.data, output->array->data, again.count * array_type_bytes(again.type)) == 0;
    }
    array_free(&again);
    return good;
}

static bool collect(const device_session *session, bool first, const run_output *outputs, size_t count, bool *same,
                    failure *f) {
    for (size_t i = 0; i < count; i++) {
        if (!(first ? device_download(session, &outputs[i].tensor, outputs[i].array, f)
                    : same_as_before(session, &outputs[i], same, f))) {
            return false;
        }
    }
    return true;
}

static int compare_times(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool timing_run(device_session *session, int64_t repeat, enqueue_fn enqueue, void *job, const run_output *outputs,
                size_t output_count, timing *t, failure *f) {
    const int64_t runs = repeat > 0 ? repeat : 1;
    double *times = runs <= 1000000 ? calloc((size_t)runs, sizeof *times) : NULL;
    if (!times) {
        return fail_with(f, EXIT_BAD_INPUT, "--repeat must be at most 1000000, not %lld", (long long)runs);
    }
    *t = (timing){.runs = runs, .same_bits = true};
    progress p = progress_start("running", runs);
    bool good = true;
    for (int64_t i = 0; good && i < runs; i++) {
        good =
            run_once(enqueue, job, &times[i], f) && collect(session, i == 0, outputs, output_count, &t->same_bits, f);
        progress_step(&p, i + 1);
    }
    progress_end(&p);
    qsort(times, (size_t)runs, sizeof *times, compare_times);
    t->least_ms = times[0];
    t->median_ms = (times[(runs - 1) / 2] + times[runs / 2]) / 2;
    free(times);
    return good;
}
