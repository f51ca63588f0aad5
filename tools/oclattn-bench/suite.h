/* The problems that speed is compared on. tools/compare/suite.py has the same for the libraries that people use
 * otherwise. */
#ifndef OCLATTN_BENCH_SUITE_H
#define OCLATTN_BENCH_SUITE_H

#include <stddef.h>

#include "problem.h"

#define SUITE_NAMES "prefill, decode, layer, all or quick"
#define MOST_SUITE_PROBLEMS 32

/* Fills in the problems of a suite, in f32. Returns how many; 0: there is no suite of that name. */
size_t suite_problems(const char *name, bench_problem problems[MOST_SUITE_PROBLEMS]);

#endif
