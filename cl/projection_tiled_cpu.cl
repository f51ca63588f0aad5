/* y = x W + b on processors with wide vectors, f32 accumulation whatever the types.
 *
 * W is packed once into panels of PANEL columns (pack_weights.cl). A work-item computes ROWS * ROW_TILES rows of PANELS
 * panels, by register tiles of ROWS x PANEL_VECTORS vectors; lanes are columns:
 *
 *              k ->                       PANEL columns
 *     x   [ ROWS x K_BLOCK ]   *   k [ | | | | ... lanes ]   ->   y [ ROWS x PANEL ]
 *
 * K_BLOCK rows of a panel stay in the first-level cache while all row tiles use them (the scheme of Goto and van de Geijn,
 * "Anatomy of high-performance matrix multiplication", 2008). Sums restart from zero in each block of K_BLOCK. */

#include "lanes.clh"
#include "projection.clh"

/* Rows of a register tile, and register tiles of a work-item. */
#ifndef ROWS
#define ROWS 6
#endif
#ifndef ROW_TILES
#define ROW_TILES 8
#endif

/* Vectors of a panel, and panels of a work-item, which share the converted x. */
#ifndef PANEL_VECTORS
#define PANEL_VECTORS 2
#endif
#ifndef PANELS
#define PANELS 2
#endif

/* Terms of a partial sum: a multiple of VECTOR. */
#ifndef K_BLOCK
#define K_BLOCK 256
#endif

#define PANEL (PANEL_VECTORS * LANES)
#define TILE_ROWS (ROWS * ROW_TILES)

/* f32 copies of ROWS rows of x, columns [first, first + count). */
static void load_terms(const projection_params *p, __global const uchar *x, const long *x_rows, int first, int count,
                       float *terms)
{
    PLAIN_LOOP
    for (int r = 0; r < ROWS; ++r) {
        PLAIN_LOOP
        for (int k = 0; k < count; k += VECTOR) {
            const float16 part = load_from_row(x, x_rows[r] + first, k, count, p->x_type);
            STORE_16(part, terms + r * K_BLOCK + k);
        }
    }
}

/* sums [ROWS][PANEL] += terms [ROWS][count] * panel [count][PANEL]. */
static void multiply(const float *terms, __global const float *panel, int count, float *sums)
{
    lanes_float parts[ROWS][PANEL_VECTORS];
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        #pragma unroll
        for (int n = 0; n < PANEL_VECTORS; ++n) {
            parts[r][n] = 0.0f;
        }
    }
    for (int k = 0; k < count; ++k) {
        lanes_float w[PANEL_VECTORS];
        #pragma unroll
        for (int n = 0; n < PANEL_VECTORS; ++n) {
            w[n] = LOAD_GLOBAL_LANES(panel + (long)k * PANEL + n * LANES);
        }
        #pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const lanes_float term = terms[r * K_BLOCK + k];
            #pragma unroll
            for (int n = 0; n < PANEL_VECTORS; ++n) {
                parts[r][n] = fma(term, w[n], parts[r][n]);
            }
        }
    }
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        #pragma unroll
        for (int n = 0; n < PANEL_VECTORS; ++n) {
            float *at = sums + r * PANEL + n * LANES;
            STORE_LANES(LOAD_LANES(at) + parts[r][n], at);
        }
    }
}

/* Writes `rows` rows of one panel. */
static void store_panel(const projection_params *p, __global const float *bias, __global uchar *y, long first_row,
                        int rows, long column, const float *sums)
{
    PLAIN_LOOP
    for (int r = 0; r < rows; ++r) {
        const long at = row_start(p, p->y_strides, p->y_offset, first_row + r) + column;
        PLAIN_LOOP
        for (int c = 0; c < PANEL && column + c < p->out_dim; c += VECTOR) {
            const float16 b = p->has_bias ? vload16(0, bias + column + c) : (float16)0.0f;
            const int columns = (int)min((long)PANEL, p->out_dim - column);
            store_to_row(y, at, c, columns, p->y_type, LOAD_16(sums + r * PANEL + c) + b);
        }
    }
}

/* Register tiles are spread evenly over the work-items of a panel; neighbours share x:
 * item = row tile * panel groups + panel group. */
WIDE_KERNEL void projection_tiled_cpu(const projection_params params, __global const uchar *x,
                                   __global const float *panels, __global const float *bias, __global uchar *y)
{
    const projection_params *p = &params;
    const long rows = p->batch * p->rows;
    const long steps = (rows + ROWS - 1) / ROWS;
    const long row_tiles = (steps + ROW_TILES - 1) / ROW_TILES;
    const long panel_count = (p->out_dim + PANEL - 1) / PANEL;
    const long groups = (panel_count + PANELS - 1) / PANELS;
    for (long item = get_global_id(0); item < row_tiles * groups; item += get_global_size(0)) {
        const long first_step = item / groups * steps / row_tiles;
        const int tile_steps = (int)((item / groups + 1) * steps / row_tiles - first_step);
        const long first_panel = item % groups * PANELS;
        const int tile_panels = (int)min((long)PANELS, panel_count - first_panel);
        float ALIGNED sums[PANELS * TILE_ROWS * PANEL];
        float ALIGNED terms[ROWS * K_BLOCK];
        PLAIN_LOOP
        for (int at = 0; at < PANELS * TILE_ROWS * PANEL; at += LANES) {
            STORE_LANES((lanes_float)0.0f, sums + at);
        }
        PLAIN_LOOP
        for (int k = 0; k < p->in_dim; k += K_BLOCK) {
            const int count = (int)min((long)K_BLOCK, p->in_dim - k);
            PLAIN_LOOP
            for (int step = 0; step < tile_steps; ++step) {
                long x_rows[ROWS];
                for (int r = 0; r < ROWS; ++r) {
                    x_rows[r] = row_start(p, p->x_strides, p->x_offset, (first_step + step) * ROWS + r);
                }
                load_terms(p, x, x_rows, k, count, terms);
                PLAIN_LOOP
                for (int n = 0; n < tile_panels; ++n) {
                    __global const float *panel = panels + ((first_panel + n) * p->in_dim + k) * PANEL;
                    multiply(terms, panel, count, sums + (n * TILE_ROWS + step * ROWS) * PANEL);
                }
            }
        }
        const long first_row = first_step * ROWS;
        const int tile_rows = (int)min((long)tile_steps * ROWS, rows - first_row);
        PLAIN_LOOP
        for (int n = 0; n < tile_panels; ++n) {
            store_panel(p, bias, y, first_row, tile_rows, (first_panel + n) * PANEL, sums + n * TILE_ROWS * PANEL);
        }
    }
}
