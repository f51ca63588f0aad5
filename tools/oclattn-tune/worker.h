/* The child process: searches one class. A compiler or a kernel that crashes takes only this process with it; the next
 * one is told what has been decided, and goes on from there. */
#ifndef OCLATTN_TUNE_WORKER_H
#define OCLATTN_TUNE_WORKER_H

#include <stdio.h>

#include "classes.h"
#include "search.h"

/* A candidate that needs no second look. */
typedef struct tune_decision {
    int values[MOST_GROUP_VALUES];
    bool better;
} tune_decision;

typedef struct tune_task {
    const tune_class *what;
    int platform_index, device_index;
    const char *candidate_file; /* to write candidates into */
    tuning start;
    bool quick;        /* problems in small, and few candidates */
    double deadline_s; /* of now_s; no candidate but the first begins after it */
    const tune_decision *decided;
    size_t decided_count;
} tune_task;

/* How much faster a candidate must be: more than noise. */
#define NEEDED_GAIN 1.03

/* A child_job; data: a tune_task. Lines of JSON:
 *     {"starts": [values]}
 *     {"decided": [values], "better", "gain" or null, "skipped": why or null}
 *     {"measured": [values], "gain" or null, "skipped": why or null, "problems": as below}
 *                                of a class whose values are set once: `start`, and the gain over the library's own
 * kernel
 *     {"again": true}            the device is no longer to be trusted: start another process
 *     {"end": "finished", "stopped" or "quick", "best": [values], "gain", "problems": [{"problem", "before_gflops",
 *      "after_gflops"}]}
 *     {"cannot": why, "code": exit code} */
void worker_run(FILE *to, void *task);

#endif
