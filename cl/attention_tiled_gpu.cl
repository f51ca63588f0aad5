/* Attention on GPUs: a work-group computes a tile of query rows, block of keys by block of keys.
 *
 *     o_i = sum_j p_ij v_j,   p_ij = exp(s_ij - m_i) / l_i,   with m, l and o following the running maximum
 *
 * (online softmax: Milakov and Gimelshein, 2018; in blocks of keys: Dao et al., "FlashAttention", 2022). Work-items form a
 * grid of ROW_ITEMS x COLUMN_ITEMS:
 *
 *                 KEY_BLOCK keys                  columns of V
 *              x  x+C  x+2C ...               quad x  quad x+C ...       C = COLUMN_ITEMS, R = ROW_ITEMS
 *     row y    [s]  [s]                         [o]     [o]
 *     row y+R  [s]  [s]   -> local memory ->    [o]     [o]              work-item (x, y): ROWS x KEYS scores, then
 *     row y+2R [s]  [s]      softmax            [o]     [o]              ROWS x COLUMN_QUADS quads of o, in registers
 *
 * Q lies in local memory for the whole tile; K, and after it V, are copied there a block at a time, in their own type:
 * rows are read coalesced, and converted when they are used. Sums restart from zero in each block. Blocks begin at multiples
 * of KEY_BLOCK, whichever keys the tile sees: so a row's bits do not depend on which other rows share its tile.
 *
 * A hidden key's weight is 0, but 0 * NaN is NaN: where a block hides keys and V holds a value there that is not finite, the
 * sums skip hidden keys. */

#include "gpu_softmax.clh"

/* Intel: the size of sub-groups that registers are planned for; 0: the compiler's choice. */
#ifndef SUB_GROUP_SIZE
#define SUB_GROUP_SIZE 0
#endif
#if SUB_GROUP_SIZE
#define SUB_GROUP_ATTRIBUTE __attribute__((intel_reqd_sub_group_size(SUB_GROUP_SIZE)))
#else
#define SUB_GROUP_ATTRIBUTE
#endif

/* 1: there may be more tiles than work-groups, so that a group takes one after the other; 0: it takes one, and registers
 * need not hold what is the same for all of them. */
#ifndef TILE_LOOP
#define TILE_LOOP 1
#endif
#if TILE_LOOP
#define EACH_TILE(item, count)                                                                                     \
    PLAIN_LOOP                                                                                                      \
    for (long item = get_group_id(0); item < (count); item += get_num_groups(0))
#else
#define EACH_TILE(item, count)                                                                                     \
    const long item = get_group_id(0);                                                                              \
    if (item < (count))
#endif

/* `count` rows of K or V, of `width` elements, from `row` on. */
typedef struct row_block {
    input_buffer base;
    long row, stride;
    int count, width;
    bool is_aligned; /* rows begin at multiples of a quad's size */
} row_block;

/* Copies a block; rows and columns past the last ones are 0. */
static void stage_rows(const row_block *rows, int type, __local uchar *to)
{
#if STAGED
    PLAIN_LOOP
    for (int at = (int)get_local_id(0); at < KEY_BLOCK * (WIDTH / QUAD); at += ITEMS) {
        const int j = at / (WIDTH / QUAD);
        const int d = at % (WIDTH / QUAD) * QUAD;
        if (j < rows->count) {
            copy_quad(rows->base, rows->row + j * rows->stride, d, rows->width, type, rows->is_aligned, to,
                      j * LOCAL_ROW + d);
        } else {
            clear_quad(type, to, j * LOCAL_ROW + d);
        }
    }
#endif
}

/* Columns [d, d + QUAD) of row j: not staged, the last one stands in for those past it. */
static inline float4 block_quad(const row_block *rows, int type, __local const uchar *staged, int j, int d)
{
#if STAGED
    return local_quad(staged, j * LOCAL_ROW + d, type);
#else
    return load_quad(rows->base, rows->row + min(j, rows->count - 1) * rows->stride, d, rows->width, type);
#endif
}

#define CLEAR_SCORE(r, n) sums[r][n] = 0.0f;
#define CLEAR_SCORES(r) INNER(KEYS, CLEAR_SCORE, r)
#define LOAD_KEY(n) key[n] = block_quad(keys, K_TYPE, memory->block, x + n * COLUMN_ITEMS, at);
#define ADD_SCORE(r, n) sums[r][n] = add_dot_quad(query[r], key[n], sums[r][n]);
#define ADD_SCORES(r)                                                                                                 \
    query[r] = local_quad(memory->queries, (y + r * ROW_ITEMS) * LOCAL_ROW + at, Q_TYPE);                             \
    INNER(KEYS, ADD_SCORE, r)
#define KEEP_SCORE(r, n) memory->scores[(y + r * ROW_ITEMS) * SCORE_ROW + x + n * COLUMN_ITEMS] = sums[r][n] * p->scale;
#define KEEP_SCORES(r) INNER(KEYS, KEEP_SCORE, r)

/* ROWS x KEYS scores of work-item (x, y). */
static inline void score_block(const attention_params *p, const row_block *keys, int x, int y,
                               __local tile_memory *memory)
{
    float sums[ROWS][KEYS];
    OUTER(ROWS, CLEAR_SCORES)
    PLAIN_LOOP
    for (int d = 0; d < p->head_dim; d += QUAD * UNROLL) {
        EACH(UNROLL, u) {
            const int at = d + u * QUAD;
            float4 key[KEYS], query[ROWS];
            OUTER(KEYS, LOAD_KEY)
            OUTER(ROWS, ADD_SCORES)
        }
    }
    OUTER(ROWS, KEEP_SCORES)
}

/* Whether V holds something that is not finite; each work-item looks at a part of it. */
static void look_through_values(const row_block *values, __local tile_memory *memory)
{
    PLAIN_LOOP
    for (int at = (int)get_local_id(0); at < KEY_BLOCK * (WIDTH / QUAD); at += ITEMS) {
        const int j = at / (WIDTH / QUAD);
        const int c = at % (WIDTH / QUAD) * QUAD;
        if (c < values->width && !quad_is_finite(block_quad(values, V_TYPE, memory->block, j, c))) {
            atomic_or(&memory->is_not_finite, 1);
        }
    }
}

static inline float4 add_value(float weight, float4 value, float4 sum, bool skips_hidden)
{
    return skips_hidden && IS_HIDDEN(weight) ? sum : multiply_add_quad(weight, value, sum);
}

#define CLEAR_VALUE(r) part[r] = 0.0f;
#define ADD_VALUES(r)                                                                                                 \
    weights = *(__local const float4 *)(memory->scores + (y + r * ROW_ITEMS) * SCORE_ROW + j);                        \
    part[r] = add_value(weights.x, v0, part[r], skips_hidden);                                                        \
    part[r] = add_value(weights.y, v1, part[r], skips_hidden);                                                        \
    part[r] = add_value(weights.z, v2, part[r], skips_hidden);                                                        \
    part[r] = add_value(weights.w, v3, part[r], skips_hidden);
#define ADD_PART(n, r) sums[r][n] = multiply_add_quad(memory->shrink[y + r * ROW_ITEMS], sums[r][n], part[r]);
/* Columns that V does not have are left alone by all work-items alike. */
#define ADD_COLUMNS(n)                                                                                                \
    if (n * COLUMN_ITEMS * QUAD < values->width) {                                                                    \
        add_columns(values, (x + n * COLUMN_ITEMS) * QUAD, y, memory, skips_hidden, part);                            \
        INNER(ROWS, ADD_PART, n)                                                                                      \
    }

/* part_i = sum_j weight_ij v_j, for the quad of columns that begins with c. */
static inline void add_columns(const row_block *values, int c, int y, __local const tile_memory *memory,
                               bool skips_hidden, float4 part[ROWS])
{
    OUTER(ROWS, CLEAR_VALUE)
    PLAIN_LOOP
    for (int j = 0; j < values->count; j += QUAD) {
        const float4 v0 = block_quad(values, V_TYPE, memory->block, j, c);
        const float4 v1 = block_quad(values, V_TYPE, memory->block, j + 1, c);
        const float4 v2 = block_quad(values, V_TYPE, memory->block, j + 2, c);
        const float4 v3 = block_quad(values, V_TYPE, memory->block, j + 3, c);
        float4 weights;
        OUTER(ROWS, ADD_VALUES)
    }
}

/* sums = sums * shrink + sum_j weight_j v_j */
static inline void add_block(const row_block *values, int x, int y, __local const tile_memory *memory, bool skips_hidden,
                             float4 sums[ROWS][COLUMN_QUADS])
{
    float4 part[ROWS];
    OUTER(COLUMN_QUADS, ADD_COLUMNS)
}

/* Takes the tile through the keys from `first` on. All work-items leave it behind a barrier. */
static void attend_block(const attention_params *p, input_buffer k, input_buffer v, __global const uchar *mask,
                         __global const uchar *bias, long first, int x, int y, __local tile_memory *memory,
                         float4 o[ROWS][COLUMN_QUADS])
{
    const int count = (int)min((long)KEY_BLOCK, memory->key_end - first);
    const long k_stride = p->strides[ATTENTION_K][2];
    const long v_stride = p->strides[ATTENTION_V][2];
    const row_block keys = {k, memory->k_base + first * k_stride, k_stride, count, p->head_dim,
                            (p->features & K_IS_ALIGNED) != 0};
    const row_block values = {v, memory->v_base + first * v_stride, v_stride, count, p->v_dim,
                              (p->features & V_IS_ALIGNED) != 0};
    if (get_local_id(0) == 0) {
        memory->hides = 0;
        memory->is_not_finite = 0;
    }
    stage_rows(&keys, K_TYPE, memory->block);
    barrier(CLK_LOCAL_MEM_FENCE);
    score_block(p, &keys, x, y, memory);
    barrier(CLK_LOCAL_MEM_FENCE);
    stage_rows(&values, V_TYPE, memory->block);
    weigh_block(p, mask, bias, first, memory);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (memory->hides) {
        look_through_values(&values, memory);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (memory->is_not_finite) {
        add_block(&values, x, y, memory, true, o);
    } else {
        add_block(&values, x, y, memory, false, o);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Where a row goes, and what its sums are multiplied by. */
typedef struct row_target {
    output_buffer base;
    long row;
    int type;
    float factor;
    bool is_zero; /* the sums do not count: they may be 0 * NaN */
} row_target;

/* A row's part over one chunk: not normalised. */
static inline row_target part_target(const attention_params *p, int row, int x, float maximum, float sum,
                                     __local const tile_memory *memory, __global float *partial)
{
    const long number = memory->number + row;
    const row_target target = {(output_buffer)partial, partial_o(p, number, memory->chunk), TYPE_F32, 1.0f, false};
    if (x == 0) {
        partial[partial_sums(p, number, memory->chunk)] = maximum;
        partial[partial_sums(p, number, memory->chunk) + 1] = sum;
    }
    return target;
}

static inline row_target whole_target(const attention_params *p, int row, int x, float maximum, float sum,
                                      __local const tile_memory *memory, output_buffer o, __global float *lse)
{
    const bool has_sink = (p->features & USES_SINKS) && memory->kind[row] == ROW_WITHIN;
    const float sink = memory->sink[row];
    const row_target target = {o, memory->o_row[row], p->o_type, normalising_factor(maximum, sum, has_sink, sink),
                               sees_nothing(maximum, sum)};
    if (x == 0 && (p->features & USES_LSE)) {
        lse[memory->lse_at[row]] = log_of_sum(maximum, sum, has_sink, sink);
    }
    return target;
}

/* The code that stores is long, so there is one copy of it, in loops that are not unrolled: quads, and rows, move up in their
 * registers. */
#define NEXT_QUAD(n) sums[n] = sums[n + 1 < COLUMN_QUADS ? n + 1 : n];
#define MOVE_QUAD(r, n) sums[r][n] = sums[r + 1 < ROWS ? r + 1 : r][n];
#define NEXT_ROW(r) INNER(COLUMN_QUADS, MOVE_QUAD, r)

static inline void store_row(const row_target *target, int v_dim, int x, float4 sums[COLUMN_QUADS])
{
    PLAIN_LOOP
    for (int t = 0; t < COLUMN_QUADS; ++t) {
        const int c = (x + t * COLUMN_ITEMS) * QUAD;
        if (c < v_dim) {
            const float4 value = target->is_zero ? (float4)0.0f : sums[0] * target->factor;
            store_quad(target->base, target->row, c, v_dim, target->type, value);
        }
        OUTER(COLUMN_QUADS, NEXT_QUAD)
    }
}

static inline void write_rows(const attention_params *p, int x, int y, __local const tile_memory *memory,
                              float4 sums[ROWS][COLUMN_QUADS], output_buffer o, __global float *lse,
                              __global float *partial)
{
    const bool in_parts = p->chunk_count > 1;
    PLAIN_LOOP
    for (int t = 0; t < ROWS; ++t) {
        const int row = y + t * ROW_ITEMS;
        if (in_parts ? memory->begin[row] < memory->end[row] : memory->kind[row] != ROW_ABSENT) {
            const float maximum = memory->maximum[row];
            const float sum = sum_of_row(memory, row);
            const row_target target = in_parts ? part_target(p, row, x, maximum, sum, memory, partial)
                                               : whole_target(p, row, x, maximum, sum, memory, o, lse);
            store_row(&target, p->v_dim, x, sums[0]);
        }
        OUTER(ROWS, NEXT_ROW)
    }
}

#define CLEAR_SUM(r, n) sums[r][n] = 0.0f;
#define CLEAR_SUMS(r) INNER(COLUMN_QUADS, CLEAR_SUM, r)

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) SUB_GROUP_ATTRIBUTE void
attention_tiled_gpu(const attention_params params, ATTENTION_BUFFERS, __global float *partial)
{
    __local tile_memory memory_of_group;
    const attention_params *p = &params;
    /* Always + 0: addresses known at compile time make PoCL 3.1's compiler crash. */
    __local tile_memory *memory = &memory_of_group + (p->batch < 0 ? 1 : 0);
    const int x = (int)get_local_id(0) % COLUMN_ITEMS;
    const int y = (int)get_local_id(0) / COLUMN_ITEMS;
    if (p->batch == 0) { /* a launch without work, whose other sizes may be 0 too */
        return;
    }
    const tile_plan plan = plan_tiles(p);
    EACH_TILE(item, plan.items)
    {
        float4 sums[ROWS][COLUMN_QUADS];
        const tile_view tile = locate_tile(p, &plan, item);
        OUTER(ROWS, CLEAR_SUMS)
        view_rows(p, &tile, bias_scale, slopes, sinks, q_lens, kv_lens, q_starts, kv_starts, offsets, memory);
        clear_softmax(memory);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (get_local_id(0) == 0) {
            find_keys(memory);
        }
        load_queries(p, q, memory);
        barrier(CLK_LOCAL_MEM_FENCE);
        PLAIN_LOOP
        for (long first = memory->key_begin / KEY_BLOCK * KEY_BLOCK; first < memory->key_end; first += KEY_BLOCK) {
            attend_block(p, k, v, mask, bias, first, x, y, memory, sums);
        }
        write_rows(p, x, y, memory, sums, o, lse, partial);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
