/* The self-test of attention. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/reference.h"
#include "selftest_values.h"

enum { WITH_CAUSAL = 1, WITH_MASK = 2, WITH_KV_LENS = 4, WITH_SINKS = 8 };

typedef struct attention_case {
    int64_t batch, q_heads, kv_heads, q_len, kv_len, head_dim, v_dim;
    oclattn_type type, kv_type;
    int with;
    int64_t window_left, kv_chunk;
    float softcap;
} attention_case;

static const attention_case attention_cases[] = {
    {1, 2, 2, 5, 7, 64, 64, OCLATTN_F32, OCLATTN_F32, 0, -1, 0, 0},
    {2, 4, 2, 17, 33, 40, 24, OCLATTN_F32, OCLATTN_F32, WITH_CAUSAL, -1, 0, 0},
    {1, 3, 1, 37, 130, 128, 128, OCLATTN_F32, OCLATTN_F32, WITH_MASK, -1, 0, 20},
    {1, 4, 4, 1, 300, 64, 64, OCLATTN_F32, OCLATTN_F32, 0, -1, 0, 0},
    {2, 2, 1, 9, 65, 64, 64, OCLATTN_F32, OCLATTN_F32, WITH_KV_LENS | WITH_SINKS, -1, 0, 0},
    {1, 2, 2, 70, 70, 80, 80, OCLATTN_F32, OCLATTN_F32, WITH_CAUSAL, 16, 0, 0},
    {1, 2, 2, 6, 200, 64, 64, OCLATTN_F32, OCLATTN_F32, 0, -1, 64, 0},
    {1, 2, 1, 19, 66, 64, 64, OCLATTN_F16, OCLATTN_F16, WITH_CAUSAL, -1, 0, 0},
    {1, 2, 1, 8, 41, 96, 96, OCLATTN_BF16, OCLATTN_BF16, 0, -1, 0, 0},
    {1, 1, 1, 3, 20, 300, 16, OCLATTN_F32, OCLATTN_F32, 0, -1, 0, 0},
};

typedef struct attention_data {
    values q, k, v, o, sinks;
    uint8_t *mask;
    int32_t *kv_lens;
    double *expected, *scores;
} attention_data;

static void attention_free(attention_data *d) {
    values_free(&d->q);
    values_free(&d->k);
    values_free(&d->v);
    values_free(&d->o);
    values_free(&d->sinks);
    free(d->mask);
    free(d->kv_lens);
    free(d->expected);
    free(d->scores);
}

static bool attention_fill(const attention_case *c, attention_data *d) {
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    const int64_t rows = c->batch * c->q_heads * c->q_len, keys = c->batch * c->kv_heads * c->kv_len;
    const size_t scores = (size_t)(rows * c->kv_len);
    d->mask = malloc(scores);
    d->kv_lens = malloc((size_t)c->batch * sizeof *d->kv_lens);
    d->expected = calloc((size_t)(rows * c->v_dim), sizeof *d->expected);
    d->scores = calloc(scores, sizeof *d->scores);
    if (!d->mask || !d->kv_lens || !d->expected || !d->scores ||
        !values_random(&d->q, c->type, rows * c->head_dim, &state) ||
        !values_random(&d->k, c->kv_type, keys * c->head_dim, &state) ||
        !values_random(&d->v, c->kv_type, keys * c->v_dim, &state) ||
        !values_random(&d->sinks, OCLATTN_F32, c->q_heads, &state) || !values_make(&d->o, c->type, rows * c->v_dim)) {
        return false;
    }
    for (size_t i = 0; i < scores; i++) {
        /* The first row sees no key at all. */
        d->mask[i] = i >= (size_t)c->kv_len && random_number(&state) > -0.4;
    }
    for (int64_t b = 0; b < c->batch; b++) {
        d->kv_lens[b] = (int32_t)(c->kv_len - 3 - 20 * b);
    }
    return true;
}

static void set_desc(const attention_case *c, oclattn_attention_desc *desc, const char *variant) {
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
    desc->score.softcap = c->softcap;
    desc->score.window_left = c->window_left;
    desc->score.align = OCLATTN_ALIGN_BOTTOM_RIGHT;
    desc->score.flags |= (c->with & WITH_CAUSAL ? OCLATTN_CAUSAL : 0) | (c->with & WITH_MASK ? OCLATTN_MASK : 0) |
                         (c->with & WITH_KV_LENS ? OCLATTN_KV_LENS : 0) | (c->with & WITH_SINKS ? OCLATTN_SINKS : 0);
}

static bool attention_expect(const attention_case *c, attention_data *d) {
    const reference_attention problem = {
        .batch = c->batch,
        .q_heads = c->q_heads,
        .kv_heads = c->kv_heads,
        .q_len = c->q_len,
        .kv_len = c->kv_len,
        .head_dim = c->head_dim,
        .v_dim = c->v_dim,
        .q = d->q.real,
        .k = d->k.real,
        .v = d->v.real,
        .scale = 1 / sqrt((double)c->head_dim),
        .softcap = (double)c->softcap,
        .causal = (c->with & WITH_CAUSAL) != 0,
        .align = OCLATTN_ALIGN_BOTTOM_RIGHT,
        .window_left = c->window_left,
        .window_right = -1,
        .mask = c->with & WITH_MASK ? d->mask : NULL,
        .mask_strides = {c->q_heads * c->q_len * c->kv_len, c->q_len * c->kv_len, c->kv_len, 1},
        .mask_kv_len = c->kv_len,
        .sinks = c->with & WITH_SINKS ? d->sinks.real : NULL,
        .kv_lens = c->with & WITH_KV_LENS ? d->kv_lens : NULL,
        .o = d->expected,
        .scores = d->scores,
        .scores_kind = OCLATTN_SCORES_SCALED,
    };
    return reference_attention_run(&problem);
}

static double largest_score(const attention_case *c, const attention_data *d) {
    double most = sqrt((double)c->head_dim) * values_largest(&d->q) * values_largest(&d->k) / sqrt((double)c->head_dim);
    for (int64_t i = 0; i < c->batch * c->q_heads * c->q_len * c->kv_len; i++) {
        most = isfinite(d->scores[i]) ? fmax(most, fabs(d->scores[i])) : most;
    }
    return most;
}

static void attention_compare(const attention_case *c, const attention_data *d, outcome *result) {
    const double v_max = values_largest(&d->v), score_max = largest_score(c, d);
    for (size_t i = 0; i < d->o.count; i++) {
        compare_one(result, "o", i, values_get(&d->o, i), d->expected[i],
                    reference_attention_tolerance(c->type, c->kv_len, c->head_dim, v_max, score_max, d->expected[i]));
    }
}

void attention_run(session *s, const char *variant, size_t index, outcome *result) {
    const attention_case *c = &attention_cases[index];
    attention_data d = {0};
    oclattn_attention_desc desc;
    oclattn_attention_host_args args;
    oclattn_error error = {0};
    set_desc(c, &desc, variant);
    oclattn_attention_host_args_init(&args);
    if (!attention_fill(c, &d) || !attention_expect(c, &d)) {
        fail_test(result, "the host is out of memory");
        attention_free(&d);
        return;
    }
    args.q = d.q.raw;
    args.k = d.k.raw;
    args.v = d.v.raw;
    args.o = d.o.raw;
    args.score.mask = c->with & WITH_MASK ? d.mask : NULL;
    args.score.kv_lens = c->with & WITH_KV_LENS ? d.kv_lens : NULL;
    args.score.sinks = c->with & WITH_SINKS ? d.sinks.raw : NULL;
    const oclattn_status status = oclattn_attention_host(s->context, &desc, &args, &error);
    if (status == OCLATTN_OK) {
        attention_compare(c, &d, result);
    } else {
        take_status(result, status, &error);
    }
    attention_free(&d);
}

size_t attention_count(void) {
    return sizeof attention_cases / sizeof attention_cases[0];
}

void attention_describe(size_t index, char *words, size_t size) {
    const attention_case *c = &attention_cases[index];
    char chunk[32] = "", window[32] = "";
    if (c->kv_chunk > 0) {
        snprintf(chunk, sizeof chunk, ", chunks of %lld", (long long)c->kv_chunk);
    }
    if (c->window_left >= 0) {
        snprintf(window, sizeof window, ", window %lld", (long long)c->window_left);
    }
    snprintf(words, size, "%s, q [%lld, %lld, %lld, %lld], %lld keys, v_dim %lld%s%s%s%s%s%s%s", type_word(c->type),
             (long long)c->batch, (long long)c->q_heads, (long long)c->q_len, (long long)c->head_dim,
             (long long)c->kv_len, (long long)c->v_dim, c->with & WITH_CAUSAL ? ", causal" : "",
             c->with & WITH_MASK ? ", mask" : "", c->with & WITH_KV_LENS ? ", kv_lens" : "",
             c->with & WITH_SINKS ? ", sinks" : "", c->softcap > 0 ? ", softcap" : "", window, chunk);
}
