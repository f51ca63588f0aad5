#include "peaks.h"

#include <stdint.h>

#include "timing.h"

enum { LAUNCHES = 200 };

static const char nothing_source[] = "__kernel void nothing(__global float *out) {\n"
                                     "    if (get_global_id(0) == 1) {\n"
                                     "        out[0] = 1.0f;\n"
                                     "    }\n"
                                     "}\n";

typedef struct launches_work {
    const measure_device *device;
    cl_kernel kernel;
    int count;
} launches_work;

static bool launch_all(void *data, cl_command_queue queue, cl_event *event, failure *f) {
    const launches_work *w = data;
    bool good = true;
    (void)queue;
    for (int i = 1; good && i <= w->count; i++) {
        good = measure_launch(w->device, w->kernel, 1, i == w->count ? event : NULL, f);
    }
    return good;
}

static bool time_launches(const measure_device *d, cl_kernel kernel, double budget_s, launch_times *times, failure *f) {
    const measure_limits limits = {3, INT64_MAX, budget_s / 2};
    launches_work one = {d, kernel, 1}, many = {d, kernel, LAUNCHES};
    measure_times alone, in_row;
    if (!measure_time(d->queue, launch_all, &one, &limits, &alone, f) ||
        !measure_time(d->queue, launch_all, &many, &limits, &in_row, f)) {
        return false;
    }
    *times = (launch_times){alone.least_s, in_row.least_s / LAUNCHES};
    return true;
}

bool measure_launches(const measure_device *d, double budget_s, launch_times *times, failure *f) {
    cl_mem out = measure_buffer(d, sizeof(cl_float), f);
    cl_program program = out ? measure_build(d, nothing_source, "-cl-std=CL1.2", f) : NULL;
    cl_kernel kernel = program ? measure_kernel(program, "nothing", f) : NULL;
    bool good = kernel != NULL;
    if (good) {
        clSetKernelArg(kernel, 0, sizeof out, &out);
        good = time_launches(d, kernel, budget_s, times, f);
    }
    measure_release_kernel(kernel);
    measure_release_program(program);
    measure_release_buffer(out);
    return good;
}
