/* The whole of a run: devices, problems, and the report. */
#ifndef OCLATTN_BENCH_BENCH_H
#define OCLATTN_BENCH_BENCH_H

#include "wishes.h"

#define BENCH_SCHEMA_VERSION 1 /* of all JSON */

/* `program` is this tool, for the processes that --latency starts. */
exit_code bench_run(const char *program, const bench_options *o, const wishes *w, failure *f);

/* Prints the problems. */
void bench_list(const bench_options *o, const wishes *w);

#endif
