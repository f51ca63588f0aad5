#include "rounds.h"

#include "timing.h"

/* Long beside what a launch costs, and short enough that other programs leave some runs alone. */
#define LEAST_RUN_S 0.005

static bool run_rounds(void *data, cl_command_queue queue, cl_event *event, failure *f) {
    const rounds_work *w = data;
    (void)queue;
    const cl_int code = clSetKernelArg(w->kernel, w->argument, sizeof w->rounds, &w->rounds);
    return code == CL_SUCCESS ? measure_launch(w->device, w->kernel, w->device->items, event, f)
                              : fail_with(f, EXIT_RUNTIME, "clSetKernelArg failed (OpenCL error %d)", (int)code);
}

bool rounds_calibrate(rounds_work *w, failure *f) {
    double seconds = 0;
    if (!measure_run(w->device->queue, run_rounds, w, &seconds, NULL, f)) {
        return false;
    }
    while (seconds < LEAST_RUN_S && w->rounds < 1 << 24) {
        w->rounds *= 4;
        if (!measure_run(w->device->queue, run_rounds, w, &seconds, NULL, f)) {
            return false;
        }
    }
    return true;
}

double rounds_rate(rounds_work *w, failure *f) {
    double seconds = 0;
    return measure_run(w->device->queue, run_rounds, w, &seconds, NULL, f) ? w->rounds / seconds : -1;
}

double rounds_best_rate(rounds_work *w, double budget_s, failure *f) {
    const measure_limits limits = {3, INT64_MAX, budget_s};
    measure_times times;
    if (!rounds_calibrate(w, f) || !measure_time(w->device->queue, run_rounds, w, &limits, &times, f)) {
        return -1;
    }
    return w->rounds / times.least_s;
}
