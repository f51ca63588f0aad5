/* The self-test of attention. */
#include "selftest_attention.h"

#include <math.h>

static uint32_t flags_of(const attention_case *c) {
    static const struct {
        int with;
        uint32_t flags;
    } pairs[] = {{WITH_CAUSAL, OCLATTN_CAUSAL},
                 {WITH_MASK, OCLATTN_MASK},
                 {WITH_BIAS, OCLATTN_BIAS | OCLATTN_BIAS_SCALE},
                 {WITH_ALIBI, OCLATTN_ALIBI},
                 {WITH_SINKS, OCLATTN_SINKS},
                 {WITH_Q_LENS, OCLATTN_Q_LENS},
                 {WITH_KV_LENS, OCLATTN_KV_LENS},
                 {WITH_PACKED, OCLATTN_Q_STARTS | OCLATTN_KV_STARTS}};
    uint32_t flags = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        flags |= c->with & pairs[i].with ? pairs[i].flags : 0;
    }
    return flags;
}

static void set_desc(const attention_case *c, const attention_data *d, const char *variant,
                     oclattn_attention_desc *desc) {
    oclattn_attention_desc_init(desc);
    desc->batch = c->batch;
    desc->q_heads = c->q_heads;
    desc->kv_heads = c->kv_heads;
    desc->q_len = c->q_len;
    desc->kv_len = c->kv_len;
    desc->head_dim = c->head_dim;
    desc->v_dim = c->v_dim;
    desc->q_type = desc->o_type = c->type;
    desc->k_type = desc->v_type = c->kv_type;
    desc->kv_chunk = c->kv_chunk;
    desc->variant = variant;
    desc->want_lse = (c->with & WITH_LSE) != 0;
    desc->scores_kind = c->scores;
    desc->score.flags |= flags_of(c);
    desc->score.softcap = c->softcap;
    desc->score.window_left = c->window_left > 0 ? c->window_left : -1;
    desc->score.align = OCLATTN_ALIGN_BOTTOM_RIGHT;
    desc->score.q_rows = c->with & WITH_PACKED ? packed_rows(c->batch, d->q_starts) : 0;
    desc->score.kv_rows = c->with & WITH_PACKED ? packed_rows(c->batch, d->kv_starts) : 0;
}

static void set_args(const attention_case *c, const attention_data *d, oclattn_attention_host_args *args) {
    const bool packed = (c->with & WITH_PACKED) != 0;
    oclattn_attention_host_args_init(args);
    args->q = packed ? d->packed_q.raw : d->q.raw;
    args->k = packed ? d->packed_k.raw : d->k.raw;
    args->v = packed ? d->packed_v.raw : d->v.raw;
    args->o = d->o.raw;
    args->lse = c->with & WITH_LSE ? d->lse.raw : NULL;
    args->scores = c->scores != OCLATTN_SCORES_NONE ? d->scores.raw : NULL;
    args->score.mask = c->with & WITH_MASK ? d->mask : NULL;
    args->score.bias = c->with & WITH_BIAS ? d->bias.raw : NULL;
    args->score.bias_scale = c->with & WITH_BIAS ? d->bias_scale.raw : NULL;
    args->score.alibi_slopes = c->with & WITH_ALIBI ? d->slopes.raw : NULL;
    args->score.sinks = c->with & WITH_SINKS ? d->sinks.raw : NULL;
    args->score.q_lens = c->with & WITH_Q_LENS ? d->q_lens : NULL;
    args->score.kv_lens = c->with & WITH_KV_LENS ? d->kv_lens : NULL;
    args->score.q_starts = packed ? d->q_starts : NULL;
    args->score.kv_starts = packed ? d->kv_starts : NULL;
}

/* The largest size that scores reach on their way. */
static double largest_score(const attention_case *c, const attention_data *d) {
    double most = values_largest(&d->q) * values_largest(&d->k);
    for (int64_t i = 0; i < c->batch * c->q_heads * c->q_len * c->kv_len; i++) {
        most = isfinite(d->scaled[i]) ? fmax(most, fabs(d->scaled[i])) : most;
    }
    most += c->with & WITH_BIAS ? values_largest(&d->bias_scale) : 0;
    most += c->with & WITH_ALIBI ? values_largest(&d->slopes) * (double)(c->kv_len + c->q_len) : 0;
    return most;
}

typedef struct limits {
    double v_max, score_max, score_tolerance;
} limits;

static void compare_row(const attention_case *c, const attention_data *d, const limits *l, int64_t expected_row,
                        int64_t row, outcome *result) {
    for (int64_t x = 0; x < c->v_dim; x++) {
        const double expected = d->expected_o[expected_row * c->v_dim + x];
        const size_t at = (size_t)(row * c->v_dim + x);
        compare_one(result, "o", at, values_get(&d->o, at), expected,
                    reference_attention_tolerance(c->type, c->kv_len, c->head_dim, l->v_max, l->score_max, expected));
    }
    if (c->with & WITH_LSE) {
        compare_one(result, "lse", (size_t)row, values_get(&d->lse, (size_t)row), d->expected_lse[expected_row],
                    l->score_tolerance);
    }
}

static void compare_rows(const attention_case *c, const attention_data *d, const limits *l, outcome *result) {
    for (int64_t n = 0; n < c->batch * c->q_heads * c->q_len; n++) {
        const int64_t b = n / c->q_len / c->q_heads, h = n / c->q_len % c->q_heads, i = n % c->q_len;
        if (!(c->with & WITH_PACKED) || i < d->q_lens[b]) {
            compare_row(c, d, l, n, row_of(c, d, b, h, i), result);
        }
    }
}

/* Packed rows that belong to no entry: the first and the last of each head. */
static void check_other_rows(const attention_case *c, const attention_data *d, outcome *result) {
    const int64_t rows = c->with & WITH_PACKED ? packed_rows(c->batch, d->q_starts) : 0;
    for (int64_t h = 0; rows > 0 && h < c->q_heads; h++) {
        for (int64_t x = 0; x < c->v_dim; x++) {
            if (!values_is_untouched(&d->o, (size_t)(h * rows * c->v_dim + x)) ||
                !values_is_untouched(&d->o, (size_t)(((h + 1) * rows - 1) * c->v_dim + x))) {
                fail_test(result, "a row of o that belongs to no sequence was written");
                return;
            }
        }
    }
}

static void compare_scores(const attention_case *c, const attention_data *d, const limits *l, outcome *result) {
    for (size_t i = 0; c->scores != OCLATTN_SCORES_NONE && i < d->scores.count; i++) {
        const double expected = d->expected_scores[i];
        const double tolerance =
            c->scores == OCLATTN_PROBABILITIES
                ? reference_attention_tolerance(OCLATTN_F32, c->kv_len, c->head_dim, 1, l->score_max, expected)
                : l->score_tolerance;
        compare_one(result, "scores", i, values_get(&d->scores, i), expected, tolerance);
    }
}

static void compare(const attention_case *c, const attention_data *d, outcome *result) {
    const double score_max = largest_score(c, d);
    const limits l = {values_largest(&d->v), score_max, reference_score_tolerance(c->head_dim, score_max)};
    compare_rows(c, d, &l, result);
    check_other_rows(c, d, result);
    compare_scores(c, d, &l, result);
}

void attention_run(session *s, const attention_case *c, const char *variant, outcome *result) {
    attention_data d = {0};
    oclattn_attention_desc desc;
    oclattn_attention_host_args args;
    oclattn_error error = {0};
    if (!attention_fill(c, &d) || !attention_expect(c, &d)) {
        fail_test(result, "the host is out of memory");
        attention_free(&d);
        return;
    }
    set_desc(c, &d, variant, &desc);
    set_args(c, &d, &args);
    const oclattn_status status = oclattn_attention_host(s->context, &desc, &args, &error);
    if (status == OCLATTN_OK) {
        compare(c, &d, result);
    } else {
        take_status(result, status, &error);
    }
    attention_free(&d);
}
