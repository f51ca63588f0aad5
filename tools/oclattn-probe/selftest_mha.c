/* The self-test of F(H): projections, attention, and the way between them. */
#include <stdio.h>
#include <math.h>
#include <stdlib.h>

#include "reference/reference.h"
#include "selftest_values.h"

typedef struct mha_case {
    int64_t batch, q_len, kv_len;                                /* kv_len 0: keys come from H */
    int64_t d_model, kv_width, heads, kv_heads, head_dim, v_dim; /* 0: as in oclattn_mha_desc */
    oclattn_type w_type;
    uint32_t flags;
    bool causal;
    const char *projection, *attention;
} mha_case;

#define ALL_BIASES (OCLATTN_MHA_B_Q | OCLATTN_MHA_B_K | OCLATTN_MHA_B_V | OCLATTN_MHA_B_HEAD)

static const mha_case mha_cases[] = {
    {2, 9, 0, 48, 48, 4, 4, 12, 12, OCLATTN_F32, ALL_BIASES, true, NULL, NULL},
    {1, 11, 0, 48, 48, 6, 2, 8, 8, OCLATTN_F32, ALL_BIASES | OCLATTN_MHA_SPLIT_MERGE, false, NULL, NULL},
    {2, 5, 13, 32, 20, 4, 4, 16, 24, OCLATTN_F16, OCLATTN_MHA_CROSS | OCLATTN_MHA_WEIGHTS_OUT_IN, false, NULL, NULL},
    {1, 7, 0, 64, 64, 2, 1, 32, 32, OCLATTN_F32, OCLATTN_MHA_B_HEAD, true, "projection_portable", "attention_portable"},
};

enum { MHA_X, MHA_KV, MHA_Y, MHA_W, MHA_B = MHA_W + 4, MHA_TENSORS = MHA_B + 4 };

typedef struct mha_data {
    values t[MHA_TENSORS]; /* weights and biases in the order q, k, v, head */
    double *expected;
} mha_data;

static void mha_free(mha_data *d) {
    for (int i = 0; i < MHA_TENSORS; i++) {
        values_free(&d->t[i]);
    }
    free(d->expected);
}

static int64_t keys_of(const mha_case *c) {
    return c->kv_len > 0 ? c->kv_len : c->q_len;
}

/* Weights as small as those of a trained layer, which keeps F(H) near 1. */
static bool weight_make(values *v, oclattn_type type, int64_t in, int64_t out, uint64_t *state) {
    if (!values_random(v, type, in * out, state)) {
        return false;
    }
    for (size_t i = 0; i < v->count; i++) {
        values_set(v, i, v->real[i] / sqrt((double)in));
        v->real[i] = values_get(v, i);
    }
    return true;
}

static bool mha_fill(const mha_case *c, mha_data *d) {
    const int64_t in[4] = {c->d_model, c->kv_width, c->kv_width, c->heads * c->v_dim};
    const int64_t out[4] = {c->heads * c->head_dim, c->kv_heads * c->head_dim, c->kv_heads * c->v_dim, c->d_model};
    uint64_t state = UINT64_C(0xE7037ED1A0B428DB);
    const int64_t rows = c->batch * c->q_len * c->d_model;
    bool good = values_random(&d->t[MHA_X], OCLATTN_F32, rows, &state) &&
                values_random(&d->t[MHA_KV], OCLATTN_F32, c->batch * keys_of(c) * c->kv_width, &state) &&
                values_make(&d->t[MHA_Y], OCLATTN_F32, rows);
    for (int i = 0; good && i < 4; i++) {
        good = weight_make(&d->t[MHA_W + i], c->w_type, in[i], out[i], &state) &&
               values_random(&d->t[MHA_B + i], c->w_type, out[i], &state);
    }
    d->expected = calloc((size_t)rows, sizeof *d->expected);
    return good && d->expected;
}

/* The flags of biases follow one another in the order of the matrices. */
static bool has_bias(const mha_case *c, int i) {
    return (c->flags & (uint32_t)OCLATTN_MHA_B_Q << i) != 0;
}

static bool mha_expect(const mha_case *c, mha_data *d) {
    const double *w[4], *b[4];
    for (int i = 0; i < 4; i++) {
        w[i] = d->t[MHA_W + i].real;
        b[i] = has_bias(c, i) ? d->t[MHA_B + i].real : NULL;
    }
    const reference_mha problem = {.d_model = c->d_model,
                                   .kv_width = c->kv_width,
                                   .x = d->t[MHA_X].real,
                                   .kv = c->kv_len > 0 ? d->t[MHA_KV].real : NULL,
                                   .w_q = w[0],
                                   .w_k = w[1],
                                   .w_v = w[2],
                                   .w_head = w[3],
                                   .b_q = b[0],
                                   .b_k = b[1],
                                   .b_v = b[2],
                                   .b_head = b[3],
                                   .out_in = (c->flags & OCLATTN_MHA_WEIGHTS_OUT_IN) != 0,
                                   .attention = {.batch = c->batch,
                                                 .q_heads = c->heads,
                                                 .kv_heads = c->kv_heads,
                                                 .q_len = c->q_len,
                                                 .kv_len = keys_of(c),
                                                 .head_dim = c->head_dim,
                                                 .v_dim = c->v_dim,
                                                 .scale = 1 / sqrt((double)c->head_dim),
                                                 .causal = c->causal,
                                                 .align = OCLATTN_ALIGN_BOTTOM_RIGHT,
                                                 .window_left = -1,
                                                 .window_right = -1},
                                   .y = d->expected};
    return reference_mha_run(&problem);
}

static oclattn_status mha_compute(session *s, const mha_case *c, mha_data *d, oclattn_error *error) {
    oclattn_mha_desc desc;
    oclattn_mha_host_args args;
    oclattn_mha_desc_init(&desc);
    oclattn_mha_host_args_init(&args);
    desc.flags = c->flags;
    desc.w_type = c->w_type;
    desc.batch = c->batch;
    desc.q_len = c->q_len;
    desc.kv_len = c->kv_len > 0 ? c->kv_len : -1;
    desc.d_model = c->d_model;
    desc.kv_width = c->kv_width;
    desc.n_heads = c->heads;
    desc.n_kv_heads = c->kv_heads;
    desc.head_dim = c->head_dim;
    desc.v_dim = c->v_dim;
    desc.projection_variant = c->projection;
    desc.attention_variant = c->attention;
    desc.score.flags |= c->causal ? OCLATTN_CAUSAL : 0;
    desc.score.align = OCLATTN_ALIGN_BOTTOM_RIGHT;
    const void **const weights[4] = {&args.w_q, &args.w_k, &args.w_v, &args.w_head};
    const void **const biases[4] = {&args.b_q, &args.b_k, &args.b_v, &args.b_head};
    for (int i = 0; i < 4; i++) {
        *weights[i] = d->t[MHA_W + i].raw;
        *biases[i] = has_bias(c, i) ? d->t[MHA_B + i].raw : NULL;
    }
    args.x = d->t[MHA_X].raw;
    args.kv = c->kv_len > 0 ? d->t[MHA_KV].raw : NULL;
    args.y = d->t[MHA_Y].raw;
    return oclattn_mha_host(s->context, &desc, &args, error);
}

/* Float32 errs by some 1e-7 of the largest value at each of the stages; a head in a wrong place, by a tenth of it. */
static void mha_compare(const mha_data *d, outcome *result) {
    double largest = 0;
    for (size_t i = 0; i < d->t[MHA_Y].count; i++) {
        largest = fmax(largest, fabs(d->expected[i]));
    }
    for (size_t i = 0; i < d->t[MHA_Y].count; i++) {
        compare_one(result, "F(H)", i, values_get(&d->t[MHA_Y], i), d->expected[i], 1e-5 * largest);
    }
}

static void mha_run(session *s, const char *variant, size_t index, outcome *result) {
    const mha_case *c = &mha_cases[index];
    mha_data d = {0};
    oclattn_error error = {0};
    (void)variant;
    if (!mha_fill(c, &d) || !mha_expect(c, &d)) {
        fail_test(result, "the host is out of memory");
    } else {
        const oclattn_status status = mha_compute(s, c, &d, &error);
        if (status == OCLATTN_OK) {
            mha_compare(&d, result);
        } else {
            take_status(result, status, &error);
        }
    }
    mha_free(&d);
}

static void mha_describe(size_t index, char *words, size_t size) {
    const mha_case *c = &mha_cases[index];
    snprintf(words, size, "H [%lld, %lld, %lld], %lld heads of %lld%s%s%s%s%s", (long long)c->batch,
             (long long)c->q_len, (long long)c->d_model, (long long)c->heads, (long long)c->head_dim,
             c->kv_len > 0 ? ", other keys" : "", c->causal ? ", causal" : "",
             c->flags & OCLATTN_MHA_SPLIT_MERGE ? ", split and merge" : "",
             c->flags & OCLATTN_MHA_WEIGHTS_OUT_IN ? ", stored [out, in]" : "", c->attention ? ", portable" : "");
}

const problem_set mha_problems = {sizeof mha_cases / sizeof mha_cases[0], mha_describe, mha_run};
