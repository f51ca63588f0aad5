/* Merges the partial results of a row over its chunks of keys, in order:
 *
 *     o = sum_c exp(m_c - M) o_c / (sum_c exp(m_c - M) l_c + exp(sink - M)),   M = max_c m_c
 *
 * where o_c is not normalised. Chunks that the row sees nothing of are left out: nobody wrote them. One work-item takes
 * VECTOR columns of a row. Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018. */

#include "attention.clh"

#ifdef SUB_GROUP_SIZE /* Intel's GPUs: wider ones have no registers for vectors of 16 */
__attribute__((intel_reqd_sub_group_size(SUB_GROUP_SIZE)))
#endif
WIDE_KERNEL void attention_combine(const attention_params params, ATTENTION_BUFFERS, __global float *partial)
{
    const attention_params *p = &params;
    const long parts = (p->v_dim + VECTOR - 1) / VECTOR;
    const long items = partial_rows(p) * parts;
    for (long item = get_global_id(0); item < items; item += get_global_size(0)) {
        const long number = item / parts;
        const int first_column = (int)(item % parts) * VECTOR;
        const int columns = min(VECTOR, p->v_dim - first_column);
        row_view row;
        if (!view_row(p, number, &row, bias_scale, slopes, q_lens, kv_lens, q_starts, kv_starts, offsets)) {
            continue;
        }
        const bool is_empty = row.i >= row.q_len || row.key_begin >= row.key_end;
        const long first_chunk = is_empty ? 0 : row.key_begin / p->kv_chunk;
        const long chunk_end = is_empty ? 0 : (row.key_end - 1) / p->kv_chunk + 1;
        float maximum = -INFINITY;
        for (long chunk = first_chunk; chunk < chunk_end; ++chunk) {
            maximum = fmax(maximum, partial[partial_sums(p, number, chunk)]);
        }
        float sum = 0.0f;
        float16 o_sum = 0.0f;
        for (long chunk = first_chunk; chunk < chunk_end; ++chunk) {
            const long sums = partial_sums(p, number, chunk);
            /* Without any maximum, the sums are 0, or NaN, which must get through. */
            const float factor = maximum == -INFINITY ? 1.0f : exp(partial[sums] - maximum);
            sum = MULTIPLY_ADD(partial[sums + 1], factor, sum);
            const float16 o_chunk = load_from_row((input_buffer)partial, partial_o(p, number, chunk), first_column,
                                                  p->v_dim, TYPE_F32);
            o_sum = MULTIPLY_ADD(o_chunk, (float16)factor, o_sum);
        }
        float values[VECTOR];
        vstore16(o_sum, 0, values);
        finish_row(p, &row, o, lse, sinks, maximum, sum, values, first_column, columns);
    }
}
