/* Split: a packed matrix [batch, rows, heads * head_dim] to heads [batch, heads, rows, padded_dim], with conversion of
 * the type; the columns that pad a head are 0.
 *
 *     packed row  | head 0 | head 1 | head 2 |   ->   heads[b][h][row] = | head h | 0 ... |
 *
 * One work-item moves VECTOR columns of one row of one head. */

#include "params.clh"
#include "storage.clh"

WIDE_KERNEL void split(const heads_params params, __global const uchar *packed, __global uchar *heads)
{
    const heads_params *p = &params;
    const long parts = (p->padded_dim + VECTOR - 1) / VECTOR;
    const long items = p->batch * p->rows * p->heads * parts;
    for (long item = get_global_id(0); item < items; item += get_global_size(0)) {
        const int column = (int)(item % parts) * VECTOR;
        const long h = item / parts % p->heads;
        const long row = item / parts / p->heads % p->rows;
        const long b = item / parts / p->heads / p->rows;
        const long from = p->packed_offset + b * p->packed_strides[0] + row * p->packed_strides[1] + h * p->head_dim;
        const long to = p->heads_offset + b * p->heads_strides[0] + h * p->heads_strides[1] + row * p->heads_strides[2];
        const float16 values =
            column < p->head_dim ? load_from_row(packed, from, column, p->head_dim, p->packed_type) : (float16)0.0f;
        store_to_row(heads, to, column, p->padded_dim, p->heads_type, values);
    }
}
