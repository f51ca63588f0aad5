#include "timing.h"

#include <math.h>
#include <stdlib.h>

#include "clock.h"

/* Enough for processors to reach their speed, where the budget allows. */
#define WARM_UP_S 0.02
enum { MOST_RUNS = 1 << 17 };

static bool queue_profiles(cl_command_queue queue) {
    cl_command_queue_properties properties = 0;
    const cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    return code == CL_SUCCESS && (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
}

/* Where work is several commands, its event is the last one's, so a marker before it tells when it began. */
static cl_event put_marker(cl_command_queue queue) {
    cl_event marker = NULL;
    return clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker) == CL_SUCCESS ? marker : NULL;
}

static double event_seconds(cl_event before, cl_event last) {
    cl_ulong begin = 0, end = 0;
    const bool known =
        before && last &&
        clGetEventProfilingInfo(before, CL_PROFILING_COMMAND_END, sizeof begin, &begin, NULL) == CL_SUCCESS &&
        clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) == CL_SUCCESS;
    return known && begin > 0 && end > begin ? (double)(end - begin) / 1e9 : -1;
}

bool measure_run(cl_command_queue queue, measure_fn work, void *data, double *host_s, double *event_s, failure *f) {
    cl_event marker = event_s ? put_marker(queue) : NULL, event = NULL;
    const double start = now_s();
    bool good = work(data, queue, &event, f);
    const cl_int code = good ? clWaitForEvents(1, &event) : CL_SUCCESS;
    *host_s = now_s() - start;
    if (code != CL_SUCCESS) {
        good = fail_with(f, EXIT_RUNTIME, "the device failed while running (OpenCL error %d)", (int)code);
    }
    if (good && event_s) {
        *event_s = event_seconds(marker, event);
    }
    if (marker) {
        clReleaseEvent(marker);
    }
    if (event) {
        clReleaseEvent(event);
    }
    return good;
}

static bool warm_up(cl_command_queue queue, measure_fn work, void *data, double budget_s, failure *f) {
    const double end = now_s() + fmin(WARM_UP_S, budget_s / 10);
    double seconds = 0;
    do {
        if (!measure_run(queue, work, data, &seconds, NULL, f)) {
            return false;
        }
    } while (now_s() < end);
    return true;
}

static int compare_times(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sum_up(double *seconds, size_t runs, double *least, double *median) {
    qsort(seconds, runs, sizeof *seconds, compare_times);
    *least = seconds[0];
    *median = (seconds[(runs - 1) / 2] + seconds[runs / 2]) / 2;
}

static bool differ(double host_s, double event_s) {
    const double apart = fabs(host_s - event_s);
    return event_s >= 0 && apart > 50e-6 && apart > 0.2 * fmax(host_s, event_s);
}

static void sum_up_both(double *host, double *event, bool has_events, size_t runs, measure_times *times) {
    times->event_least_s = times->event_median_s = -1;
    sum_up(host, runs, &times->least_s, &times->median_s);
    if (has_events) {
        sum_up(event, runs, &times->event_least_s, &times->event_median_s);
    }
    times->clocks_disagree = differ(times->median_s, times->event_median_s);
}

bool measure_time(cl_command_queue queue, measure_fn work, void *data, const measure_limits *limits,
                  measure_times *times, failure *f) {
    const int64_t most = limits->most_runs < MOST_RUNS ? limits->most_runs : MOST_RUNS;
    const double end = now_s() + limits->budget_s;
    bool has_events = queue_profiles(queue);
    double *host = malloc(2 * (size_t)most * sizeof *host), *event = host + most;
    *times = (measure_times){0};
    bool good = host ? warm_up(queue, work, data, limits->budget_s, f) : fail_memory(f, "the times of runs");
    while (good && times->runs < most && (times->runs < limits->least_runs || now_s() < end)) {
        const int64_t i = times->runs++;
        good = measure_run(queue, work, data, &host[i], has_events ? &event[i] : NULL, f);
        has_events = has_events && event[i] >= 0;
    }
    if (good) {
        sum_up_both(host, event, has_events, (size_t)times->runs, times);
    }
    free(host);
    return good;
}
