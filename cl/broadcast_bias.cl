/* Every row of y becomes b: the start of a product that adds to y. y is f32. One work-item an element. */

#include "params.clh"
#include "storage.clh"

WIDE_KERNEL void broadcast_bias(const projection_params params, __global const float *bias, __global float *y)
{
    const projection_params *p = &params;
    const long items = p->batch * p->rows * p->out_dim;
    for (long item = get_global_id(0); item < items; item += get_global_size(0)) {
        const long column = item % p->out_dim;
        const long row = item / p->out_dim % p->rows;
        const long b = item / p->out_dim / p->rows;
        y[p->y_offset + b * p->y_strides[0] + row * p->y_strides[1] + column] = bias[column];
    }
}
