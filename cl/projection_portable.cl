/* y = x W + b on any device, f32 accumulation whatever the types.
 *
 * W is packed once into panels of COLUMNS columns, so that a step over k reads one vector:
 *
 *     W [in_dim, out_dim]  ->  panels [ceil(out_dim / COLUMNS)][in_dim][COLUMNS], f32, the last one filled up with 0
 *
 *              k ->                      panel
 *     x   [ ROWS x K_BLOCK ]   *   k [ COLUMNS ]   ->   y [ ROWS x COLUMNS ], one work-item's tile
 *
 * Sums restart from zero in each block of K_BLOCK, which keeps their rounding error that of a short sum. */

#include "projection.clh"

/* Columns of a panel: VECTOR, so that one vector of sums covers a row of the tile. */
#define COLUMNS VECTOR

/* Rows of the tile: sums kept in registers. */
#ifndef ROWS
#define ROWS 4
#endif

/* Terms of a partial sum: a multiple of VECTOR. */
#ifndef K_BLOCK
#define K_BLOCK 128
#endif

/* sums[r] += x[r][k .. k + VECTOR) * panel rows k .. k + VECTOR. */
static inline void add_terms(const projection_params *p, __global const uchar *x, const long *x_rows,
                             __global const float *panel, int k, float16 *sums)
{
    float terms[ROWS][VECTOR];
    const int count = (int)min((long)VECTOR, p->in_dim - k);
    for (int r = 0; r < ROWS; ++r) {
        vstore16(load_from_row(x, x_rows[r], k, (int)p->in_dim, p->x_type), 0, terms[r]);
    }
    for (int t = 0; t < count; ++t) {
        const float16 w = vload16(0, panel + (long)(k + t) * COLUMNS);
        for (int r = 0; r < ROWS; ++r) {
            sums[r] = MULTIPLY_ADD((float16)terms[r][t], w, sums[r]);
        }
    }
}

/* Neighbouring work-items share a panel: item = panel * row tiles + row tile. */
WIDE_KERNEL void projection_portable(const projection_params params, __global const uchar *x,
                                  __global const float *panels, __global const float *bias, __global uchar *y)
{
    const projection_params *p = &params;
    const long row_tiles = (p->batch * p->rows + ROWS - 1) / ROWS;
    const long items = row_tiles * ((p->out_dim + COLUMNS - 1) / COLUMNS);
    for (long item = get_global_id(0); item < items; item += get_global_size(0)) {
        const long first_row = item % row_tiles * ROWS;
        const long column = item / row_tiles * COLUMNS;
        __global const float *panel = panels + column * p->in_dim;
        long x_rows[ROWS];
        float16 totals[ROWS];
        for (int r = 0; r < ROWS; ++r) {
            x_rows[r] = row_start(p, p->x_strides, p->x_offset, first_row + r);
            totals[r] = 0.0f;
        }
        for (int block = 0; block < p->in_dim; block += K_BLOCK) {
            float16 sums[ROWS];
            for (int r = 0; r < ROWS; ++r) {
                sums[r] = 0.0f;
            }
            for (int k = block; k < min((long)block + K_BLOCK, p->in_dim); k += VECTOR) {
                add_terms(p, x, x_rows, panel, k, sums);
            }
            for (int r = 0; r < ROWS; ++r) {
                totals[r] += sums[r];
            }
        }
        const float16 b = p->has_bias ? vload16(0, bias + column) : (float16)0.0f;
        const int columns = (int)min((long)COLUMNS, p->out_dim - column);
        for (int r = 0; r < ROWS && first_row + r < p->batch * p->rows; ++r) {
            const long at = row_start(p, p->y_strides, p->y_offset, first_row + r) + column;
            store_to_row(y, at, 0, columns, p->y_type, totals[r] + b);
        }
    }
}
