/* The data of attention's problems, and what float64 makes of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "selftest_attention.h"

void attention_free(attention_data *d) {
    values *const all[] = {&d->q,        &d->k,        &d->v,        &d->bias, &d->bias_scale, &d->slopes, &d->sinks,
                           &d->packed_q, &d->packed_k, &d->packed_v, &d->o,    &d->lse,        &d->scores};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        values_free(all[i]);
    }
    free(d->mask);
    free(d->q_lens);
    free(d->kv_lens);
    free(d->q_starts);
    free(d->kv_starts);
    free(d->expected_o);
    free(d->expected_lse);
    free(d->expected_scores);
    free(d->scaled);
}

int64_t packed_rows(int64_t batch, const int32_t *starts) {
    return starts[batch] + 1;
}

int64_t row_of(const attention_case *c, const attention_data *d, int64_t b, int64_t h, int64_t i) {
    return c->with & WITH_PACKED ? h * packed_rows(c->batch, d->q_starts) + d->q_starts[b] + i
                                 : (b * c->q_heads + h) * c->q_len + i;
}

static bool make_lengths(const attention_case *c, attention_data *d) {
    const size_t entries = (size_t)c->batch + 1;
    int32_t **const all[] = {&d->q_lens, &d->kv_lens, &d->q_starts, &d->kv_starts};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        *all[i] = calloc(entries, sizeof **all[i]);
        if (!*all[i]) {
            return false;
        }
    }
    d->q_starts[0] = d->kv_starts[0] = 1;
    for (int64_t b = 0; b < c->batch; b++) {
        d->q_lens[b] = (int32_t)(c->q_len - 3 * b);
        d->kv_lens[b] = (int32_t)(c->kv_len - 3 - 20 * b);
        d->q_starts[b + 1] = d->q_starts[b] + d->q_lens[b];
        d->kv_starts[b + 1] = d->kv_starts[b] + d->kv_lens[b];
    }
    return true;
}

/* The rows that exist, of [batch, heads, rows, width] to [heads, all rows, width]. */
static bool pack(const values *from, int64_t batch, int64_t heads, int64_t rows, int64_t width, const int32_t *starts,
                 values *to) {
    const int64_t all = packed_rows(batch, starts);
    if (!values_make(to, from->type, heads * all * width)) {
        return false;
    }
    for (int64_t n = 0; n < batch * heads; n++) {
        const int64_t b = n / heads, h = n % heads;
        values_copy(to, (size_t)((h * all + starts[b]) * width), from, (size_t)(n * rows * width),
                    (size_t)((starts[b + 1] - starts[b]) * width));
    }
    return true;
}

static bool pack_inputs(const attention_case *c, attention_data *d) {
    return pack(&d->q, c->batch, c->q_heads, c->q_len, c->head_dim, d->q_starts, &d->packed_q) &&
           pack(&d->k, c->batch, c->kv_heads, c->kv_len, c->head_dim, d->kv_starts, &d->packed_k) &&
           pack(&d->v, c->batch, c->kv_heads, c->kv_len, c->v_dim, d->kv_starts, &d->packed_v);
}

static bool make_outputs(const attention_case *c, attention_data *d) {
    const int64_t rows =
        c->with & WITH_PACKED ? c->q_heads * packed_rows(c->batch, d->q_starts) : c->batch * c->q_heads * c->q_len;
    const int64_t all = c->batch * c->q_heads * c->q_len;
    d->expected_o = calloc((size_t)(all * c->v_dim), sizeof(double));
    d->expected_lse = calloc((size_t)all, sizeof(double));
    d->expected_scores = calloc((size_t)(all * c->kv_len), sizeof(double));
    d->scaled = calloc((size_t)(all * c->kv_len), sizeof(double));
    return d->expected_o && d->expected_lse && d->expected_scores && d->scaled &&
           values_make(&d->o, c->type, rows * c->v_dim) && values_make(&d->lse, OCLATTN_F32, rows) &&
           values_make(&d->scores, OCLATTN_F32, all * c->kv_len);
}

static bool make_inputs(const attention_case *c, attention_data *d, uint64_t *state) {
    const int64_t rows = c->batch * c->q_heads * c->q_len, keys = c->batch * c->kv_heads * c->kv_len;
    d->mask = malloc((size_t)(rows * c->kv_len));
    return d->mask && values_random(&d->q, c->type, rows * c->head_dim, state) &&
           values_random(&d->k, c->kv_type, keys * c->head_dim, state) &&
           values_random(&d->v, c->kv_type, keys * c->v_dim, state) &&
           values_random(&d->bias, OCLATTN_F32, rows * c->kv_len, state) &&
           values_random(&d->bias_scale, OCLATTN_F32, c->q_heads, state) &&
           values_random(&d->slopes, OCLATTN_F32, c->q_heads, state) &&
           values_random(&d->sinks, OCLATTN_F32, c->q_heads, state);
}

bool attention_fill(const attention_case *c, attention_data *d) {
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    if (!make_lengths(c, d) || !make_inputs(c, d, &state) || !make_outputs(c, d)) {
        return false;
    }
    for (int64_t i = 0; i < c->batch * c->q_heads * c->q_len * c->kv_len; i++) {
        /* The first row sees no key at all. */
        d->mask[i] = i >= c->kv_len && random_number(&state) > -0.4;
        if (random_number(&state) > 0.9) {
            values_set(&d->bias, (size_t)i, -(double)INFINITY);
            d->bias.real[i] = -(double)INFINITY;
        }
    }
    return !(c->with & WITH_PACKED) || pack_inputs(c, d);
}

static reference_attention reference_of(const attention_case *c, const attention_data *d) {
    const int64_t strides[4] = {c->q_heads * c->q_len * c->kv_len, c->q_len * c->kv_len, c->kv_len, 1};
    reference_attention r = {.batch = c->batch,
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
                             .window_left = c->window_left > 0 ? c->window_left : -1,
                             .window_right = -1,
                             .mask = c->with & WITH_MASK ? d->mask : NULL,
                             .mask_kv_len = c->kv_len,
                             .bias = c->with & WITH_BIAS ? d->bias.real : NULL,
                             .bias_kv_len = c->kv_len,
                             .bias_scale = c->with & WITH_BIAS ? d->bias_scale.real : NULL,
                             .alibi_slopes = c->with & WITH_ALIBI ? d->slopes.real : NULL,
                             .sinks = c->with & WITH_SINKS ? d->sinks.real : NULL,
                             .q_lens = c->with & (WITH_Q_LENS | WITH_PACKED) ? d->q_lens : NULL,
                             .kv_lens = c->with & (WITH_KV_LENS | WITH_PACKED) ? d->kv_lens : NULL};
    memcpy(r.mask_strides, strides, sizeof strides);
    memcpy(r.bias_strides, strides, sizeof strides);
    return r;
}

bool attention_expect(const attention_case *c, attention_data *d) {
    reference_attention r = reference_of(c, d);
    r.scores = d->scaled;
    r.scores_kind = OCLATTN_SCORES_SCALED;
    if (!reference_attention_run(&r)) {
        return false;
    }
    r.o = d->expected_o;
    r.lse = d->expected_lse;
    r.scores = c->scores != OCLATTN_SCORES_NONE ? d->expected_scores : NULL;
    r.scores_kind = c->scores;
    return reference_attention_run(&r);
}
