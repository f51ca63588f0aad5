/* Attention of few query rows on processors with wide vectors, as in decoding: a work-item takes all rows that share K and V,
 * at most TILE, and one chunk of the keys, so that K and V are read once, row by row, in the order in which they lie.
 *
 *     o_i = sum_j p_ij v_j,   p_ij = exp(s_ij - m_i) / l_i     (Milakov and Gimelshein, 2018)
 *
 *     q  i  [ | | | | ... elements ]          The lanes of a vector are ELEMENTS of a row: a key's dot product with a query
 *     k  j  [ | | | | ... elements ]          ends in the sum of a vector's lanes. Sixteen such vectors, of sixteen keys, are
 *     s  i  [ | | | | ... keys ]              folded into one whose lanes are their KEYS.
 *     o  i  [ | | | | ... columns ]
 *
 * One row, or ROW_STEP rows, are taken through a block of keys at a time, first through K and then through V, both in the
 * order in which they lie in memory. One query row leaves the processor nothing to do but to read, and it fetches ahead by
 * itself, at the full rate of memory. Where several rows give it more to do with each key, memory would idle meanwhile: V is
 * prefetched while the scores are computed, and the next block of K while values are added. Parts of several chunks are
 * merged by attention_combine.cl.
 *
 * A hidden key's weight is exactly 0, but 0 * NaN is NaN: where a block holds a hidden score, V is looked through, and if it
 * holds a value that is not finite, hidden keys are skipped one by one. */

/* Vectors of 16 also where registers hold 8: two of them then. */
#ifndef LANES
#define LANES 16
#endif
#define GROUP_VECTORS 1
#define GROUPS 1

#include "tile_rows.clh"

/* The widest rows of Q, K and V that the private arrays hold: a multiple of VECTOR. */
#ifndef WIDTH
#define WIDTH 64
#endif

/* Keys of a block: a multiple of STEP_VECTORS * VECTOR. */
#ifndef KEY_BLOCK
#define KEY_BLOCK 64
#endif

/* Rows of a register tile, where there is more than one row, and vectors of the output's columns beside it, or beside one
 * row. */
#define ROW_STEP 4
#define ROWS_VECTORS 4
#define ROW_VECTORS 8

typedef struct rows_state {
    float ALIGNED queries[TILE * WIDTH];    /* [row][d] */
    float ALIGNED scores[TILE * KEY_BLOCK]; /* [row][key], then weights */
    float ALIGNED o[TILE * WIDTH];          /* [row][column] */
    float ALIGNED maximum[TILE];
    float ALIGNED sum[TILE];
    float ALIGNED shrink[TILE];
    uchar hidden[TILE * KEY_BLOCK];         /* where it matters */
} rows_state;

/* Keys [first, first + count), and their rows of K and V in memory. */
typedef struct key_block {
    input_buffer k, v;
    long first, k_row, v_row, k_stride, v_stride;
    int count;
} key_block;

static void load_queries(const attention_params *p, const tile_view *tile, input_buffer q, rows_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < TILE; ++r) {
        PLAIN_LOOP
        for (int d = 0; d < p->head_dim; d += VECTOR) {
            const bool exists = r < tile->rows && tile->exists[r];
            STORE_16(exists ? load_from_row(q, tile->q_row[r], d, p->head_dim, p->q_type) : (float16)0.0f,
                     state->queries + r * WIDTH + d);
        }
    }
}

/* Into the second-level cache: a row of `width` elements. */
static void prefetch_row(input_buffer base, long row, int width, int type)
{
    const int bytes = type == TYPE_F32 ? 4 : 2;
    PLAIN_LOOP
    for (int at = 0; at < width * bytes; at += CACHE_LINE) {
        PREFETCH(base + row * bytes + at);
    }
}

/* parts [row][VECTOR keys][VECTOR]: vectors whose lanes add up to q . k, for the keys from `j` on. Past the last one, it is
 * taken again. Where `ahead` is not 0, each key's row of V, of that width, is prefetched. */
#define DEFINE_MULTIPLY_KEYS(NAME, ROWS)                                                                              \
    static void NAME(const key_block *block, int j, int head_dim, int ahead, const float *queries, float *parts)       \
    {                                                                                                                  \
        PLAIN_LOOP                                                                                                     \
        for (int t = 0; t < VECTOR; ++t) {                                                                             \
            const int at = min(j + t, block->count - 1);                                                               \
            const long row = block->k_row + at * block->k_stride;                                                      \
            prefetch_row(block->v, block->v_row + at * block->v_stride, ahead, V_TYPE);                                \
            float16 sums[ROWS];                                                                                        \
            EACH(ROWS, r) { sums[r] = 0.0f; }                                                                          \
            PLAIN_LOOP                                                                                                 \
            for (int d = 0; d < head_dim; d += VECTOR) {                                                               \
                const float16 key = load_from_row(block->k, row, d, head_dim, K_TYPE);                                 \
                EACH(ROWS, r) { sums[r] = fma(key, LOAD_16(queries + r * WIDTH + d), sums[r]); }                       \
            }                                                                                                          \
            EACH(ROWS, r) { STORE_16(sums[r], parts + (r * VECTOR + t) * VECTOR); }                                    \
        }                                                                                                              \
    }

DEFINE_MULTIPLY_KEYS(multiply_keys_by_row, 1)
DEFINE_MULTIPLY_KEYS(multiply_keys_by_rows, ROW_STEP)

/* o = o * shrink + sum_j weight_j v_j for ROWS rows and VECTORS vectors of columns from `c` on. Where `ahead` is not 0, rows of
 * K, of that width, are prefetched, a block ahead. */
#define DEFINE_ADD_VALUES(NAME, ROWS, VECTORS)                                                                        \
    static void NAME(const key_block *block, int c, int v_dim, int ahead, const float *weights, const float *shrink,   \
                     float *o)                                                                                        \
    {                                                                                                                  \
        float16 sums[ROWS][VECTORS];                                                                                   \
        EACH_SUM(ROWS, VECTORS, r, n) { sums[r][n] = 0.0f; }                                                           \
        PLAIN_LOOP                                                                                                     \
        for (int j = 0; j < block->count; ++j) {                                                                       \
            const long row = block->v_row + j * block->v_stride;                                                       \
            prefetch_row(block->k, block->k_row + (j + KEY_BLOCK) * block->k_stride, ahead, K_TYPE);                   \
            float16 value[VECTORS];                                                                                    \
            EACH(VECTORS, n) { value[n] = load_from_row(block->v, row, c + n * VECTOR, v_dim, V_TYPE); }               \
            EACH_SUM(ROWS, VECTORS, r, n) { sums[r][n] = fma((float16)weights[r * KEY_BLOCK + j], value[n], sums[r][n]); } \
        }                                                                                                              \
        EACH_SUM(ROWS, VECTORS, r, n) {                                                                                \
            float *at = o + r * WIDTH + c + n * VECTOR;                                                                \
            STORE_16(fma(LOAD_16(at), (float16)shrink[r], sums[r][n]), at);                                            \
        }                                                                                                              \
    }

DEFINE_ADD_VALUES(add_values_to_row, 1, ROW_VECTORS)
DEFINE_ADD_VALUES(add_few_values_to_row, 1, ROWS_VECTORS)
DEFINE_ADD_VALUES(add_last_values_to_row, 1, 1)
DEFINE_ADD_VALUES(add_values_to_rows, ROW_STEP, ROWS_VECTORS)
DEFINE_ADD_VALUES(add_last_values_to_rows, ROW_STEP, 1)

static void score_block(const attention_params *p, const tile_view *tile, const key_block *block, rows_state *state)
{
    float ALIGNED parts[ROW_STEP * VECTOR * VECTOR];
    const int step = tile->rows == 1 ? 1 : ROW_STEP;
    PLAIN_LOOP
    for (int j = 0; j < block->count; j += VECTOR) {
        PLAIN_LOOP
        for (int r = 0; r < tile->rows; r += step) {
            if (step == 1) {
                multiply_keys_by_row(block, j, p->head_dim, 0, state->queries, parts);
            } else {
                multiply_keys_by_rows(block, j, p->head_dim, r == 0 ? p->v_dim : 0, state->queries + r * WIDTH, parts);
            }
            PLAIN_LOOP
            for (int t = 0; t < step; ++t) {
                const float16 scores = fold_16(parts + t * VECTOR * VECTOR) * p->scale;
                STORE_16(scores, state->scores + (r + t) * KEY_BLOCK + j);
            }
        }
    }
}

static void cap_scores(const attention_params *p, int count, float *scores)
{
    PLAIN_LOOP
    for (int j = 0; j < count; j += VECTOR) {
        STORE_16(p->softcap * tanh(LOAD_16(scores + j) / p->softcap), scores + j);
    }
}

/* Cap, mask, bias and ALiBi of row r, and -inf where a key is hidden or past the last one. Says whether any is hidden. */
static bool finish_scores(const attention_params *p, const tile_view *tile, __global const uchar *mask,
                          __global const uchar *bias, const key_block *block, int r, float *scores)
{
    const int count = block->count;
    const int from = (int)clamp_long(tile->begin[r] - block->first, 0, count);
    const int to = (int)clamp_long(tile->end[r] - block->first, 0, count);
    int16 hidden = from > 0 || to < count;
    if (p->features & USES_SOFTCAP) {
        cap_scores(p, count, scores);
    }
    if (p->features & (USES_MASK | USES_BIAS | USES_ALIBI)) {
        adjust_row(p, tile, mask, bias, block->first, count, r, scores, 1);
    }
    PLAIN_LOOP
    for (int j = 0; j < count; j += VECTOR) {
        hidden |= LOAD_16(scores + j) == -INFINITY; /* those past the last key are copies of its own */
    }
    PLAIN_LOOP
    for (int j = 0; j < from; ++j) {
        scores[j] = -INFINITY;
    }
    PLAIN_LOOP
    for (int j = to; j < count || j % (STEP_VECTORS * VECTOR) != 0; ++j) {
        scores[j] = -INFINITY;
    }
    return any(hidden != 0);
}

static bool values_are_finite(const attention_params *p, const key_block *block)
{
    int16 largest = 0; /* of the bits without sign: from 0x7f800000 on it is infinity or NaN */
    PLAIN_LOOP
    for (int j = 0; j < block->count; ++j) {
        PLAIN_LOOP
        for (int c = 0; c < p->v_dim; c += VECTOR) {
            const float16 value = load_from_row(block->v, block->v_row + j * block->v_stride, c, p->v_dim, V_TYPE);
            largest = max(largest, as_int16(value) & 0x7fffffff);
        }
    }
    return !any(largest >= 0x7f800000);
}

/* Turns a row's scores into weights relative to the new maximum, and sets the factor by which what was summed before
 * shrinks. */
static void weigh_row(int count, float *scores, float *maximum, float *sum, float *shrink)
{
    float16 x[STEP_VECTORS], largest[STEP_VECTORS], sums[STEP_VECTORS];
    EACH_VECTOR(t) { largest[t] = -INFINITY; }
    PLAIN_LOOP
    for (int j = 0; j < count; j += STEP_VECTORS * VECTOR) {
        EACH_VECTOR(t) { largest[t] = larger_lanes(LOAD_16(scores + j + t * VECTOR), largest[t]); }
    }
    const float before = *maximum;
    *maximum = fmax(before, max_of_lanes(larger_lanes(larger_lanes(largest[0], largest[1]),
                                                      larger_lanes(largest[2], largest[3]))));
    /* A row that has seen nothing yet: its scores are -inf (or NaN, which stays NaN), whatever is subtracted. */
    const float base = *maximum == -INFINITY ? 0.0f : *maximum;
    EACH_VECTOR(t) { sums[t] = 0.0f; }
    PLAIN_LOOP
    for (int j = 0; j < count; j += STEP_VECTORS * VECTOR) {
        EACH_VECTOR(t) { x[t] = LOAD_16(scores + j + t * VECTOR) - base; }
        exp_lanes(x);
        EACH_VECTOR(t) { STORE_16(x[t], scores + j + t * VECTOR); }
        EACH_VECTOR(t) { sums[t] += x[t]; }
    }
    *shrink = exp(before - base);
    *sum = fma(*sum, *shrink, sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3])));
}

static void add_block_to_row(int v_dim, const key_block *block, rows_state *state)
{
    int c = 0;
    PLAIN_LOOP
    for (; c + ROW_VECTORS * VECTOR <= v_dim; c += ROW_VECTORS * VECTOR) {
        add_values_to_row(block, c, v_dim, 0, state->scores, state->shrink, state->o);
    }
    PLAIN_LOOP
    for (; c + ROWS_VECTORS * VECTOR <= v_dim; c += ROWS_VECTORS * VECTOR) {
        add_few_values_to_row(block, c, v_dim, 0, state->scores, state->shrink, state->o);
    }
    PLAIN_LOOP
    for (; c < v_dim; c += VECTOR) {
        add_last_values_to_row(block, c, v_dim, 0, state->scores, state->shrink, state->o);
    }
}

/* To rows [r, r + ROW_STEP). `ahead`: the width of K's rows to prefetch meanwhile, or 0. */
static void add_block_to_rows(int v_dim, const key_block *block, int r, int ahead, rows_state *state)
{
    const float *weights = state->scores + r * KEY_BLOCK;
    int c = 0;
    PLAIN_LOOP
    for (; c + ROWS_VECTORS * VECTOR <= v_dim; c += ROWS_VECTORS * VECTOR) {
        add_values_to_rows(block, c, v_dim, c == 0 ? ahead : 0, weights, state->shrink + r, state->o + r * WIDTH);
    }
    PLAIN_LOOP
    for (; c < v_dim; c += VECTOR) {
        add_last_values_to_rows(block, c, v_dim, c == 0 ? ahead : 0, weights, state->shrink + r, state->o + r * WIDTH);
    }
}

static void add_block(const attention_params *p, const tile_view *tile, const key_block *block, rows_state *state)
{
    if (tile->rows == 1) {
        add_block_to_row(p->v_dim, block, state);
        return;
    }
    PLAIN_LOOP
    for (int r = 0; r < tile->rows; r += ROW_STEP) {
        add_block_to_rows(p->v_dim, block, r, r == 0 ? p->head_dim : 0, state);
    }
}

/* Remembers which keys are hidden, before their scores become weights. */
static void mark_hidden(const tile_view *tile, const key_block *block, rows_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < tile->rows; ++r) {
        PLAIN_LOOP
        for (int j = 0; j < block->count; ++j) {
            state->hidden[r * KEY_BLOCK + j] = state->scores[r * KEY_BLOCK + j] == -INFINITY;
        }
    }
}

/* add_block for values that are not all finite: a hidden key is left out, not multiplied by 0. */
static void add_block_carefully(const attention_params *p, const tile_view *tile, const key_block *block,
                                rows_state *state)
{
    PLAIN_LOOP
    for (int at = 0; at < tile->rows * p->v_dim; ++at) {
        const int r = at / p->v_dim;
        const int c = at % p->v_dim;
        float sum = 0.0f;
        PLAIN_LOOP
        for (int j = 0; j < block->count; ++j) {
            if (!state->hidden[r * KEY_BLOCK + j]) {
                sum = fma(state->scores[r * KEY_BLOCK + j],
                          load_element(block->v, block->v_row + j * block->v_stride + c, V_TYPE), sum);
            }
        }
        state->o[r * WIDTH + c] = fma(state->o[r * WIDTH + c], state->shrink[r], sum);
    }
}

static void attend_block(const attention_params *p, const tile_view *tile, __global const uchar *mask,
                         __global const uchar *bias, const key_block *block, rows_state *state)
{
    bool any_hidden = false;
    score_block(p, tile, block, state);
    PLAIN_LOOP
    for (int r = 0; r < tile->rows; ++r) {
        any_hidden |= finish_scores(p, tile, mask, bias, block, r, state->scores + r * KEY_BLOCK);
    }
    const bool careful = any_hidden && !values_are_finite(p, block);
    if (careful) {
        mark_hidden(tile, block, state);
    }
    PLAIN_LOOP
    for (int r = 0; r < tile->rows; ++r) {
        weigh_row(block->count, state->scores + r * KEY_BLOCK, state->maximum + r, state->sum + r, state->shrink + r);
    }
    if (careful) {
        add_block_carefully(p, tile, block, state);
    } else {
        add_block(p, tile, block, state);
    }
}

static void clear_state(const attention_params *p, rows_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < TILE; ++r) {
        state->maximum[r] = -INFINITY;
        state->sum[r] = 0.0f;
        state->shrink[r] = 0.0f;
        PLAIN_LOOP
        for (int c = 0; c < p->v_dim; c += VECTOR) {
            STORE_16((float16)0.0f, state->o + r * WIDTH + c);
        }
    }
}

/* Blocks begin at multiples of KEY_BLOCK. */
static void attend_rows(const attention_params *p, const tile_view *tile, input_buffer k, input_buffer v,
                        __global const uchar *mask, __global const uchar *bias, rows_state *state)
{
    key_block block;
    block.k = k;
    block.v = v;
    block.k_stride = p->strides[ATTENTION_K][2];
    block.v_stride = p->strides[ATTENTION_V][2];
    PLAIN_LOOP
    for (long first = tile->keys.begin / KEY_BLOCK * KEY_BLOCK; first < tile->keys.end; first += KEY_BLOCK) {
        block.first = first;
        block.count = (int)min((long)KEY_BLOCK, tile->keys.end - first);
        block.k_row = tile->k_base + first * block.k_stride;
        block.v_row = tile->v_base + first * block.v_stride;
        attend_block(p, tile, mask, bias, &block, state);
    }
}

/* item = unit * chunks + chunk: chunks of the same keys' head follow each other in memory. */
WIDE_KERNEL void attention_few_rows_cpu(const attention_params params, ATTENTION_BUFFERS, __global float *partial)
{
    const attention_params *p = &params;
    if (p->batch == 0) { /* a launch without work, whose other sizes may be 0 too */
        return;
    }
    const tile_plan plan = plan_tiles(p);
    PLAIN_LOOP
    for (long item = get_global_id(0); item < plan.items; item += get_global_size(0)) {
        const long chunk = item % p->chunk_count;
        const long head = item / p->chunk_count / plan.tiles * plan.heads;
        const long first = item / p->chunk_count % plan.tiles * TILE;
        tile_view tile;
        rows_state state;
        view_tile(p, head, first, (int)min((long)TILE, plan.rows - first), chunk, bias_scale, slopes, sinks, q_lens,
                  kv_lens, q_starts, kv_starts, offsets, &tile);
        load_queries(p, &tile, q, &state);
        clear_state(p, &state);
        attend_rows(p, &tile, k, v, mask, bias, &state);
        write_rows(p, &tile, state.maximum, state.sum, state.o, WIDTH, chunk, o, lse, partial);
    }
}
