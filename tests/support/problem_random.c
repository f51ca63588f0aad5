#include <string.h>

#include "problem.h"

static bool has(uint64_t features, feature f) {
    return (features >> f) & 1;
}

static int64_t at_least(int64_t value, int64_t least) {
    return value < least ? least : value;
}

static int64_t at_most(int64_t value, int64_t most) {
    return value < most ? value : most;
}

/* Later features yield to earlier ones that exclude them, and what a feature needs is added. */
static uint64_t settle(uint64_t features) {
    const uint64_t starts = 1ull << FEATURE_Q_STARTS | 1ull << FEATURE_KV_STARTS;
    const uint64_t of_host = 1ull << FEATURE_RUNTIME_LENGTHS | 1ull << FEATURE_CALL_STRIDES;
    if (features & (1ull << FEATURE_SHORT_BIAS | 1ull << FEATURE_BIAS_SCALE)) {
        features |= 1ull << FEATURE_BIAS;
    }
    if (has(features, FEATURE_SHORT_MASK)) {
        features |= 1ull << FEATURE_MASK;
    }
    if (features & starts) {
        features &= ~(1ull << FEATURE_PACKED_QKV);
    }
    if (features & of_host) {
        features &= ~(1ull << FEATURE_HOST);
    }
    return features;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

static int64_t random_length(random_source *source) {
    if (random_one_in(source, 10)) {
        return random_between(source, 0, 3);
    }
    return random_between(source, 1, random_one_in(source, 6) ? 300 : 70);
}

static int64_t random_dim(random_source *source) {
    static const int64_t common[] = {32, 64, 80, 96, 128};
    if (random_one_in(source, 40)) {
        return random_between(source, 161, 1024);
    }
    return random_one_in(source, 3) ? common[random_between(source, 0, 4)] : random_between(source, 1, 160);
}

/* Keeps one problem to some milliseconds: the largest length is halved until the work is small. */
static void limit_work(oclattn_attention_desc *d) {
    const int64_t most = 1000000;
    while (d->batch * d->q_heads * d->q_len * d->kv_len * (d->head_dim + d->v_dim) > most &&
           (d->q_len > 1 || d->kv_len > 1)) {
        int64_t *longest = d->q_len > d->kv_len ? &d->q_len : &d->kv_len;
        *longest = (*longest + 1) / 2;
    }
}

static oclattn_type random_type(random_source *source) {
    return (oclattn_type)random_between(source, OCLATTN_F32, OCLATTN_BF16);
}

program_choice random_program(random_source *source, bool f32_only) {
    const int64_t programs = options.few_programs ? 3 : options.is_long ? 60 : 9;
    const int64_t number =
        f32_only ? 3 * random_between(source, 0, programs / 3 - 1) : random_between(source, 0, programs - 1);
    random_source of_program = random_start(options.seed, 1u << 30 | (uint64_t)number);
    program_choice choice = {OCLATTN_F32, OCLATTN_F32, random_dim(&of_program), 0};
    choice.v_dim = random_one_in(&of_program, 2) ? choice.head_dim : random_dim(&of_program);
    if (number % 3 != 0) {
        choice.k_type = random_type(&of_program);
        choice.v_type = random_type(&of_program);
    }
    return choice;
}

static problem random_sizes(random_source *source, uint64_t features) {
    const int64_t kv_heads = random_between(source, 1, 3);
    const int64_t group = has(features, FEATURE_GQA) ? random_between(source, 2, 5) : 1;
    const int64_t batch = random_one_in(source, 40) ? 0 : random_between(source, 1, 3);
    const int64_t q_len = random_length(source);
    const int64_t kv_len = random_one_in(source, 4) ? q_len : random_length(source);
    const int64_t head_dim = random_dim(source);
    const int64_t v_dim = random_one_in(source, 2) ? head_dim : random_dim(source);
    problem p = problem_new(batch, kv_heads * group, kv_heads, q_len, kv_len, head_dim, v_dim);
    if (random_one_in(source, 4)) {
        p.desc.q_len = random_between(source, 1, 8 / group);
        p.desc.kv_len = random_between(source, 1, random_one_in(source, 4) ? 1200 : 300);
    }
    limit_work(&p.desc);
    if (has(features, FEATURE_PACKED_QKV)) {
        p.desc.v_dim = p.desc.head_dim;
        p.desc.q_len = at_most(p.desc.q_len, p.desc.kv_len);
        p.desc.kv_len = p.desc.q_len;
    }
    return p;
}

/* Half of the problems are for the portable variant, which takes everything at run time; the others are of a size and
 * type for which a faster one may have been compiled before. */
static void random_variant(problem *p, random_source *source, uint64_t features) {
    oclattn_attention_desc *d = &p->desc;
    if (has(features, FEATURE_PACKED_QKV) || random_one_in(source, 2)) {
        d->variant = "attention_portable";
        return;
    }
    const program_choice choice = random_program(source, false);
    d->k_type = choice.k_type;
    d->v_type = choice.v_type;
    d->head_dim = choice.head_dim;
    d->v_dim = choice.v_dim;
    /* Where few rows, or another type of device, would take another. The one for GPUs compiles for seconds on CPUs: it
     * is among them with --long, and has tests of its own. */
    static const char *const variants[] = {"attention_tiled_cpu", "attention_portable", "attention_tiled_gpu"};
    if (!options.few_programs && random_one_in(source, 2) && d->head_dim <= 256 && d->v_dim <= 256) {
        d->variant = variants[random_between(source, 0, options.is_long ? 2 : 1)];
    }
    limit_work(d);
}

static void random_types(problem *p, random_source *source, uint64_t features) {
    oclattn_attention_desc *d = &p->desc;
    if (has(features, FEATURE_16_BIT)) {
        d->q_type = random_one_in(source, 2) ? OCLATTN_F16 : OCLATTN_BF16;
        d->k_type = d->v_type = d->o_type = d->score.bias_type = d->q_type;
    }
    if (has(features, FEATURE_MIXED_TYPES)) {
        d->q_type = random_type(source);
        d->k_type = has(features, FEATURE_PACKED_QKV) ? d->q_type : random_type(source);
        d->v_type = has(features, FEATURE_PACKED_QKV) ? d->q_type : random_type(source);
        d->o_type = random_type(source);
        d->score.bias_type = random_type(source);
    }
    if (options.few_programs) {
        d->v_type = d->k_type;
    }
}

/* ---- options ---------------------------------------------------------------------------------------------------- */

static void random_alignment(problem *p, random_source *source, uint64_t features) {
    const uint64_t moving = 1ull << FEATURE_Q_LENS | 1ull << FEATURE_KV_LENS | 1ull << FEATURE_Q_STARTS |
                            1ull << FEATURE_KV_STARTS | 1ull << FEATURE_RUNTIME_LENGTHS;
    const uint64_t using =
        1ull << FEATURE_CAUSAL | 1ull << FEATURE_WINDOW_LEFT | 1ull << FEATURE_WINDOW_RIGHT | 1ull << FEATURE_ALIBI;
    const bool may_be_unset = !(features & moving) && p->desc.q_len == p->desc.kv_len;
    if ((features & using) && !(may_be_unset && random_one_in(source, 3))) {
        p->desc.score.align = (oclattn_alignment)random_between(source, OCLATTN_ALIGN_TOP_LEFT, OCLATTN_ALIGN_OFFSET);
    }
}

static void set_flag(problem *p, uint64_t features, feature f, uint32_t flag) {
    if (has(features, f)) {
        p->desc.score.flags |= flag;
    }
}

static void random_flags(problem *p, uint64_t features) {
    set_flag(p, features, FEATURE_CAUSAL, OCLATTN_CAUSAL);
    set_flag(p, features, FEATURE_MASK, OCLATTN_MASK);
    set_flag(p, features, FEATURE_BIAS, OCLATTN_BIAS);
    set_flag(p, features, FEATURE_BIAS_SCALE, OCLATTN_BIAS_SCALE);
    set_flag(p, features, FEATURE_ALIBI, OCLATTN_ALIBI);
    set_flag(p, features, FEATURE_SINKS, OCLATTN_SINKS);
    set_flag(p, features, FEATURE_Q_LENS, OCLATTN_Q_LENS);
    set_flag(p, features, FEATURE_KV_LENS, OCLATTN_KV_LENS);
    set_flag(p, features, FEATURE_Q_STARTS, OCLATTN_Q_STARTS);
    set_flag(p, features, FEATURE_KV_STARTS, OCLATTN_KV_STARTS);
    set_flag(p, features, FEATURE_RUNTIME_LENGTHS, OCLATTN_RUNTIME_LENGTHS);
}

static void random_numbers(problem *p, random_source *source, uint64_t features) {
    static const float scales[] = {0.0f, -0.5f, 0.001f, 1.5f};
    static const float caps[] = {0.5f, 5.0f, 30.0f, 50.0f};
    oclattn_attention_desc *d = &p->desc;
    if (has(features, FEATURE_SCALE)) {
        d->score.flags &= ~OCLATTN_DEFAULT_SCALE;
        d->score.scale = scales[random_between(source, 0, 3)];
    }
    if (has(features, FEATURE_SOFTCAP)) {
        d->score.softcap = caps[random_between(source, 0, 3)];
    }
    if (has(features, FEATURE_WINDOW_LEFT)) {
        d->score.window_left = random_between(source, 0, d->kv_len / 2 + 2);
    }
    if (has(features, FEATURE_WINDOW_RIGHT)) {
        d->score.window_right = random_between(source, 0, d->kv_len / 2 + 2);
    }
    if (has(features, FEATURE_SHORT_MASK)) {
        d->score.mask_kv_len = random_between(source, 0, d->kv_len + 3);
    }
    if (has(features, FEATURE_SHORT_BIAS)) {
        d->score.bias_kv_len = random_between(source, 0, d->kv_len + 3);
    }
    if (has(features, FEATURE_KV_CHUNK)) {
        d->kv_chunk = random_between(source, at_least(d->kv_len / 40, 1), d->kv_len + 2);
    }
}

static void random_outputs(problem *p, random_source *source, uint64_t features) {
    p->desc.want_lse = has(features, FEATURE_LSE);
    if (has(features, FEATURE_SCORES)) {
        p->desc.scores_kind = (oclattn_scores_kind)random_between(source, OCLATTN_SCORES_SCALED, OCLATTN_PROBABILITIES);
    }
    if (has(features, FEATURE_RUNTIME_LENGTHS)) {
        p->q_len = random_one_in(source, 3) ? -1 : random_between(source, 0, p->desc.q_len);
        p->kv_len = random_one_in(source, 3) ? -1 : random_between(source, 0, p->desc.kv_len);
    }
}

/* ---- packed rows ------------------------------------------------------------------------------------------------ */

/* Starts of `batch` entries of up to most + 1 rows (one too many is clamped) with rows of nobody before and behind.
 * Returns how many rows there are. */
static int64_t random_starts(view *starts, int64_t batch, int64_t most, random_source *source) {
    const int64_t shape[4] = {batch + 1, 1, 1, 1};
    const int64_t strides[4] = {1, 1, 1, 1};
    int64_t row = random_between(source, 0, 3);
    *starts = view_new(ELEMENT_I32, shape, strides, false, random_between(source, 0, 9), 3);
    for (int64_t b = 0; b <= batch; b++) {
        view_set(starts, b, 0, 0, 0, (double)row);
        row += b < batch ? random_between(source, 0, most + (random_one_in(source, 8) ? 1 : 0)) : 0;
    }
    return row + random_between(source, 0, 3);
}

static void random_packing(problem *p, random_source *source) {
    oclattn_score_options *s = &p->desc.score;
    if (s->flags & OCLATTN_Q_STARTS) {
        s->q_rows = random_starts(&p->q_starts, p->desc.batch, p->desc.q_len, source);
    }
    if (s->flags & OCLATTN_KV_STARTS) {
        s->kv_rows = random_starts(&p->kv_starts, p->desc.batch, p->desc.kv_len, source);
    }
}

/* ---- layouts ---------------------------------------------------------------------------------------------------- */

static void shuffle(int *order, int count, random_source *source) {
    for (int i = count - 1; i > 0; i--) {
        const int other = (int)random_between(source, 0, i);
        const int kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* Strides of `count` dimensions in random order with random gaps; the innermost one steps over `inner` elements. */
static void random_strides(const int64_t *shape, int count, int64_t inner, int64_t *strides, random_source *source) {
    int order[4] = {0, 1, 2, 3};
    int64_t step = inner;
    shuffle(order, count, source);
    for (int i = 0; i < count; i++) {
        strides[order[i]] = step + random_between(source, 0, 5);
        step = strides[order[i]] * at_least(shape[order[i]], 1);
    }
}

static void random_layout(problem *p, random_source *source) {
    oclattn_attention_desc *d = &p->desc;
    oclattn_score_options *s = &d->score;
    const bool packed_q = s->flags & OCLATTN_Q_STARTS;
    const bool packed_kv = s->flags & OCLATTN_KV_STARTS;
    const int64_t q_shape[3] = {packed_q ? 1 : d->batch, d->q_heads, packed_q ? s->q_rows : d->q_len};
    const int64_t kv_shape[3] = {packed_kv ? 1 : d->batch, d->kv_heads, packed_kv ? s->kv_rows : d->kv_len};
    const int64_t score_shape[3] = {d->batch, d->q_heads, d->q_len};
    const int64_t mask_shape[4] = {d->batch, d->q_heads, d->q_len, s->mask_kv_len < 0 ? d->kv_len : s->mask_kv_len};
    const int64_t bias_shape[4] = {d->batch, d->q_heads, d->q_len, s->bias_kv_len < 0 ? d->kv_len : s->bias_kv_len};
    random_strides(q_shape, 3, d->head_dim, d->q_strides, source);
    random_strides(kv_shape, 3, d->head_dim, d->k_strides, source);
    random_strides(kv_shape, 3, d->v_dim, d->v_strides, source);
    random_strides(q_shape, 3, d->v_dim, d->o_strides, source);
    random_strides(q_shape, 3, 1, d->lse_strides, source);
    random_strides(score_shape, 3, d->kv_len, d->scores_strides, source);
    random_strides(mask_shape, 4, 1, s->mask_strides, source);
    random_strides(bias_shape, 4, 1, s->bias_strides, source);
}

/* Makes strides explicit and some of them 0. */
static void repeat(int64_t *strides, int count, const int64_t shape[4], random_source *source) {
    int64_t full[4];
    if (strides[0] == OCLATTN_STRIDE_AUTO) {
        contiguous_strides(shape, full);
        memcpy(strides, full, (size_t)count * sizeof *strides);
    }
    for (int i = 0; i < count; i++) {
        strides[i] = random_one_in(source, 2) ? 0 : strides[i];
    }
}

static void random_broadcast(problem *p, random_source *source) {
    oclattn_attention_desc *d = &p->desc;
    oclattn_score_options *s = &d->score;
    const int64_t q_rows = s->flags & OCLATTN_Q_STARTS ? s->q_rows : d->q_len;
    const int64_t kv_rows = s->flags & OCLATTN_KV_STARTS ? s->kv_rows : d->kv_len;
    repeat(d->q_strides, 3, (const int64_t[4]){d->batch, d->q_heads, q_rows, d->head_dim}, source);
    repeat(d->k_strides, 3, (const int64_t[4]){d->batch, d->kv_heads, kv_rows, d->head_dim}, source);
    repeat(d->v_strides, 3, (const int64_t[4]){d->batch, d->kv_heads, kv_rows, d->v_dim}, source);
    repeat(s->mask_strides, 4, (const int64_t[4]){d->batch, d->q_heads, d->q_len, at_least(s->mask_kv_len, d->kv_len)},
           source);
    repeat(s->bias_strides, 4, (const int64_t[4]){d->batch, d->q_heads, d->q_len, at_least(s->bias_kv_len, d->kv_len)},
           source);
}

/* One buffer [batch, rows, (q_heads + 2 kv_heads) * head_dim]. */
static void pack_qkv(problem *p, random_source *source) {
    oclattn_attention_desc *d = &p->desc;
    const int64_t width = (d->q_heads + 2 * d->kv_heads) * d->head_dim;
    const int64_t shape[4] = {d->batch, 1, d->q_len, width};
    const int64_t strides[4] = {d->q_len * width, d->head_dim, width, 1};
    const view all = view_new((element)d->q_type, shape, strides, false, random_between(source, 0, 20), 11);
    p->q = p->k = p->v = all;
    p->k.offset += d->q_heads * d->head_dim;
    p->v.offset = p->k.offset + d->kv_heads * d->head_dim;
    p->q.shape[1] = d->q_heads;
    p->k.shape[1] = p->v.shape[1] = d->kv_heads;
    p->q.shape[3] = p->k.shape[3] = p->v.shape[3] = d->head_dim;
    memcpy(d->q_strides, strides, sizeof d->q_strides);
    memcpy(d->k_strides, strides, sizeof d->k_strides);
    memcpy(d->v_strides, strides, sizeof d->v_strides);
}

static void set_auto(int64_t *strides, int count) {
    for (int i = 0; i < count; i++) {
        strides[i] = OCLATTN_STRIDE_AUTO;
    }
}

static void move_strides_to_call(problem *p) {
    oclattn_attention_desc *d = &p->desc;
    p->strides_in_args = true;
    set_auto(d->q_strides, 3);
    set_auto(d->k_strides, 3);
    set_auto(d->v_strides, 3);
    set_auto(d->o_strides, 3);
    set_auto(d->lse_strides, 3);
    set_auto(d->scores_strides, 3);
    set_auto(d->score.mask_strides, 4);
    set_auto(d->score.bias_strides, 4);
}

problem problem_random(random_source *source, uint64_t wanted) {
    const uint64_t features = settle(wanted);
    problem p = random_sizes(source, features);
    random_types(&p, source, features);
    random_variant(&p, source, features);
    random_flags(&p, features);
    random_alignment(&p, source, features);
    random_numbers(&p, source, features);
    random_outputs(&p, source, features);
    random_packing(&p, source);
    if (has(features, FEATURE_LAYOUT)) {
        random_layout(&p, source);
    }
    if (has(features, FEATURE_PACKED_QKV)) {
        pack_qkv(&p, source);
    } else if (has(features, FEATURE_BROADCAST)) {
        random_broadcast(&p, source);
    }
    problem_allocate(&p, source);
    if (has(features, FEATURE_CALL_STRIDES)) {
        move_strides_to_call(&p);
    }
    problem_fill(&p, source, features);
    return p;
}
