/* What is measured: one problem, its name, and the work that it needs at least. */
#ifndef OCLATTN_BENCH_PROBLEM_H
#define OCLATTN_BENCH_PROBLEM_H

#include <jansson.h>
#include <stdbool.h>

#include <oclattn/oclattn.h>

typedef enum problem_group { GROUP_PREFILL, GROUP_DECODE, GROUP_LAYER, GROUP_PROJECTION } problem_group;

typedef struct bench_problem {
    problem_group group;
    oclattn_type type, kv_type; /* kv_type: of K and V where the problem is attention alone */
    /* Attention, alone or in a layer. */
    int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim, v_dim;
    int64_t window_left, window_right; /* -1: no bound */
    oclattn_alignment align;
    bool causal;
    const int32_t *kv_lens;        /* [batch], static; NULL: kv_len each */
    int64_t d_model;               /* of a layer */
    int64_t rows, in_dim, out_dim; /* of a projection */
    const char *variant;           /* NULL: the best that fits */
} bench_problem;

const char *group_name(problem_group group);
/* What the numbers of a title mean. */
const char *group_legend(problem_group group);

/* Names the problem, but for its types; a baseline finds it by this. */
#define TITLE_SIZE 320
const char *problem_title(const bench_problem *p, char title[TITLE_SIZE]);

/* offset_b of the contract: where row 0 stands among the keys of a batch entry. */
int64_t problem_offset(const bench_problem *p, int64_t b);
/* Keys of a batch entry. */
int64_t problem_keys(const bench_problem *p, int64_t b);

/* Operations of the matrix products, over the pairs of query and key that count; two for a multiplication with its
 * addition. */
double problem_flop(const bench_problem *p);
/* Inputs, weights and outputs, each once. */
double problem_bytes(const bench_problem *p);

json_t *problem_json(const bench_problem *p);

#endif
