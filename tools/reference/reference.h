/* The contract in float64 and plain loops: what every kernel is held to. It shares nothing with the library but the
 * enums of its public header. */
#ifndef OCLATTN_TOOLS_REFERENCE_H
#define OCLATTN_TOOLS_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include <oclattn/oclattn.h>

/* All arrays are contiguous in the order of their comment, but mask and bias, which have strides. NULL: not used. */
typedef struct reference_attention {
    int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim, v_dim;
    const double *q, *k, *v; /* [batch, q_heads, q_len, head_dim], [batch, kv_heads, kv_len, head_dim or v_dim] */
    double scale, softcap;   /* softcap 0: none */
    bool causal;
    oclattn_alignment align;
    const int32_t *offsets;            /* [batch], for OCLATTN_ALIGN_OFFSET */
    int64_t window_left, window_right; /* -1: no bound */
    const uint8_t *mask;               /* 0: hidden */
    int64_t mask_strides[4], mask_kv_len;
    const double *bias;
    int64_t bias_strides[4], bias_kv_len;
    const double *bias_scale, *alibi_slopes, *sinks; /* [q_heads] */
    const int32_t *q_lens, *kv_lens;                 /* [batch] */
    double *o;                                       /* [batch, q_heads, q_len, v_dim] */
    double *lse;                                     /* [batch, q_heads, q_len] */
    double *scores;                                  /* [batch, q_heads, q_len, kv_len] */
    oclattn_scores_kind scores_kind;
} reference_attention;

/* False: out of memory. */
bool reference_attention_run(const reference_attention *problem);

/* y[row, out] = x[row, in] W[in, out] + b, W [out, in] when out_in is set, b NULL: none. */
void reference_projection(int64_t rows, int64_t in_dim, int64_t out_dim, const double *x, const double *w, bool out_in,
                          const double *b, double *y);

/* F(H). `attention` gives sizes and options; its q, k, v and o are made here. x [batch, q_len, d_model], kv [batch,
 * kv_len, kv_width] (NULL: x), y [batch, q_len, d_model]. False: out of memory. */
typedef struct reference_mha {
    int64_t d_model, kv_width;
    const double *x, *kv, *w_q, *w_k, *w_v, *w_head, *b_q, *b_k, *b_v, *b_head;
    bool out_in;
    reference_attention attention;
    double *y;
} reference_mha;

bool reference_mha_run(const reference_mha *problem);

/* Conversions by the letter of IEEE 754, round to nearest even. */
double reference_from_f16(uint16_t bits);
double reference_from_bf16(uint16_t bits);
uint16_t reference_to_f16(double value);
uint16_t reference_to_bf16(float value);

/* The tolerances that tests and --check share; reference.c gives their reasons.
 *
 * score_max is the largest size that scores reach on their way: |scale q.k|, with and without bias and ALiBi, of the
 * keys that count (those within 150 of the greatest). Where dot products cancel, |scale| sqrt(head_dim) q_max k_max
 * tells more of it than the scores that come out; the larger of the two is right. */

/* How far |score - expected| or |LSE - expected| may be. */
double reference_score_tolerance(int64_t head_dim, double score_max);

/* How far |result - expected| may be, for an output of attention of type `type` over kv_len keys, whose largest |v| is
 * v_max. With v_max 1 and F32: for probabilities. */
double reference_attention_tolerance(oclattn_type type, int64_t kv_len, int64_t head_dim, double v_max,
                                     double score_max, double expected);

/* The same for a projection of f32 values: sum_i |x_i w_i| bounds the error of one output. */
double reference_projection_tolerance(oclattn_type type, int64_t in_dim, double sum_of_magnitudes, double expected);

/* The distance between neighbours of that type around `value`. */
double reference_ulp(oclattn_type type, double value);

#endif
