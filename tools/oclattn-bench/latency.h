/* What comes before and around the device's work: processes that start, plans, enqueues. */
#ifndef OCLATTN_BENCH_LATENCY_H
#define OCLATTN_BENCH_LATENCY_H

#include "device.h"
#include "first_result.h"

/* Of several tries. */
typedef struct tries {
    double least, median;
} tries;

typedef struct start_latency {
    tries whole, context, plan; /* seconds */
} start_latency;

typedef struct latency {
    start_latency cold, warm; /* warm: compiled kernels are on disk */
    tries plan_again;         /* seconds; they are in the context */
    tries enqueue;            /* seconds that the host spends in the call */
} latency;

#define MOST_LATENCY_TRIES 100

/* `program` is this tool; `count` of tries, 1 to MOST_LATENCY_TRIES. */
bool latency_measure(const char *program, const bench_device *device, size_t count, latency *l, failure *f);
void latency_print(const latency *l);
json_t *latency_json(const latency *l, const bench_device *device);

#endif
