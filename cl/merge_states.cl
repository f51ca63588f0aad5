/* The result over the union of two sets of keys, from the results over each:
 *
 *     o = (e^lse1 o1 + e^lse2 o2) / (e^lse1 + e^lse2),   lse = log(e^lse1 + e^lse2)
 *
 * with both exponents taken relative to the larger one. Source: Milakov and Gimelshein, "Online normalizer calculation
 * for softmax", 2018; Dao et al., "FlashAttention", 2022. One work-item a row, so that it may work in place. */

#include "params.clh"
#include "storage.clh"

WIDE_KERNEL void merge_states(const states_params params, __global const float *o1, __global const float *lse1,
                           __global const float *o2, __global const float *lse2, __global float *o,
                           __global float *lse)
{
    const states_params *p = &params;
    for (long row = get_global_id(0); row < p->rows; row += get_global_size(0)) {
        const float a = lse1[p->lse1_offset + row];
        const float b = lse2[p->lse2_offset + row];
        const float larger = fmax(a, b);
        /* A state of no key weighs exactly nothing, and two of them make another. */
        const float weight1 = a == -INFINITY ? 0.0f : exp(a - larger);
        const float weight2 = b == -INFINITY ? 0.0f : exp(b - larger);
        const float sum = weight1 + weight2;
        const float share1 = sum == 0.0f ? 0.0f : weight1 / sum;
        const float share2 = sum == 0.0f ? 0.0f : weight2 / sum;
        const long row1 = p->o1_offset + row * p->v_dim;
        const long row2 = p->o2_offset + row * p->v_dim;
        for (long d = 0; d < p->v_dim; ++d) {
            const float part1 = a == -INFINITY ? 0.0f : share1 * o1[row1 + d];
            const float part2 = b == -INFINITY ? 0.0f : share2 * o2[row2 + d];
            o[p->o_offset + row * p->v_dim + d] = part1 + part2;
        }
        lse[p->lse_offset + row] = sum == 0.0f ? -INFINITY : larger + log(sum);
    }
}
