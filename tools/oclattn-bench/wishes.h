/* The command line: which problems, on which devices, and how. */
#ifndef OCLATTN_BENCH_WISHES_H
#define OCLATTN_BENCH_WISHES_H

#include "oclattn-run/options.h"
#include "problem.h"

typedef struct shape_options {
    int64_t batch, heads, kv_heads, q_len, kv_len, head_dim, v_dim, d_model, rows, in, out; /* 0: not given */
    const char *window, *align;
    bool causal;
} shape_options;

typedef struct bench_options {
    shape_options shape;
    const char *suite, *dtype, *kv_dtype, *budget, *baseline, *tolerance;
    text_list devices, variants;
    int64_t rounds;
    bool check, latency, list, json, help, version;
} bench_options;

#define OPTION_GROUPS 4
void wishes_option_groups(bench_options *o, option_group groups[OPTION_GROUPS]);

typedef struct wishes {
    bench_problem *problems; /* owned; in the order of the report */
    size_t problem_count;
    double budget_s, tolerance_percent;
    int64_t rounds;
} wishes;

/* command NULL: a suite. */
bool wishes_make(const char *command, const bench_options *o, wishes *w, failure *f);
void wishes_clear(wishes *w);

/* The problem that a command and its options describe. */
bool shape_problem(const char *command, const shape_options *o, bench_problem *p, failure *f);

#endif
