/* Attention on processors with wide vectors: one work-item computes a tile of query rows, alone on its core.
 *
 *     o_i = sum_j p_ij v_j,   p_ij = exp(s_ij - m_i) / l_i,   with m, l and o following the running maximum
 *
 * (online softmax: Milakov and Gimelshein, 2018; in blocks of keys: Dao et al., "FlashAttention", 2022). Where the lanes of
 * a vector go:
 *
 *                 GROUP queries               Scores: lanes are QUERIES. Q is transposed once, a key's elements are
 *     q  d  [ | | | | ... lanes ]             broadcast, and the softmax over keys needs no sum across lanes.
 *     s  j  [ | | | | ... lanes ]
 *                                             Output: lanes are COLUMNS. A weight is broadcast over a row of V, so
 *     o  i  [ | | | | ... columns ]           that o lies as it will be written.
 *
 * Register tiles: KEY_STEP keys x SCORE_VECTORS vectors of queries; OUT_ROWS rows x OUT_VECTORS vectors of columns. Keys
 * come in blocks, converted to f32 once for the whole tile; a group takes a block through all steps before the next group
 * does, so that its scores stay near. Groups skip blocks that none of their rows sees; where rows see a block in part, each
 * vector of queries and each tile of rows takes only the keys that it sees, and the other scores become -inf.
 *
 * A hidden key's weight is exactly 0, but 0 * NaN is NaN: where a block holds a value that is not finite and a hidden
 * score, its sums skip hidden keys one by one. */

#include "tile_rows.clh"

/* The widest rows of Q, K and V that the private arrays hold: a multiple of VECTOR and of OUT_VECTORS * LANES. */
#ifndef WIDTH
#define WIDTH 64
#endif

/* Keys of a block: a multiple of KEY_STEP * SCORE_VECTORS and of STEP_VECTORS, at most 64. */
#ifndef KEY_BLOCK
#define KEY_BLOCK 32
#endif

/* Keys, and vectors of queries (a divisor of GROUP_VECTORS), of the scores' register tile. */
#ifndef KEY_STEP
#define KEY_STEP 4
#endif
#ifndef SCORE_VECTORS
#define SCORE_VECTORS 2
#endif

/* Rows and vectors of columns of the output's register tile: their product divides GROUP. */
#ifndef OUT_ROWS
#define OUT_ROWS 4
#endif
#ifndef OUT_VECTORS
#define OUT_VECTORS 2
#endif

/* Keys whose sums are added up before they go into the total. */
#define RECENT_KEYS 512

typedef struct tile_state {
    float ALIGNED queries[GROUPS * WIDTH * GROUP]; /* [group][d][query] */
    float ALIGNED scores[KEY_BLOCK * GROUP];       /* [key][query] of one group, then weights */
    float ALIGNED keys[KEY_BLOCK * WIDTH];         /* [key][d] */
    float ALIGNED values[KEY_BLOCK * WIDTH];       /* [key][column] */
    float ALIGNED maximum[TILE];
    float ALIGNED shrink[TILE];
    float ALIGNED sum[TILE]; /* of the recent keys */
    float ALIGNED o[TILE * WIDTH]; /* [row][column] */
    /* Of the keys before them, to be multiplied by `pending`: adding few large parts instead of many small blocks keeps
     * rounding errors from growing with the number of keys. */
    float ALIGNED total_sum[TILE];
    float ALIGNED total_o[TILE * WIDTH];
    float ALIGNED pending[TILE];
    bool has_total, values_are_finite;
} tile_state;

/* Q, transposed and converted. Rows that do not exist are 0. */
static void load_queries(const attention_params *p, const tile_view *tile, input_buffer q, tile_state *state)
{
    PLAIN_LOOP
    for (int first = 0; first < tile->groups * GROUP; first += VECTOR) {
        float *to = state->queries + first / GROUP * WIDTH * GROUP + first % GROUP;
        PLAIN_LOOP
        for (int d = 0; d < p->head_dim; d += VECTOR) {
            float16 rows[VECTOR];
            float ALIGNED parts[VECTOR * VECTOR];
            PLAIN_LOOP
            for (int t = 0; t < VECTOR; ++t) {
                const int r = first + t;
                STORE_16(tile->exists[r] ? load_from_row(q, tile->q_row[r], d, p->head_dim, p->q_type) : (float16)0.0f,
                         parts + t * VECTOR);
            }
            #pragma unroll
            for (int t = 0; t < VECTOR; ++t) {
                rows[t] = LOAD_16(parts + t * VECTOR);
            }
            transpose_16(rows);
            #pragma unroll
            for (int t = 0; t < VECTOR; ++t) {
                STORE_16(rows[t], to + (d + t) * GROUP);
            }
        }
    }
}

/* Rows of the next block, which are prefetched a few at a time while scores of this one are computed: K's with the first
 * group that sees the block, V's with the second. */
typedef struct next_rows {
    input_buffer at;
    long stride; /* in bytes, as `bytes` of a row */
    int bytes;
} next_rows;

static next_rows find_next_rows(input_buffer base, long row, long stride, int width, int type)
{
    const int element = type == TYPE_F32 ? 4 : 2;
    const next_rows rows = {base + (row + KEY_BLOCK * stride) * element, stride * element, width * element};
    return rows;
}

static void prefetch_rows(const next_rows *rows, int first, int count)
{
    PLAIN_LOOP
    for (int j = first; j < first + count; ++j) {
        PLAIN_LOOP
        for (int at = 0; at < rows->bytes; at += CACHE_LINE) {
            PREFETCH(rows->at + j * rows->stride + at);
        }
    }
}

/* f32 copies of `count` rows. Says whether all are finite. */
static bool load_rows(input_buffer from, long base, long stride, int count, int width, int type, float *to)
{
    int16 largest = 0; /* of the bits without sign: from 0x7f800000 on it is infinity or NaN */
    PLAIN_LOOP
    for (int j = 0; j < count; ++j) {
        const long row = base + j * stride;
        PLAIN_LOOP
        for (int c = 0; c < width; c += VECTOR) {
            const float16 value = load_from_row(from, row, c, width, type);
            largest = max(largest, as_int16(value) & 0x7fffffff);
            STORE_16(value, to + j * WIDTH + c);
        }
    }
    return !any(largest >= 0x7f800000);
}

/* KEYS scores for each query of VECTORS vectors. */
#define DEFINE_SCORE_KEYS(NAME, KEYS, VECTORS)                                                                        \
    static void NAME(const float *queries, const float *keys, int head_dim, float scale, float *scores)                \
    {                                                                                                                  \
        lanes_float sums[KEYS][VECTORS];                                                                               \
        EACH_SUM(KEYS, VECTORS, t, n) { sums[t][n] = 0.0f; }                                                           \
        for (int d = 0; d < head_dim; ++d) {                                                                           \
            lanes_float query[VECTORS];                                                                                \
            EACH(VECTORS, n) { query[n] = LOAD_LANES(queries + d * GROUP + n * LANES); }                               \
            EACH_SUM(KEYS, VECTORS, t, n) { sums[t][n] = fma((lanes_float)keys[t * WIDTH + d], query[n], sums[t][n]); } \
        }                                                                                                              \
        EACH_SUM(KEYS, VECTORS, t, n) { STORE_LANES(sums[t][n] * scale, scores + t * GROUP + n * LANES); }             \
    }

/* Vectors that do not fill SCORE_VECTORS, or see different keys, take as many sums in another shape. */
DEFINE_SCORE_KEYS(score_keys, KEY_STEP, SCORE_VECTORS)
#define VECTOR_KEYS (KEY_STEP * SCORE_VECTORS)
DEFINE_SCORE_KEYS(score_keys_of_vector, VECTOR_KEYS, 1)

/* Vectors of group g that hold rows. */
static int group_vectors(const tile_view *tile, int g)
{
    return min(GROUP_VECTORS, (tile->rows - g * GROUP + LANES - 1) / LANES);
}

/* Keys of [first, first + count) that some of `rows` rows from r on may see, counted from `first`: [.x, .y). */
static int2 seen_keys(const tile_view *tile, int r, int rows, long first, int count)
{
    int2 seen = (int2)(count, 0);
    PLAIN_LOOP
    for (int t = r; t < r + rows; ++t) {
        if (tile->begin[t] < tile->end[t]) {
            seen.x = min(seen.x, (int)clamp_long(tile->begin[t] - first, 0, count));
            seen.y = max(seen.y, (int)clamp_long(tile->end[t] - first, 0, count));
        }
    }
    return seen;
}

/* Scores of the vectors from `n` on, each for the keys that it sees. */
static void score_vectors(const attention_params *p, const tile_view *tile, long first, int count, int g, int n,
                          tile_state *state)
{
    const float *queries = state->queries + g * WIDTH * GROUP;
    PLAIN_LOOP
    for (; n < group_vectors(tile, g) * LANES; n += LANES) {
        const int2 seen = seen_keys(tile, g * GROUP + n, LANES, first, count);
        PLAIN_LOOP
        for (int j = seen.x - seen.x % VECTOR_KEYS; j < seen.y; j += VECTOR_KEYS) {
            score_keys_of_vector(queries + n, state->keys + j * WIDTH, p->head_dim, p->scale,
                                 state->scores + j * GROUP + n);
        }
    }
}

static void score_group(const attention_params *p, const tile_view *tile, long first, int count, int g, bool partly,
                        const next_rows *next, tile_state *state)
{
    const float *queries = state->queries + g * WIDTH * GROUP;
    const int vectors = group_vectors(tile, g);
    const int wide = partly ? 0 : vectors / SCORE_VECTORS * SCORE_VECTORS * LANES;
    PLAIN_LOOP
    for (int j = 0; j < count; j += KEY_STEP) {
        if (next) {
            prefetch_rows(next, j, KEY_STEP);
        }
        PLAIN_LOOP
        for (int n = 0; n < wide; n += SCORE_VECTORS * LANES) {
            score_keys(queries + n, state->keys + j * WIDTH, p->head_dim, p->scale, state->scores + j * GROUP + n);
        }
    }
    score_vectors(p, tile, first, count, g, wide, state);
}

static void cap_scores(const attention_params *p, int count, float *scores)
{
    for (int at = 0; at < count * GROUP; at += LANES) {
        STORE_LANES(p->softcap * tanh(LOAD_LANES(scores + at) / p->softcap), scores + at);
    }
}

static void adjust_scores(const attention_params *p, const tile_view *tile, __global const uchar *mask,
                          __global const uchar *bias, long first, int count, int g, float *scores)
{
    PLAIN_LOOP
    for (int r = g * GROUP; r < min((g + 1) * GROUP, tile->rows); ++r) {
        adjust_row(p, tile, mask, bias, first, count, r, scores + r % GROUP, GROUP);
    }
}

/* -inf where lengths, causality or a window hide a key. */
static void hide_keys(const tile_view *tile, long first, int count, int g, float *scores)
{
    int ALIGNED begin[GROUP];
    int ALIGNED end[GROUP];
    PLAIN_LOOP
    for (int t = 0; t < GROUP; ++t) {
        begin[t] = (int)clamp_long(tile->begin[g * GROUP + t] - first, 0, count);
        end[t] = (int)clamp_long(tile->end[g * GROUP + t] - first, 0, count);
    }
    PLAIN_LOOP
    for (int n = 0; n < GROUP; n += LANES) {
        const lanes_int from = LOAD_LANES_INT(begin + n);
        const lanes_int to = LOAD_LANES_INT(end + n);
        PLAIN_LOOP
        for (int j = 0; j < count; ++j) {
            float *at = scores + j * GROUP + n;
            STORE_LANES(((lanes_int)j >= from && (lanes_int)j < to) ? LOAD_LANES(at) : (lanes_float)-INFINITY, at);
        }
    }
}

/* Remembers which keys are hidden, a bit for each, before their scores become weights. */
static void mark_hidden(const float *scores, int count, ulong *hidden)
{
    PLAIN_LOOP
    for (int t = 0; t < GROUP; ++t) {
        ulong bits = 0;
        PLAIN_LOOP
        for (int j = 0; j < count; ++j) {
            bits |= (ulong)(scores[j * GROUP + t] == -INFINITY) << j;
        }
        hidden[t] = bits;
    }
}

/* Turns the scores of one vector of queries into weights relative to the new maximum, and writes the factor by which
 * what was summed before shrinks. */
static void weigh_lanes(float *scores, int count, float *maximum, float *sum, float *shrink, float *pending)
{
    const lanes_float before = LOAD_LANES(maximum);
    lanes_float x[STEP_VECTORS], largest[STEP_VECTORS], sums[STEP_VECTORS];
    PLAIN_LOOP
    for (int j = count; j % STEP_VECTORS != 0; ++j) {
        STORE_LANES((lanes_float)-INFINITY, scores + j * GROUP);
    }
    EACH_VECTOR(t) { largest[t] = before; }
    PLAIN_LOOP
    for (int j = 0; j < count; j += STEP_VECTORS) {
        EACH_VECTOR(t) { largest[t] = larger_lanes(LOAD_LANES(scores + (j + t) * GROUP), largest[t]); }
    }
    largest[0] = larger_lanes(larger_lanes(largest[0], largest[1]), larger_lanes(largest[2], largest[3]));
    /* A row that has seen nothing yet: its scores are -inf (or NaN, which stays NaN), whatever is subtracted. */
    const lanes_float base = largest[0] == -INFINITY ? (lanes_float)0.0f : largest[0];
    EACH_VECTOR(t) { sums[t] = 0.0f; }
    PLAIN_LOOP
    for (int j = 0; j < count; j += STEP_VECTORS) {
        EACH_VECTOR(t) { x[t] = LOAD_LANES(scores + (j + t) * GROUP) - base; }
        exp_lanes(x);
        EACH_VECTOR(t) { STORE_LANES(x[t], scores + (j + t) * GROUP); }
        EACH_VECTOR(t) { sums[t] += x[t]; }
    }
    EACH_VECTOR(t) { x[t] = before - base; }
    exp_lanes(x);
    STORE_LANES(largest[0], maximum);
    STORE_LANES(fma(LOAD_LANES(sum), x[0], (sums[0] + sums[1]) + (sums[2] + sums[3])), sum);
    STORE_LANES(x[0], shrink);
    STORE_LANES(LOAD_LANES(pending) * x[0], pending);
}

/* ROWS rows of o, VECTORS vectors of columns: o = o * shrink + sum_j weight_j v_j. */
#define DEFINE_ADD_VALUES(NAME, ROWS, VECTORS)                                                                        \
    static void NAME(const float *weights, const float *values, const float *shrink, int count, float *o)              \
    {                                                                                                                  \
        lanes_float sums[ROWS][VECTORS];                                                                               \
        EACH_SUM(ROWS, VECTORS, t, n) { sums[t][n] = 0.0f; }                                                           \
        for (int j = 0; j < count; ++j) {                                                                              \
            lanes_float value[VECTORS];                                                                                \
            EACH(VECTORS, n) { value[n] = LOAD_LANES(values + j * WIDTH + n * LANES); }                                \
            EACH_SUM(ROWS, VECTORS, t, n) { sums[t][n] = fma((lanes_float)weights[j * GROUP + t], value[n], sums[t][n]); } \
        }                                                                                                              \
        EACH_SUM(ROWS, VECTORS, t, n) {                                                                                \
            float *at = o + t * WIDTH + n * LANES;                                                                     \
            STORE_LANES(fma(LOAD_LANES(at), (lanes_float)shrink[t], sums[t][n]), at);                                  \
        }                                                                                                              \
    }

/* Columns that do not fill OUT_VECTORS vectors take as many sums in another shape. */
DEFINE_ADD_VALUES(add_values, OUT_ROWS, OUT_VECTORS)
DEFINE_ADD_VALUES(add_last_values, OUT_ROWS * OUT_VECTORS, 1)

/* Rows that see the block in part add up only the keys that they see. */
static void add_block(const attention_params *p, const tile_view *tile, long first, int count, int g, bool partly,
                      tile_state *state)
{
    const int rows = min(GROUP, tile->rows - g * GROUP);
    const int wide = (p->v_dim + LANES - 1) / LANES / OUT_VECTORS * OUT_VECTORS * LANES;
    const float *shrink = state->shrink + g * GROUP;
    float *o = state->o + g * GROUP * WIDTH;
    PLAIN_LOOP
    for (int r = 0; r < rows; r += OUT_ROWS) {
        const int2 seen = partly ? seen_keys(tile, g * GROUP + r, OUT_ROWS, first, count) : (int2)(0, count);
        const float *weights = state->scores + seen.x * GROUP + r;
        PLAIN_LOOP
        for (int c = 0; c < wide; c += OUT_VECTORS * LANES) {
            add_values(weights, state->values + seen.x * WIDTH + c, shrink + r, seen.y - seen.x, o + r * WIDTH + c);
        }
    }
    PLAIN_LOOP
    for (int r = 0; r < rows && wide < p->v_dim; r += OUT_ROWS * OUT_VECTORS) {
        PLAIN_LOOP
        for (int c = wide; c < p->v_dim; c += LANES) {
            add_last_values(state->scores + r, state->values + c, shrink + r, count, o + r * WIDTH + c);
        }
    }
}

/* add_block for values that are not all finite: a hidden key is left out, not multiplied by 0. */
static void add_block_carefully(const attention_params *p, const tile_view *tile, int count, int g,
                                const ulong *hidden, tile_state *state)
{
    PLAIN_LOOP
    for (int r = g * GROUP; r < min((g + 1) * GROUP, tile->rows); ++r) {
        const float *weights = state->scores + r % GROUP;
        float *o = state->o + r * WIDTH;
        PLAIN_LOOP
        for (int c = 0; c < p->v_dim; ++c) {
            float sum = 0.0f;
            PLAIN_LOOP
            for (int j = 0; j < count; ++j) {
                if (!(hidden[r % GROUP] >> j & 1)) {
                    sum = fma(weights[j * GROUP], state->values[j * WIDTH + c], sum);
                }
            }
            o[c] = fma(o[c], state->shrink[r], sum);
        }
    }
}

/* Whether the mask lets some row of the tile see one of the keys. */
static bool mask_shows_block(const attention_params *p, const tile_view *tile, __global const uchar *mask, long first,
                             int count)
{
    const long stride = p->strides[ATTENTION_MASK][3];
    PLAIN_LOOP
    for (int r = 0; r < tile->rows; ++r) {
        const long from = max(tile->begin[r], first);
        const long to = min(tile->end[r], first + count);
        PLAIN_LOOP
        for (long j = from; j < to; ++j) {
            if (mask[tile->mask_row[r] + j * stride] != 0) {
                return true;
            }
        }
    }
    return false;
}

/* Takes group g through `count` keys. */
static void attend_group(const attention_params *p, const tile_view *tile, __global const uchar *mask,
                         __global const uchar *bias, long first, int count, int g, const next_rows *next,
                         tile_state *state)
{
    const key_range *range = &tile->group_keys[g];
    const bool partly = first < range->whole_begin || first + count > range->whole_end;
    ulong hidden[GROUP];
    score_group(p, tile, first, count, g, partly, next, state);
    if (p->features & USES_SOFTCAP) {
        cap_scores(p, count, state->scores);
    }
    if (p->features & (USES_MASK | USES_BIAS | USES_ALIBI)) {
        adjust_scores(p, tile, mask, bias, first, count, g, state->scores);
    }
    if (partly) {
        hide_keys(tile, first, count, g, state->scores);
    }
    if (!state->values_are_finite) {
        mark_hidden(state->scores, count, hidden);
    }
    PLAIN_LOOP
    for (int n = 0; n < group_vectors(tile, g) * LANES; n += LANES) {
        const int row = g * GROUP + n;
        weigh_lanes(state->scores + n, count, state->maximum + row, state->sum + row, state->shrink + row,
                    state->pending + row);
    }
    if (state->values_are_finite) {
        add_block(p, tile, first, count, g, partly, state);
    } else {
        add_block_carefully(p, tile, count, g, hidden, state);
    }
}

static void attend_block(const attention_params *p, const tile_view *tile, input_buffer k, input_buffer v,
                         __global const uchar *mask, __global const uchar *bias, long first, tile_state *state)
{
    const int count = (int)min((long)KEY_BLOCK, tile->keys.end - first);
    const long k_stride = p->strides[ATTENTION_K][2];
    const long v_stride = p->strides[ATTENTION_V][2];
    const long k_row = tile->k_base + first * k_stride;
    const long v_row = tile->v_base + first * v_stride;
    const next_rows next[2] = {find_next_rows(k, k_row, k_stride, p->head_dim, K_TYPE),
                               find_next_rows(v, v_row, v_stride, p->v_dim, V_TYPE)};
    int groups = 0;
    load_rows(k, k_row, k_stride, count, p->head_dim, K_TYPE, state->keys);
    state->values_are_finite = load_rows(v, v_row, v_stride, count, p->v_dim, V_TYPE, state->values);
    PLAIN_LOOP
    for (int g = 0; g < tile->groups; ++g) {
        const key_range *range = &tile->group_keys[g];
        if (range->begin < first + count && range->end > first) {
            const int seen = (int)min((long)count, range->end - first);
            attend_group(p, tile, mask, bias, first, seen, g, groups < 2 ? &next[groups] : 0, state);
            ++groups;
        }
    }
}

/* Adds the recent part to the total, and starts a new one. */
static void add_to_total(const attention_params *p, const tile_view *tile, tile_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < tile->rows; ++r) {
        const lanes_float factor = state->pending[r];
        PLAIN_LOOP
        for (int at = r * WIDTH; at < r * WIDTH + p->v_dim; at += LANES) {
            const lanes_float recent = LOAD_LANES(state->o + at);
            const lanes_float total = state->has_total ? LOAD_LANES(state->total_o + at) : (lanes_float)0.0f;
            STORE_LANES(fma(total, factor, recent), state->total_o + at);
            STORE_LANES((lanes_float)0.0f, state->o + at);
        }
        state->total_sum[r] = fma(state->total_sum[r], state->pending[r], state->sum[r]);
        state->sum[r] = 0.0f;
        state->pending[r] = 1.0f;
    }
    state->has_total = true;
}

static void clear_state(const attention_params *p, const tile_view *tile, tile_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < tile->groups * GROUP; r += LANES) {
        STORE_LANES((lanes_float)-INFINITY, state->maximum + r);
        STORE_LANES((lanes_float)0.0f, state->sum + r);
        STORE_LANES((lanes_float)0.0f, state->total_sum + r);
        STORE_LANES((lanes_float)1.0f, state->pending + r);
    }
    PLAIN_LOOP
    for (int r = 0; r < tile->groups * GROUP; ++r) {
        PLAIN_LOOP
        for (int at = r * WIDTH; at < r * WIDTH + p->v_dim; at += LANES) {
            STORE_LANES((lanes_float)0.0f, state->o + at);
        }
    }
    state->has_total = false;
}

static void finish_tile(const attention_params *p, const tile_view *tile, __global uchar *o, __global float *lse,
                        long chunk, tile_state *state, __global float *partial)
{
    if (!state->has_total) {
        write_rows(p, tile, state->maximum, state->sum, state->o, WIDTH, chunk, o, lse, partial);
        return;
    }
    add_to_total(p, tile, state);
    write_rows(p, tile, state->maximum, state->total_sum, state->total_o, WIDTH, chunk, o, lse, partial);
}

/* Blocks begin at multiples of KEY_BLOCK, and totals are taken at multiples of RECENT_KEYS, whichever keys the tile sees:
 * so a row's bits do not depend on which other rows share its tile. */
static void attend_tile(const attention_params *p, const tile_view *tile, input_buffer k, input_buffer v,
                        __global const uchar *mask, __global const uchar *bias, tile_state *state)
{
    long summed = tile->keys.begin / RECENT_KEYS;
    PLAIN_LOOP
    for (long first = tile->keys.begin / KEY_BLOCK * KEY_BLOCK; first < tile->keys.end; first += KEY_BLOCK) {
        if ((p->features & USES_MASK) && !mask_shows_block(p, tile, mask, first, KEY_BLOCK)) {
            continue;
        }
        if (first / RECENT_KEYS != summed) {
            add_to_total(p, tile, state);
            summed = first / RECENT_KEYS;
        }
        attend_block(p, tile, k, v, mask, bias, first, state);
    }
}

/* Vectors of queries are spread evenly over the tiles of a unit, so that a short last tile does not leave a core idle.
 * Tiles are numbered backwards: with causality the later ones are the longer ones, and long ones should start first.
 * item = (unit * tiles + tile) * chunks + chunk. */
WIDE_KERNEL void attention_tiled_cpu(const attention_params params, ATTENTION_BUFFERS, __global float *partial)
{
    const attention_params *p = &params;
    if (p->batch == 0) { /* a launch without work, whose other sizes may be 0 too */
        return;
    }
    const tile_plan plan = plan_tiles(p);
    PLAIN_LOOP
    for (long item = get_global_id(0); item < plan.items; item += get_global_size(0)) {
        const long chunk = item % p->chunk_count;
        const long which = plan.tiles - 1 - item / p->chunk_count % plan.tiles;
        const long head = item / p->chunk_count / plan.tiles * plan.heads;
        const long first = which * plan.vectors / plan.tiles * LANES;
        const int rows = (int)(min((which + 1) * plan.vectors / plan.tiles * LANES, plan.rows) - first);
        tile_view tile;
        tile_state state;
        view_tile(p, head, first, rows, chunk, bias_scale, slopes, sinks, q_lens, kv_lens, q_starts, kv_starts, offsets,
                  &tile);
        load_queries(p, &tile, q, &state);
        clear_state(p, &tile, &state);
        attend_tile(p, &tile, k, v, mask, bias, &state);
        finish_tile(p, &tile, o, lse, chunk, &state, partial);
    }
}
