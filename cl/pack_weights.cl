/* Prepares the weights of a projection: W, stored [in, out] or [out, in] in any type, becomes f32 panels
 *
 *     W [in_dim, out_dim]  ->  panels [padded / panel][in_dim][panel],   padded = out_dim rounded up to whole panels
 *
 * of p->panel columns each (panel = out_dim: plain [in, out]), and b becomes f32; both are filled up with 0. */

#include "params.clh"
#include "storage.clh"

/* One work-item an element. */
WIDE_KERNEL void pack_weights(const pack_params params, __global const uchar *w, __global const uchar *b,
                           __global float *panels, __global float *bias)
{
    const pack_params *p = &params;
    for (long item = get_global_id(0); item < p->padded * p->in_dim; item += get_global_size(0)) {
        const long column = item / (p->in_dim * p->panel) * p->panel + item % p->panel;
        const long k = item / p->panel % p->in_dim;
        const long from = p->w_offset + (p->out_in ? column * p->in_dim + k : k * p->out_dim + column);
        panels[item] = column < p->out_dim ? load_element(w, from, p->w_type) : 0.0f;
        if (k == 0) {
            bias[column] =
                p->has_bias && column < p->out_dim ? load_element(b, p->b_offset + column, p->w_type) : 0.0f;
        }
    }
}
