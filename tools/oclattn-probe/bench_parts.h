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
    double end_s;                   /* on the clock of now_s: when the budget ends */
    int shares_left;                /* of the budget, for what has not begun */
    double fma_f32, read_bandwidth; /* operations and bytes a second; below 0: not known */
} bench;

/* A line of the answer; releases it. */
void bench_print(json_t *line, FILE *to);
/* Returns the seconds that are the measure's shares of the time that is left, compiling and all. */
double starts(bench *b, const char *measure, int shares);
/* A value that is not above 0 is not known, for the reason. */
void report(const bench *b, const char *measure, double value, const char *reason);

/* The least time within the share. Below 0: it failed. */
double least_time(const bench *b, measure_fn work, void *data, double share_s, failure *f);

void bench_attention(bench *b);

#endif
