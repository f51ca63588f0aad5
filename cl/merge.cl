/* Merge: concatenation of heads [batch, heads, rows, padded_dim] to a packed matrix [batch, rows, heads * head_dim], with
 * conversion of the type; what pads a head is dropped.
 *
 *     heads[b][h][row] = | head h | ... |   ->   packed row  | head 0 | head 1 | head 2 |
 *
 * One work-item moves VECTOR columns of one row of one head. */

#include "params.clh"
#include "storage.clh"

WIDE_KERNEL void merge(const heads_params params, __global const uchar *heads, __global uchar *packed)
{
    const heads_params *p = &params;
    const long parts = (p->head_dim + VECTOR - 1) / VECTOR;
    const long items = p->batch * p->rows * p->heads * parts;
    for (long item = get_global_id(0); item < items; item += get_global_size(0)) {
        const int column = (int)(item % parts) * VECTOR;
        const long h = item / parts % p->heads;
        const long row = item / parts / p->heads % p->rows;
        const long b = item / parts / p->heads / p->rows;
        const long from =
            p->heads_offset + b * p->heads_strides[0] + h * p->heads_strides[1] + row * p->heads_strides[2];
        const long to = p->packed_offset + b * p->packed_strides[0] + row * p->packed_strides[1] + h * p->head_dim;
        const float16 values = load_from_row(heads, from, column, p->head_dim, p->heads_type);
        store_to_row(packed, to, column, p->head_dim, p->packed_type, values);
    }
}
