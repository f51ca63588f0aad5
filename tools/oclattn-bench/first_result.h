/* The way from nothing to a first result, F(H) of one sequence, as a program of a user would go it. */
#ifndef OCLATTN_BENCH_FIRST_RESULT_H
#define OCLATTN_BENCH_FIRST_RESULT_H

#include "io/failure.h"
#include "problem.h"

/* The word on the command line that makes a process of this tool take it. */
#define FIRST_RESULT_COMMAND "first-result"

/* One sequence of 128 rows, d_model 768, 12 heads. */
bench_problem first_result_problem(void);

/* Computes, then prints {"context_ms", "plan_ms"} on stdout. spec NULL: the library's choice. */
bool first_result_run(const char *spec, failure *f);

typedef struct first_result_times {
    double whole_s, context_s, plan_s; /* whole: from the start of the process to the result */
} first_result_times;

/* Runs it in a process of its own, `program`, which finds compiled kernels in `folder` alone and leaves its own there:
 * the library's, and those of drivers that can be told. */
bool first_result_spawn(const char *program, const char *spec, const char *folder, first_result_times *times,
                        failure *f);

#endif
