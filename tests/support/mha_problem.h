/* An F(H) problem: descriptor, data with guard bands, the run, and the comparison with the float64 reference. */
#ifndef OCLATTN_TESTS_MHA_PROBLEM_H
#define OCLATTN_TESTS_MHA_PROBLEM_H

#include "guarded.h"

enum { MHA_MATRICES = 4 }; /* q, k, v, head */

typedef struct mha_problem {
    oclattn_mha_desc desc;
    view x, kv, y;                         /* [batch, rows, width] */
    view w[MHA_MATRICES], b[MHA_MATRICES]; /* a bias is there even if the descriptor does not use it */
    view mask, q_lens, kv_lens;            /* as the score options say */
} mha_problem;

mha_problem mha_new(int64_t batch, int64_t q_len, int64_t d_model, int64_t n_heads);

/* Makes every tensor; source NULL: with guard bands of a fixed size. */
void mha_allocate(mha_problem *p, random_source *source);
void mha_fill(mha_problem *p, random_source *source);
void mha_free(mha_problem *p);

/* Sizes, types, options and data at random. */
mha_problem mha_random(random_source *source);

int64_t mha_kv_len(const mha_problem *p);
int64_t mha_kv_width(const mha_problem *p);
int64_t mha_head_dim(const mha_problem *p);
int64_t mha_v_dim(const mha_problem *p);
int64_t mha_kv_heads(const mha_problem *p);

void mha_upload(mha_problem *p);
void mha_download(mha_problem *p);
void mha_args(const mha_problem *p, oclattn_mha_args *args);
oclattn_status mha_prepare_weights(const mha_problem *p, const oclattn_plan *plan, cl_command_queue queue,
                                   oclattn_weights **weights, oclattn_error *error);

/* Plans, prepares the weights, runs on the out-of-order queue where there is one, and waits for the event. */
void mha_run(mha_problem *p);
oclattn_status mha_run_host(mha_problem *p, oclattn_error *error);

/* Fails the test unless the results are those of the reference and the guard bands are whole. */
void assert_mha(mha_problem *p);

#endif
