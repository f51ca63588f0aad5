#include "mha_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool to_doubles(const host_array *array, double **values, failure *f) {
    *values = array->data ? array_doubles(array) : NULL;
    return !array->data || *values ? true : fail_memory(f, "the reference");
}

static bool load_doubles(mha_reference *c, failure *f) {
    bool good = to_doubles(&c->problem->x, &c->x, f) && to_doubles(&c->problem->kv, &c->kv, f);
    for (int which = 0; good && which < WEIGHT_COUNT; which++) {
        good = to_doubles(&c->problem->w[which], &c->w[which], f) && to_doubles(&c->problem->b[which], &c->b[which], f);
    }
    return good;
}

static double *new_doubles(int64_t a, int64_t b, int64_t c) {
    return calloc((size_t)(a * b * c + 1), sizeof(double));
}

static bool make_memory(mha_reference *c, failure *f) {
    const oclattn_mha_desc *d = &c->problem->desc;
    const int64_t q_rows = d->batch * d->q_len, kv_rows = d->batch * c->kv_len;
    double **all[] = {&c->q, &c->k, &c->v, &c->heads[0], &c->heads[1], &c->heads[2], &c->o, &c->merged, &c->y};
    const int64_t rows[] = {q_rows, kv_rows, kv_rows, q_rows, kv_rows, kv_rows, q_rows, q_rows, q_rows};
    const int64_t heads[] = {d->n_heads,    d->n_kv_heads, d->n_kv_heads, d->n_heads, d->n_kv_heads,
                             d->n_kv_heads, d->n_heads,    d->n_heads,    1};
    const int64_t widths[] = {d->head_dim, d->head_dim, d->v_dim, d->head_dim, d->head_dim,
                              d->v_dim,    d->v_dim,    d->v_dim, d->d_model};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        *all[i] = new_doubles(rows[i], heads[i], widths[i]);
        if (!*all[i]) {
            return fail_memory(f, "the reference");
        }
    }
    return true;
}

/* [batch, rows, heads, width] to [batch, heads, rows, width], or back. */
static void move_heads(int64_t batch, int64_t rows, int64_t heads, int64_t width, double *packed, double *split,
                       bool back) {
    for (int64_t n = 0; n < batch * heads * rows; n++) {
        const int64_t b = n / (heads * rows), h = n / rows % heads, i = n % rows;
        double *in_packed = packed + ((b * rows + i) * heads + h) * width;
        double *in_split = split + n * width;
        memcpy(back ? in_packed : in_split, back ? in_split : in_packed, (size_t)width * sizeof *packed);
    }
}

static void project(const mha_reference *c, int which, const double *from, double *to) {
    const oclattn_mha_desc *d = &c->problem->desc;
    const int64_t rows = d->batch * (which == WEIGHT_K || which == WEIGHT_V ? c->kv_len : d->q_len);
    const int64_t in[] = {d->d_model, d->kv_width, d->kv_width, d->n_heads * d->v_dim};
    const int64_t out[] = {d->n_heads * d->head_dim, d->n_kv_heads * d->head_dim, d->n_kv_heads * d->v_dim, d->d_model};
    reference_projection(rows, in[which], out[which], from, c->w[which], c->out_in, c->b[which], to);
}

static bool describe_attention(mha_reference *c, failure *f) {
    const oclattn_mha_desc *d = &c->problem->desc;
    const bool default_scale = (d->score.flags & OCLATTN_DEFAULT_SCALE) != 0;
    c->attention =
        (reference_attention){.batch = d->batch,
                              .q_heads = d->n_heads,
                              .kv_heads = d->n_kv_heads,
                              .q_len = d->q_len,
                              .kv_len = c->kv_len,
                              .head_dim = d->head_dim,
                              .v_dim = d->v_dim,
                              .scale = default_scale ? 1 / sqrt((double)d->head_dim) : (double)d->score.scale,
                              .q = c->heads[0],
                              .k = c->heads[1],
                              .v = c->heads[2],
                              .o = c->o};
    return score_reference(&d->score, &c->problem->score, &c->doubles, &c->attention, f);
}

bool mha_reference_create(mha_reference *c, const mha_problem *problem, failure *f) {
    *c = (mha_reference){.problem = problem, .kv_len = problem->cross ? problem->desc.kv_len : problem->desc.q_len};
    c->out_in = (problem->desc.flags & OCLATTN_MHA_WEIGHTS_OUT_IN) != 0;
    return load_doubles(c, f) && make_memory(c, f) && describe_attention(c, f);
}

void mha_reference_project(mha_reference *c) {
    const double *kv = c->problem->cross ? c->kv : c->x;
    project(c, WEIGHT_Q, c->x, c->q);
    project(c, WEIGHT_K, kv, c->k);
    project(c, WEIGHT_V, kv, c->v);
}

bool mha_reference_attend(mha_reference *c, failure *f) {
    const oclattn_mha_desc *d = &c->problem->desc;
    move_heads(d->batch, d->q_len, d->n_heads, d->head_dim, c->q, c->heads[0], false);
    move_heads(d->batch, c->kv_len, d->n_kv_heads, d->head_dim, c->k, c->heads[1], false);
    move_heads(d->batch, c->kv_len, d->n_kv_heads, d->v_dim, c->v, c->heads[2], false);
    if (!reference_attention_run(&c->attention)) {
        return fail_memory(f, "the reference");
    }
    move_heads(d->batch, d->q_len, d->n_heads, d->v_dim, c->merged, c->o, true);
    project(c, WEIGHT_HEAD, c->merged, c->y);
    return true;
}

void mha_reference_free(mha_reference *c) {
    double *all[] = {c->x, c->kv, c->q, c->k, c->v, c->heads[0], c->heads[1], c->heads[2], c->o, c->merged, c->y};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
    for (int which = 0; which < WEIGHT_COUNT; which++) {
        free(c->w[which]);
        free(c->b[which]);
    }
    score_doubles_free(&c->doubles);
}
