/* Attention on any device: one work-item computes one query row, or its part over one chunk of keys.
 *
 *     o_i = sum_j p_ij v_j,   p_ij = exp(s_ij - m_i) / l_i,   l_i = sum_j exp(s_ij - m_i),   m_i = max_j s_ij
 *
 * Online softmax (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al.,
 * "FlashAttention", 2022): keys are taken in blocks, and m, l and o follow the running maximum, so no row of scores
 * is ever stored.
 *
 *        keys j ->  [ block ][ block ][ block ]        a block holds the next KEY_BLOCK keys that the row may see:
 *     row i         s, p -> m, l, o  (private)         hidden ones are never read, so what K and V hold there is
 *                                                      without effect, and stretches of hidden keys cost a scan
 *
 * No local memory, no barriers, any work-group size. Head sizes, lengths, strides, options and the types of q, o and
 * bias are run-time values; only K and V types, which are read per key, are compile-time ones.
 *
 * Where keys are split in chunks it writes partial states, which attention_combine.cl merges. */

#include "attention.clh"

/* Storage types of K and V. */
#ifndef K_TYPE
#define K_TYPE TYPE_F32
#endif
#ifndef V_TYPE
#define V_TYPE TYPE_F32
#endif

/* Keys per step of the online softmax: a multiple of VECTOR. Sums restart from zero in each. */
#ifndef KEY_BLOCK
#define KEY_BLOCK 32
#endif

/* Output columns that one work-item accumulates privately, a multiple of VECTOR. Wider rows are shared by several
 * work-items, each of which computes the scores anew. */
#ifndef V_PART
#define V_PART 64
#endif

/* Blocks whose sums are added up before they go into the total. */
#ifndef RECENT_BLOCKS
#define RECENT_BLOCKS 16
#endif

/* Dot products (and rows of V) that are in flight together. */
#define KEY_STEP 4

typedef struct key_block {
    int count;
    long key[KEY_BLOCK];
    float bias[KEY_BLOCK];
    float score[KEY_BLOCK]; /* then the weight */
} key_block;

typedef struct row_state {
    float maximum;
    float sum, o[V_PART]; /* of the last blocks */
    /* Of the blocks before them, to be multiplied by `pending`: adding few large parts instead of many small blocks keeps
     * rounding errors from growing with the number of keys. */
    float total_sum, total_o[V_PART], pending;
} row_state;

/* Collects the next keys from *next on that mask and bias leave visible. */
static void gather_keys(const attention_params *p, const row_view *row, __global const uchar *mask,
                        __global const uchar *bias, long *next, long end, key_block *block)
{
    int count = 0;
    long j = *next;
    for (; j < end && count < KEY_BLOCK; ++j) {
        if (is_masked(p, row, mask, j)) {
            continue;
        }
        const float bias_ij = load_bias(p, row, bias, j);
        if (bias_ij == -INFINITY) {
            continue;
        }
        block->key[count] = j;
        block->bias[count] = bias_ij;
        ++count;
    }
    block->count = count;
    *next = j;
}

/* KEY_STEP dot products at a time: q is read once for all of them. */
static void dot_products(const attention_params *p, const row_view *row, input_buffer q, input_buffer k,
                         const long *keys, float *results)
{
    const long stride = p->strides[ATTENTION_K][2];
    const long k0 = row->k_base + keys[0] * stride;
    const long k1 = row->k_base + keys[1] * stride;
    const long k2 = row->k_base + keys[2] * stride;
    const long k3 = row->k_base + keys[3] * stride;
    float16 s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    for (int d = 0; d < p->head_dim; d += VECTOR) {
        const float16 q_part = load_from_row(q, row->q_row, d, p->head_dim, p->q_type);
        s0 = MULTIPLY_ADD(q_part, load_from_row(k, k0, d, p->head_dim, K_TYPE), s0);
        s1 = MULTIPLY_ADD(q_part, load_from_row(k, k1, d, p->head_dim, K_TYPE), s1);
        s2 = MULTIPLY_ADD(q_part, load_from_row(k, k2, d, p->head_dim, K_TYPE), s2);
        s3 = MULTIPLY_ADD(q_part, load_from_row(k, k3, d, p->head_dim, K_TYPE), s3);
    }
    results[0] = sum_of_lanes(s0);
    results[1] = sum_of_lanes(s1);
    results[2] = sum_of_lanes(s2);
    results[3] = sum_of_lanes(s3);
}

/* Scores of the block's keys; those that turn out to be -inf are hidden and leave the block. */
static void score_keys(const attention_params *p, const row_view *row, input_buffer q, input_buffer k,
                       key_block *block)
{
    int t = 0;
    for (; t + KEY_STEP <= block->count; t += KEY_STEP) {
        dot_products(p, row, q, k, block->key + t, block->score + t);
    }
    for (; t < block->count; ++t) {
        block->score[t] = dot_product(p, row, q, k, block->key[t], K_TYPE);
    }
    int visible = 0;
    for (t = 0; t < block->count; ++t) {
        const long j = block->key[t];
        const float score = add_bias(p, row, cap_score(p, scale_score(p, block->score[t])), block->bias[t], j);
        if (score != -INFINITY) {
            block->key[visible] = j;
            block->score[visible] = score;
            ++visible;
        }
    }
    block->count = visible;
    for (t = visible; t % VECTOR != 0; ++t) {
        block->score[t] = -INFINITY;
    }
}

/* Turns the block's scores into weights relative to the new maximum, and returns the factor by which what was summed
 * before shrinks. fmax passes NaN over, but the exponential of a NaN score does not. */
static float weigh_keys(key_block *block, row_state *state)
{
    float16 largest = -INFINITY;
    for (int t = 0; t < block->count; t += VECTOR) {
        largest = fmax(largest, vload16(0, block->score + t));
    }
    const float maximum = fmax(state->maximum, max_of_lanes(largest));
    float16 sum = 0.0f;
    for (int t = 0; t < block->count; t += VECTOR) {
        const float16 weight = exp(vload16(0, block->score + t) - maximum);
        vstore16(weight, 0, block->score + t);
        sum += weight;
    }
    const float shrink = state->maximum == -INFINITY ? 0.0f : exp(state->maximum - maximum);
    state->sum = MULTIPLY_ADD(state->sum, shrink, sum_of_lanes(sum));
    state->maximum = maximum;
    state->pending *= shrink;
    return shrink;
}

/* sum_t weight_t * V[key_t][column .. column + VECTOR), with KEY_STEP sums in flight. */
static float16 weighted_values(const attention_params *p, const row_view *row, input_buffer v, const key_block *block,
                               int column)
{
    const long stride = p->strides[ATTENTION_V][2];
    const int whole = block->count - block->count % KEY_STEP;
    float16 s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    for (int t = 0; t < whole; t += KEY_STEP) {
        const long v0 = row->v_base + block->key[t] * stride;
        const long v1 = row->v_base + block->key[t + 1] * stride;
        const long v2 = row->v_base + block->key[t + 2] * stride;
        const long v3 = row->v_base + block->key[t + 3] * stride;
        s0 = MULTIPLY_ADD((float16)block->score[t], load_from_row(v, v0, column, p->v_dim, V_TYPE), s0);
        s1 = MULTIPLY_ADD((float16)block->score[t + 1], load_from_row(v, v1, column, p->v_dim, V_TYPE), s1);
        s2 = MULTIPLY_ADD((float16)block->score[t + 2], load_from_row(v, v2, column, p->v_dim, V_TYPE), s2);
        s3 = MULTIPLY_ADD((float16)block->score[t + 3], load_from_row(v, v3, column, p->v_dim, V_TYPE), s3);
    }
    for (int t = whole; t < block->count; ++t) {
        const long v0 = row->v_base + block->key[t] * stride;
        s0 = MULTIPLY_ADD((float16)block->score[t], load_from_row(v, v0, column, p->v_dim, V_TYPE), s0);
    }
    return (s0 + s1) + (s2 + s3);
}

static void clear_state(row_state *state, int columns)
{
    state->maximum = -INFINITY;
    state->sum = 0.0f;
    state->total_sum = 0.0f;
    state->pending = 1.0f;
    for (int c = 0; c < columns; c += VECTOR) {
        vstore16((float16)0.0f, 0, state->o + c);
        vstore16((float16)0.0f, 0, state->total_o + c);
    }
}

/* Adds the recent part to the total, and starts a new one. */
static void add_to_total(row_state *state, int columns)
{
    for (int c = 0; c < columns; c += VECTOR) {
        const float16 total = vload16(0, state->total_o + c);
        const float16 recent = vload16(0, state->o + c);
        vstore16(MULTIPLY_ADD(total, (float16)state->pending, recent), 0, state->total_o + c);
        vstore16((float16)0.0f, 0, state->o + c);
    }
    state->total_sum = MULTIPLY_ADD(state->total_sum, state->pending, state->sum);
    state->sum = 0.0f;
    state->pending = 1.0f;
}

static void attend(const attention_params *p, const row_view *row, input_buffer q, input_buffer k, input_buffer v,
                   __global const uchar *mask, __global const uchar *bias, long begin, long end, int first_column,
                   int columns, row_state *state)
{
    key_block block;
    long next = begin;
    int recent = 0;
    while (next < end) {
        gather_keys(p, row, mask, bias, &next, end, &block);
        score_keys(p, row, q, k, &block);
        if (block.count == 0) {
            continue;
        }
        const float shrink = weigh_keys(&block, state);
        for (int c = 0; c < columns; c += VECTOR) {
            const float16 added = weighted_values(p, row, v, &block, first_column + c);
            vstore16(MULTIPLY_ADD(vload16(0, state->o + c), (float16)shrink, added), 0, state->o + c);
        }
        if (++recent % RECENT_BLOCKS == 0) {
            add_to_total(state, columns);
        }
    }
    add_to_total(state, columns);
}

static void write_partial(const attention_params *p, __global float *partial, long row, long chunk,
                          const row_state *state, int first_column, int columns)
{
    const long at = partial_o(p, row, chunk) + first_column;
    for (int c = 0; c < columns; ++c) {
        partial[at + c] = state->total_o[c];
    }
    if (first_column == 0) {
        partial[partial_sums(p, row, chunk)] = state->maximum;
        partial[partial_sums(p, row, chunk) + 1] = state->total_sum;
    }
}

/* Work-items are numbered (row, chunk, part of the columns), rows of one head next to each other, so that neighbours read
 * the same keys: item = ((head * chunks + chunk) * parts + part) * q_len + i, with head counted over the batch. */
WIDE_KERNEL void attention_portable(const attention_params params, ATTENTION_BUFFERS, __global float *partial)
{
    const attention_params *p = &params;
    const long parts = (p->v_dim + V_PART - 1) / V_PART;
    const long items = p->batch * p->q_heads * p->chunk_count * parts * p->q_len;
    for (long item = get_global_id(0); item < items; item += get_global_size(0)) {
        const long i = item % p->q_len;
        const int first_column = (int)(item / p->q_len % parts) * V_PART;
        const long chunk = item / p->q_len / parts % p->chunk_count;
        const long number = item / p->q_len / parts / p->chunk_count * p->q_len + i;
        row_view row;
        if (!view_row(p, number, &row, bias_scale, slopes, q_lens, kv_lens, q_starts, kv_starts, offsets)) {
            continue;
        }
        if (p->chunk_count > 1 && !chunk_is_seen(p, &row, chunk)) {
            continue;
        }
        const int columns = min(V_PART, p->v_dim - first_column);
        row_state state;
        clear_state(&state, columns);
        const long begin = max(row.key_begin, chunk * p->kv_chunk);
        const long end = row.i < row.q_len ? min(row.key_end, (chunk + 1) * p->kv_chunk) : begin;
        attend(p, &row, q, k, v, mask, bias, begin, end, first_column, columns, &state);
        if (p->chunk_count > 1) {
            write_partial(p, partial, number, chunk, &state, first_column, columns);
        } else {
            finish_row(p, &row, o, lse, sinks, state.maximum, state.total_sum, state.total_o, first_column, columns);
        }
    }
}
