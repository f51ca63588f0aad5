/* Scores, or probabilities, for people who look at attention: the only kernel that writes q_len x kv_len values.
 *
 *     SCALED      scale * (q . k)                        every key, hidden or not
 *     CAPPED      c tanh(s / c)                          every key, hidden or not
 *     BIASED      plus bias and ALiBi                    -inf where hidden
 *     otherwise   exp(s - m) / (l + exp(sink - m))       0 where hidden
 *
 * One work-item a row. */

#include "attention.clh"

/* Storage type of K. */
#ifndef K_TYPE
#define K_TYPE TYPE_F32
#endif

/* Terms of a partial sum of exponentials; sums restart from zero in each block. */
#ifndef SUM_BLOCK
#define SUM_BLOCK 32
#endif

/* The score of key j after the steps that scores_kind asks for, -inf where hidden if that includes hiding. */
static float score_to_show(const attention_params *p, const row_view *row, input_buffer q, input_buffer k,
                           __global const uchar *mask, __global const uchar *bias, long j)
{
    const bool hides = p->scores_kind >= SCORES_BIASED;
    if (hides && (row->i >= row->q_len || j < row->key_begin || j >= row->key_end || is_masked(p, row, mask, j))) {
        return -INFINITY;
    }
    const float bias_ij = hides ? load_bias(p, row, bias, j) : 0.0f;
    if (bias_ij == -INFINITY) {
        return -INFINITY;
    }
    float score = scale_score(p, dot_product(p, row, q, k, j, K_TYPE));
    if (p->scores_kind >= SCORES_CAPPED) {
        score = cap_score(p, score);
    }
    return hides ? add_bias(p, row, score, bias_ij, j) : score;
}

/* Sum of the exponentials of a row of scores that lie in memory, relative to their maximum. */
static float sum_scores(__global const float *row_scores, long count, float maximum)
{
    float sum = 0.0f;
    for (long begin = 0; begin < count; begin += SUM_BLOCK) {
        float block = 0.0f;
        for (long j = begin; j < min(count, begin + SUM_BLOCK); ++j) {
            block += row_scores[j] == -INFINITY ? 0.0f : exp(row_scores[j] - maximum);
        }
        sum += block;
    }
    return sum;
}

static void scores_to_probabilities(const attention_params *p, const row_view *row, __global const float *sinks,
                                    __global float *row_scores, long count)
{
    float maximum = -INFINITY;
    for (long j = 0; j < count; ++j) {
        maximum = fmax(maximum, row_scores[j]);
    }
    const float sum = sum_scores(row_scores, count, maximum);
    const float factor = normalising_factor(maximum, sum, p->features & USES_SINKS, load_sink(p, row, sinks));
    for (long j = 0; j < count; ++j) {
        row_scores[j] = row_scores[j] == -INFINITY ? 0.0f : exp(row_scores[j] - maximum) * factor;
    }
}

/* One work-item a row. Keys and rows that a packed sequence does not have are filled as hidden ones; before the bias,
 * where hiding does not exist yet, they are 0. */
#ifdef SUB_GROUP_SIZE /* Intel's GPUs: wider ones have no registers for vectors of 16 */
__attribute__((intel_reqd_sub_group_size(SUB_GROUP_SIZE)))
#endif
WIDE_KERNEL void attention_scores(const attention_params params, ATTENTION_BUFFERS, __global float *partial)
{
    const attention_params *p = &params;
    const long rows = partial_rows(p);
    for (long number = get_global_id(0); number < rows; number += get_global_size(0)) {
        row_view row;
        const bool exists =
            view_row(p, number, &row, bias_scale, slopes, q_lens, kv_lens, q_starts, kv_starts, offsets);
        __global float *row_scores = scores + tensor_row(p, ATTENTION_SCORES, row.b, row.h, row.i);
        const bool hides = p->scores_kind >= SCORES_BIASED;
        for (long j = 0; j < p->kv_len; ++j) {
            const bool present = exists && j < row.keys_present;
            row_scores[j] = present ? score_to_show(p, &row, q, k, mask, bias, j) : (hides ? -INFINITY : 0.0f);
        }
        if (p->scores_kind > SCORES_BIASED) {
            scores_to_probabilities(p, &row, sinks, row_scores, p->kv_len);
        }
    }
}
