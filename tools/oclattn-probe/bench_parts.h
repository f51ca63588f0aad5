/* What the measurements share; all of it runs in the child. */
#ifndef OCLATTN_PROBE_BENCH_PARTS_H
#define OCLATTN_PROBE_BENCH_PARTS_H

#include "bench.h"
#include "measure/device.h"
#include "measure/timing.h"
#include "session.h"

typedef struct bench {
    session s;
    measure_device device;
    const bench_task *task;
    FILE *to;
    double share_s;                 /* of the budget, for one measure */
    double fma_f32, read_bandwidth; /* operations and bytes a second; below 0: not known */
} bench;

/* A line of the answer; releases it. */
void bench_print(json_t *line, FILE *to);
void starts(const bench *b, const char *measure);
/* A value that is not above 0 is not known, for the reason. */
void report(const bench *b, const char *measure, double value, const char *reason);

/* The least time within the measure's share. Below 0: it failed. */
double least_time(const bench *b, measure_fn work, void *data, failure *f);

void bench_attention(const bench *b);

#endif
