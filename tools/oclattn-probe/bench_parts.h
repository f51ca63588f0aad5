/* What the measurements share; all of it runs in the child. */
#ifndef OCLATTN_PROBE_BENCH_PARTS_H
#define OCLATTN_PROBE_BENCH_PARTS_H

#include "bench.h"
#include "session.h"

/* Runs shorter than this are made longer where they can be. */
#define LEAST_RUN_S 0.02

typedef struct bench {
    session s;
    const bench_task *task;
    FILE *to;
    double share_s; /* of the budget, for one measure */
    double fma_f32, read_bandwidth; /* operations and bytes a second; 0: not known */
    cl_program memory;
    cl_mem data, out; /* `data_bytes` of noise, and as many to write to */
    size_t data_bytes;
} bench;

/* A line of the answer; releases it. */
void bench_print(json_t *line, FILE *to);
void starts(const bench *b, const char *measure);
/* A value that is not above 0 is not known, for the reason. */
void report(const bench *b, const char *measure, double value, const char *reason);

/* Puts work on the queue. */
typedef bool (*work_fn)(bench *b, void *data);
/* The least time within the measure's share, after one run that does not count. Below 0: it failed. */
double least_time(bench *b, work_fn work, void *data);

void bench_attention(bench *b);

#endif
