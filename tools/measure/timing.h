/* How long work on a queue takes. */
#ifndef OCLATTN_MEASURE_TIMING_H
#define OCLATTN_MEASURE_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include <oclattn/oclattn.h>

#include "io/failure.h"

/* Puts work on the queue. *event becomes that of its last command. */
typedef bool (*measure_fn)(void *data, cl_command_queue queue, cl_event *event, failure *f);

typedef struct measure_limits {
    int64_t least_runs, most_runs; /* of those that count; at least 1 */
    double budget_s;               /* no run begins after it but the least */
} measure_limits;

/* Host clock: from the call to the end of the last command. Event clock: from the moment before, on the device, to that
 * end; for queues with CL_QUEUE_PROFILING_ENABLE whose driver keeps such times, and below 0 elsewhere. */
typedef struct measure_times {
    int64_t runs;
    double least_s, median_s;
    double event_least_s, event_median_s;
    bool clocks_disagree; /* the medians: by more than 20 % and 50 us */
} measure_times;

/* One run. The clock of events may be asked for (event_s, below 0: it has no time) or not (NULL). */
bool measure_run(cl_command_queue queue, measure_fn work, void *data, double *host_s, double *event_s, failure *f);

/* Runs that do not count, one at least, to warm up; then those that do. The queue is in order, and empty. */
bool measure_time(cl_command_queue queue, measure_fn work, void *data, const measure_limits *limits,
                  measure_times *times, failure *f);

#endif
