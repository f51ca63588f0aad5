/* Attention on processors with wide vectors: one work-item computes a tile of query rows, alone on its core.
 *
 *     o_i = sum_j p_ij v_j,   p_ij = exp(s_ij - m_i) / l_i,   with m, l and o following the running maximum
 *
 * (online softmax, as in attention_portable.cl). Where the lanes of a vector go:
 *
 *                 GROUP queries               Scores: lanes are QUERIES. Q is transposed once, a key's elements are
 *     q  d  [ | | | | ... lanes ]             broadcast, and the softmax over keys needs no sum across lanes.
 *     s  j  [ | | | | ... lanes ]
 *                                             Output: lanes are COLUMNS. A weight is broadcast over a row of V, so
 *     o  i  [ | | | | ... columns ]           that o lies as it will be written.
 *
 * Register tiles: KEY_STEP keys x GROUP_VECTORS vectors of queries; OUT_ROWS rows x OUT_VECTORS vectors of columns. Keys
 * come in blocks, converted to f32 once for the whole tile. Blocks that no row of the tile sees are skipped; blocks that
 * some rows see in part get -inf where hidden.
 *
 * A hidden key's weight is exactly 0, but 0 * NaN is NaN: where a block holds a value that is not finite and a hidden
 * score, its sums skip hidden keys one by one. */

#include "attention.clh"
#include "lanes.clh"

/* The widest rows of Q, K and V that the private arrays hold: a multiple of VECTOR and of OUT_VECTORS * LANES. */
#ifndef WIDTH
#define WIDTH 64
#endif

/* Vectors of queries in a group, and groups in a tile. */
#ifndef GROUP_VECTORS
#define GROUP_VECTORS 2
#endif
#ifndef GROUPS
#define GROUPS 4
#endif

/* Keys of a block (a multiple of KEY_STEP, at most 64), and of a register tile. */
#ifndef KEY_BLOCK
#define KEY_BLOCK 32
#endif
#ifndef KEY_STEP
#define KEY_STEP 4
#endif

/* Blocks whose sums are added up before they go into the total. */
#ifndef RECENT_BLOCKS
#define RECENT_BLOCKS 16
#endif

/* Rows (a divisor of GROUP) and vectors of columns of the output's register tile. */
#ifndef OUT_ROWS
#define OUT_ROWS 4
#endif
#ifndef OUT_VECTORS
#define OUT_VECTORS 2
#endif

#define GROUP (GROUP_VECTORS * LANES)
#define TOTAL_KEYS (RECENT_BLOCKS * KEY_BLOCK)
#define TILE (GROUPS * GROUP)
/* The rows of a tile. Rows past `rows` are padding: zeros that nobody stores. */
typedef struct tile_view {
    int rows, groups;
    long key_begin, key_end;     /* keys that some row sees */
    long whole_begin, whole_end; /* keys that every row sees, mask and bias aside */
    long k_base, v_base;
    float bias_scale, slope;
    long begin[TILE], end[TILE]; /* keys that a row sees, mask and bias aside */
    long position[TILE];
    long q_row[TILE], o_row[TILE], lse_at[TILE], mask_row[TILE], bias_row[TILE];
    bool exists[TILE], within[TILE]; /* in the tensor; before q_lens */
} tile_view;

typedef struct tile_state {
    float queries[GROUPS * WIDTH * GROUP];    /* [group][d][query] */
    float scores[GROUPS * KEY_BLOCK * GROUP]; /* [group][key][query], then weights */
    float keys[KEY_BLOCK * WIDTH];            /* [key][d] */
    float values[KEY_BLOCK * WIDTH];          /* [key][column] */
    float maximum[TILE], shrink[TILE];
    float sum[TILE], o[TILE * WIDTH];         /* of the last blocks; o is [row][column] */
    /* Of the blocks before them, to be multiplied by `pending`: adding few large parts instead of many small blocks keeps
     * rounding errors from growing with the number of keys. */
    float total_sum[TILE], total_o[TILE * WIDTH], pending[TILE];
    ulong hidden[TILE];                       /* bit per key of the block, where it matters */
} tile_state;

static void view_tile_row(const attention_params *p, tile_view *tile, const row_view *row, int r)
{
    const bool within = row->exists && row->i < row->q_len;
    tile->exists[r] = row->exists;
    tile->within[r] = within;
    tile->begin[r] = within ? row->key_begin : 0;
    tile->end[r] = within ? row->key_end : 0;
    tile->position[r] = row->position;
    tile->q_row[r] = row->q_row;
    tile->o_row[r] = row->o_row;
    tile->lse_at[r] = row->lse_at;
    tile->mask_row[r] = row->mask_row;
    tile->bias_row[r] = row->bias_row;
    if (tile->begin[r] < tile->end[r]) {
        tile->key_begin = min(tile->key_begin, tile->begin[r]);
        tile->key_end = max(tile->key_end, tile->end[r]);
    }
    tile->whole_begin = max(tile->whole_begin, tile->begin[r]);
    tile->whole_end = min(tile->whole_end, tile->end[r]);
}

/* What rows past the last one of the tile look like: they see nothing and are not stored. */
static void pad_tile(tile_view *tile)
{
    PLAIN_LOOP
    for (int r = tile->rows; r < tile->groups * GROUP; ++r) {
        tile->exists[r] = false;
        tile->within[r] = false;
        tile->begin[r] = 0;
        tile->end[r] = 0;
        tile->position[r] = 0;
    }
}

/* Q, transposed and converted. Rows that do not exist are 0. */
static void load_queries(const attention_params *p, const tile_view *tile, input_buffer q, tile_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < tile->groups * GROUP; ++r) {
        float *to = state->queries + r / GROUP * WIDTH * GROUP + r % GROUP;
        PLAIN_LOOP
        for (int d = 0; d < p->head_dim; d += VECTOR) {
            float lanes[VECTOR];
            vstore16(tile->exists[r] ? load_from_row(q, tile->q_row[r], d, p->head_dim, p->q_type) : (float16)0.0f, 0,
                     lanes);
            PLAIN_LOOP
            for (int t = 0; t < min(VECTOR, p->head_dim - d); ++t) {
                to[(d + t) * GROUP] = lanes[t];
            }
        }
    }
}

static void load_keys(const attention_params *p, const tile_view *tile, input_buffer k, long first, int count,
                      tile_state *state)
{
    PLAIN_LOOP
    for (int j = 0; j < count; ++j) {
        const long row = tile->k_base + (first + j) * p->strides[ATTENTION_K][2];
        PLAIN_LOOP
        for (int d = 0; d < p->head_dim; d += VECTOR) {
            vstore16(load_from_row(k, row, d, p->head_dim, K_TYPE), 0, state->keys + j * WIDTH + d);
        }
    }
}

/* Says whether all of them are finite: 0 times anything else is NaN. */
static bool load_values(const attention_params *p, const tile_view *tile, input_buffer v, long first, int count,
                        tile_state *state)
{
    float16 zero = 0.0f;
    PLAIN_LOOP
    for (int j = 0; j < count; ++j) {
        const long row = tile->v_base + (first + j) * p->strides[ATTENTION_V][2];
        PLAIN_LOOP
        for (int c = 0; c < p->v_dim; c += VECTOR) {
            const float16 value = load_from_row(v, row, c, p->v_dim, V_TYPE);
            zero = fma(value, (float16)0.0f, zero);
            vstore16(value, 0, state->values + j * WIDTH + c);
        }
    }
    return all(zero.lo == 0.0f) && all(zero.hi == 0.0f);
}

/* KEY_STEP scores for each query of a group. */
static void score_keys(const float *queries, const float *keys, int head_dim, float scale, float *scores)
{
    lanes_float sums[KEY_STEP][GROUP_VECTORS];
    #pragma unroll
    for (int t = 0; t < KEY_STEP; ++t) {
        #pragma unroll
        for (int n = 0; n < GROUP_VECTORS; ++n) {
            sums[t][n] = 0.0f;
        }
    }
    for (int d = 0; d < head_dim; ++d) {
        lanes_float query[GROUP_VECTORS];
        #pragma unroll
        for (int n = 0; n < GROUP_VECTORS; ++n) {
            query[n] = LOAD_LANES(queries + d * GROUP + n * LANES);
        }
        #pragma unroll
        for (int t = 0; t < KEY_STEP; ++t) {
            const lanes_float key = keys[t * WIDTH + d];
            #pragma unroll
            for (int n = 0; n < GROUP_VECTORS; ++n) {
                sums[t][n] = fma(key, query[n], sums[t][n]);
            }
        }
    }
    #pragma unroll
    for (int t = 0; t < KEY_STEP; ++t) {
        #pragma unroll
        for (int n = 0; n < GROUP_VECTORS; ++n) {
            STORE_LANES(sums[t][n] * scale, scores + t * GROUP + n * LANES);
        }
    }
}

static void score_block(const attention_params *p, const tile_view *tile, int count, tile_state *state)
{
    PLAIN_LOOP
    for (int g = 0; g < tile->groups; ++g) {
        PLAIN_LOOP
        for (int j = 0; j < count; j += KEY_STEP) {
            score_keys(state->queries + g * WIDTH * GROUP, state->keys + j * WIDTH, p->head_dim,
                       p->scale, state->scores + (g * KEY_BLOCK + j) * GROUP);
        }
    }
}

static void cap_block(const attention_params *p, const tile_view *tile, int count, tile_state *state)
{
    for (int g = 0; g < tile->groups; ++g) {
        float *scores = state->scores + g * KEY_BLOCK * GROUP;
        for (int at = 0; at < count * GROUP; at += LANES) {
            STORE_LANES(p->softcap * tanh(LOAD_LANES(scores + at) / p->softcap), scores + at);
        }
    }
}

/* Mask, bias and ALiBi of one row. */
static void adjust_row(const attention_params *p, const tile_view *tile, __global const uchar *mask,
                       __global const uchar *bias, long first, int count, int r, float *scores)
{
    row_view row;
    row.mask_row = tile->mask_row[r];
    row.bias_row = tile->bias_row[r];
    row.bias_scale = tile->bias_scale;
    row.slope = tile->slope;
    row.position = tile->position[r];
    const int from = (int)clamp_long(tile->begin[r] - first, 0, count);
    const int to = (int)clamp_long(tile->end[r] - first, 0, count);
    PLAIN_LOOP
    for (int j = from; j < to; ++j) {
        const float bias_ij = load_bias(p, &row, bias, first + j);
        const bool is_hidden = bias_ij == -INFINITY || is_masked(p, &row, mask, first + j);
        const float score = scores[j * GROUP];
        scores[j * GROUP] = is_hidden ? -INFINITY : add_bias(p, &row, score, bias_ij, first + j);
    }
}

static void adjust_block(const attention_params *p, const tile_view *tile, __global const uchar *mask,
                         __global const uchar *bias, long first, int count, tile_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < tile->rows; ++r) {
        adjust_row(p, tile, mask, bias, first, count, r,
                   state->scores + r / GROUP * KEY_BLOCK * GROUP + r % GROUP);
    }
}

/* -inf where lengths, causality or a window hide a key. */
static void hide_keys(const tile_view *tile, long first, int count, tile_state *state)
{
    int begin[TILE], end[TILE];
    for (int r = 0; r < tile->groups * GROUP; ++r) {
        begin[r] = (int)clamp_long(tile->begin[r] - first, 0, count);
        end[r] = (int)clamp_long(tile->end[r] - first, 0, count);
    }
    for (int g = 0; g < tile->groups; ++g) {
        for (int n = 0; n < GROUP; n += LANES) {
            const lanes_int from = LOAD_LANES(begin + g * GROUP + n);
            const lanes_int to = LOAD_LANES(end + g * GROUP + n);
            for (int j = 0; j < count; ++j) {
                float *at = state->scores + (g * KEY_BLOCK + j) * GROUP + n;
                STORE_LANES(((lanes_int)j >= from && (lanes_int)j < to) ? LOAD_LANES(at) : (lanes_float)-INFINITY, at);
            }
        }
    }
}

/* Turns the scores of one vector of queries into weights relative to the new maximum, and writes the factor by which
 * what was summed before shrinks. */
static void weigh_lanes(float *scores, int count, float *maximum, float *sum, float *shrink, float *pending)
{
    const lanes_float before = LOAD_LANES(maximum);
    lanes_float largest = before;
    for (int j = 0; j < count; ++j) {
        largest = larger_lanes(LOAD_LANES(scores + j * GROUP), largest);
    }
    /* A row that has seen nothing yet: its scores are -inf (or NaN, which stays NaN), whatever is subtracted. */
    const lanes_float base = largest == -INFINITY ? (lanes_float)0.0f : largest;
    lanes_float total = 0.0f;
    for (int j = 0; j < count; ++j) {
        const lanes_float weight = exp_lanes(LOAD_LANES(scores + j * GROUP) - base);
        STORE_LANES(weight, scores + j * GROUP);
        total += weight;
    }
    const lanes_float factor = exp_lanes(before - base);
    STORE_LANES(largest, maximum);
    STORE_LANES(fma(LOAD_LANES(sum), factor, total), sum);
    STORE_LANES(factor, shrink);
    STORE_LANES(LOAD_LANES(pending) * factor, pending);
}

static void weigh_block(const tile_view *tile, int count, tile_state *state)
{
    PLAIN_LOOP
    for (int g = 0; g < tile->groups; ++g) {
        PLAIN_LOOP
        for (int n = 0; n < GROUP; n += LANES) {
            const int row = g * GROUP + n;
            weigh_lanes(state->scores + g * KEY_BLOCK * GROUP + n, count, state->maximum + row, state->sum + row,
                        state->shrink + row, state->pending + row);
        }
    }
}

/* OUT_ROWS rows of o, OUT_VECTORS vectors of columns: o = o * shrink + sum_j weight_j v_j. */
static void add_values(const float *weights, const float *values, const float *shrink, int count, float *o)
{
    lanes_float sums[OUT_ROWS][OUT_VECTORS];
    #pragma unroll
    for (int t = 0; t < OUT_ROWS; ++t) {
        #pragma unroll
        for (int n = 0; n < OUT_VECTORS; ++n) {
            sums[t][n] = 0.0f;
        }
    }
    for (int j = 0; j < count; ++j) {
        lanes_float value[OUT_VECTORS];
        #pragma unroll
        for (int n = 0; n < OUT_VECTORS; ++n) {
            value[n] = LOAD_LANES(values + j * WIDTH + n * LANES);
        }
        #pragma unroll
        for (int t = 0; t < OUT_ROWS; ++t) {
            const lanes_float weight = weights[j * GROUP + t];
            #pragma unroll
            for (int n = 0; n < OUT_VECTORS; ++n) {
                sums[t][n] = fma(weight, value[n], sums[t][n]);
            }
        }
    }
    #pragma unroll
    for (int t = 0; t < OUT_ROWS; ++t) {
        const lanes_float factor = shrink[t];
        #pragma unroll
        for (int n = 0; n < OUT_VECTORS; ++n) {
            float *at = o + t * WIDTH + n * LANES;
            STORE_LANES(fma(LOAD_LANES(at), factor, sums[t][n]), at);
        }
    }
}

static void add_block(const attention_params *p, const tile_view *tile, int count, tile_state *state)
{
    PLAIN_LOOP
    for (int g = 0; g < tile->groups; ++g) {
        PLAIN_LOOP
        for (int r = 0; r < min(GROUP, tile->rows - g * GROUP); r += OUT_ROWS) {
            const int row = g * GROUP + r;
            PLAIN_LOOP
            for (int c = 0; c < p->v_dim; c += OUT_VECTORS * LANES) {
                add_values(state->scores + g * KEY_BLOCK * GROUP + r, state->values + c, state->shrink + row, count,
                           state->o + row * WIDTH + c);
            }
        }
    }
}

/* Remembers which keys are hidden, before their scores become weights. */
static void mark_hidden(const tile_view *tile, int count, tile_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < tile->rows; ++r) {
        const float *scores = state->scores + r / GROUP * KEY_BLOCK * GROUP + r % GROUP;
        ulong bits = 0;
        PLAIN_LOOP
        for (int j = 0; j < count; ++j) {
            bits |= (ulong)(scores[j * GROUP] == -INFINITY) << j;
        }
        state->hidden[r] = bits;
    }
}

/* add_block for values that are not all finite: a hidden key is left out, not multiplied by 0. */
static void add_block_carefully(const attention_params *p, const tile_view *tile, int count, tile_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < tile->rows; ++r) {
        const float *weights = state->scores + r / GROUP * KEY_BLOCK * GROUP + r % GROUP;
        float *o = state->o + r * WIDTH;
        PLAIN_LOOP
        for (int c = 0; c < p->v_dim; ++c) {
            float sum = 0.0f;
            PLAIN_LOOP
            for (int j = 0; j < count; ++j) {
                if (!(state->hidden[r] >> j & 1)) {
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

static void attend_block(const attention_params *p, const tile_view *tile, input_buffer k, input_buffer v,
                         __global const uchar *mask, __global const uchar *bias, long first, int count,
                         tile_state *state)
{
    load_keys(p, tile, k, first, count, state);
    score_block(p, tile, count, state);
    if (p->features & USES_SOFTCAP) {
        cap_block(p, tile, count, state);
    }
    if (p->features & (USES_MASK | USES_BIAS | USES_ALIBI)) {
        adjust_block(p, tile, mask, bias, first, count, state);
    }
    if (first < tile->whole_begin || first + count > tile->whole_end) {
        hide_keys(tile, first, count, state);
    }
    const bool finite = load_values(p, tile, v, first, count, state);
    if (!finite) {
        mark_hidden(tile, count, state);
    }
    weigh_block(tile, count, state);
    if (finite) {
        add_block(p, tile, count, state);
    } else {
        add_block_carefully(p, tile, count, state);
    }
}

/* Adds the recent part to the total, and starts a new one. Each vector of a row is done by itself. */
static void add_to_total(const attention_params *p, const tile_view *tile, tile_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < tile->rows; ++r) {
        const lanes_float factor = state->pending[r];
        PLAIN_LOOP
        for (int at = r * WIDTH; at < r * WIDTH + p->v_dim; at += LANES) {
            STORE_LANES(fma(LOAD_LANES(state->total_o + at), factor, LOAD_LANES(state->o + at)), state->total_o + at);
            STORE_LANES((lanes_float)0.0f, state->o + at);
        }
        state->total_sum[r] = fma(state->total_sum[r], state->pending[r], state->sum[r]);
        state->sum[r] = 0.0f;
        state->pending[r] = 1.0f;
    }
}

static void clear_state(const tile_view *tile, tile_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < tile->groups * GROUP; r += LANES) {
        STORE_LANES((lanes_float)-INFINITY, state->maximum + r);
        STORE_LANES((lanes_float)0.0f, state->sum + r);
        STORE_LANES((lanes_float)0.0f, state->total_sum + r);
        STORE_LANES((lanes_float)1.0f, state->pending + r);
    }
    PLAIN_LOOP
    for (int at = 0; at < tile->groups * GROUP * WIDTH; at += LANES) {
        STORE_LANES((lanes_float)0.0f, state->o + at);
        STORE_LANES((lanes_float)0.0f, state->total_o + at);
    }
}

static void finish_tile(const attention_params *p, const tile_view *tile, __global uchar *o, __global float *lse,
                        float sink, const tile_state *state)
{
    PLAIN_LOOP
    for (int r = 0; r < tile->rows; ++r) {
        if (!tile->exists[r]) {
            continue;
        }
        float row_lse;
        const bool has_sink = (p->features & USES_SINKS) && tile->within[r];
        const float factor = finish_sum(state->maximum[r], state->total_sum[r], has_sink, sink, &row_lse);
        PLAIN_LOOP
        for (int c = 0; c < p->v_dim; c += VECTOR) {
            const float16 value = vload16(0, state->total_o + r * WIDTH + c) * factor;
            store_to_row(o, tile->o_row[r], c, p->v_dim, p->o_type, value);
        }
        if (p->features & USES_LSE) {
            lse[tile->lse_at[r]] = row_lse;
        }
    }
}

/* Vectors of queries are spread evenly over the tiles of a head, so that a short last tile does not leave a core idle.
 * Tiles are numbered backwards: with causality the later ones are the longer ones, and long ones should start first. */
__kernel void attention_tiled_cpu(const attention_params params, ATTENTION_BUFFERS, __global float *partial)
{
    const attention_params *p = &params;
    const long vectors = (p->q_len + LANES - 1) / LANES;
    const long tiles = (vectors + GROUPS * GROUP_VECTORS - 1) / (GROUPS * GROUP_VECTORS);
    const long items = p->batch * p->q_heads * tiles;
    PLAIN_LOOP
    for (long item = get_global_id(0); item < items; item += get_global_size(0)) {
        const long which = tiles - 1 - item % tiles;
        const long head = item / tiles;
        const long first_row = which * vectors / tiles * LANES;
        tile_view tile;
        tile_state state;
        row_view row;
        row.b = head / p->q_heads;
        row.h = head % p->q_heads;
        view_keys(p, &row, kv_lens, kv_starts);
        tile.rows = (int)(min((which + 1) * vectors / tiles * LANES, (long)p->q_len) - first_row);
        tile.groups = (tile.rows + GROUP - 1) / GROUP;
        tile.key_begin = LONG_MAX;
        tile.key_end = 0;
        tile.whole_begin = 0;
        tile.whole_end = LONG_MAX;
        PLAIN_LOOP
        for (int r = 0; r < tile.rows; ++r) {
            row.i = first_row + r;
            view_row_of_head(p, &row, bias_scale, slopes, q_lens, q_starts, offsets);
            view_tile_row(p, &tile, &row, r);
        }
        tile.k_base = row.k_base;
        tile.v_base = row.v_base;
        tile.bias_scale = row.bias_scale;
        tile.slope = row.slope;
        const float sink = load_sink(p, &row, sinks);
        pad_tile(&tile);
        load_queries(p, &tile, q, &state);
        clear_state(&tile, &state);
        /* Blocks begin at multiples of KEY_BLOCK, and totals are taken at multiples of TOTAL_KEYS, whichever keys the tile
         * sees: so a row's bits do not depend on which other rows share its tile. */
        long summed = tile.key_begin / TOTAL_KEYS;
        PLAIN_LOOP
        for (long first = tile.key_begin / KEY_BLOCK * KEY_BLOCK; first < tile.key_end; first += KEY_BLOCK) {
            const int count = (int)min((long)KEY_BLOCK, tile.key_end - first);
            if ((p->features & USES_MASK) && !mask_shows_block(p, &tile, mask, first, count)) {
                continue;
            }
            if (first / TOTAL_KEYS != summed) {
                add_to_total(p, &tile, &state);
                summed = first / TOTAL_KEYS;
            }
            attend_block(p, &tile, k, v, mask, bias, first, count, &state);
        }
        add_to_total(p, &tile, &state);
        finish_tile(p, &tile, o, lse, sink, &state);
    }
}
