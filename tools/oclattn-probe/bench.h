/* What a device can do, measured, and what attention makes of it. */
#ifndef OCLATTN_PROBE_BENCH_H
#define OCLATTN_PROBE_BENCH_H

#include "machine.h"

typedef struct bench_task {
    int platform_index, device_index;
    double budget_s;
} bench_task;

/* child_job: a line {"measure", "value" or null, "reason"} for each measure, and {"starts"} before it. */
void bench_measure(FILE *to, void *task);

/* Measures the chosen device for about budget_s, adds "bench" to the document, and prints it unless quiet. */
exit_code bench_run(const machine *m, json_t *document, double budget_s, bool quiet, failure *f);

#endif
