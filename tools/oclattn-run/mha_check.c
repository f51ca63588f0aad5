/* How far F(H) is from what was expected, and from float64. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mha_reference.h"
#include "progress.h"

static double greatest_magnitude(const double *values, int64_t count) {
    double greatest = 0;
    for (int64_t i = 0; i < count; i++) {
        if (isfinite(values[i])) {
            greatest = fmax(greatest, fabs(values[i]));
        }
    }
    return greatest;
}

/* 2e-6, or as many digits as float32 keeps of the largest value where that is large. Storing inputs, weights and
 * results in 16 bits rounds each of them by half a unit in the last of 11 or 8 binary digits. */
static double expected_tolerance(oclattn_type type, double greatest) {
    switch (type) {
    case OCLATTN_F16:
        return 4 * 0x1p-11 * greatest;
    case OCLATTN_BF16:
        return 4 * 0x1p-8 * greatest;
    default:
        return fmax(2e-6, 4e-7 * greatest);
    }
}

void mha_compare_expected(const mha_problem *p, comparison *c) {
    const double *expected = p->expected.data;
    const int64_t count = (int64_t)p->expected.count;
    const double tolerance = expected_tolerance(p->desc.y_type, greatest_magnitude(expected, count));
    c->name = "F(H)";
    for (int64_t i = 0; i < count; i++) {
        compare_value(c, i, array_value(&p->result.array, (size_t)i), expected[i], tolerance);
    }
}

/* ---- against float64 -------------------------------------------------------------------------------------------- */

static double norm(const double *values, int64_t count, int64_t stride) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += isfinite(values[i * stride]) ? values[i * stride] * values[i * stride] : 0;
    }
    return sqrt(sum);
}

/* The norm of one column of a weight [in, out]. */
static double column_norm(const mha_reference *c, int which, int64_t in, int64_t out, int64_t column) {
    return c->out_in ? norm(c->w[which] + column * in, in, 1) : norm(c->w[which] + column, in, out);
}

static double random_sign(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 31 ? 1 : -1;
}

/* Moves each element of y = x W + b as far as float32 might: rounding products and their sums errs by about
 * 2^-24 |x| |w| if signs are random, and by a few times that if they all agree. */
static void perturb(const mha_reference *c, int which, const double *x, int64_t rows, int64_t in, int64_t out,
                    double *y) {
    uint32_t state = (uint32_t)which + 1;
    for (int64_t column = 0; column < out; column++) {
        const double w_norm = column_norm(c, which, in, out, column);
        const double bias = c->b[which] ? fabs(c->b[which][column]) : 0;
        for (int64_t row = 0; row < rows; row++) {
            y[row * out + column] += random_sign(&state) * 4 * 0x1p-24 * (norm(x + row * in, in, 1) * w_norm + bias);
        }
    }
}

static void perturb_inputs(mha_reference *c) {
    const oclattn_mha_desc *d = &c->problem->desc;
    const double *kv = c->problem->cross ? c->kv : c->x;
    const int64_t q_rows = d->batch * d->q_len, kv_rows = d->batch * c->kv_len;
    perturb(c, WEIGHT_Q, c->x, q_rows, d->d_model, d->n_heads * d->head_dim, c->q);
    perturb(c, WEIGHT_K, kv, kv_rows, d->kv_width, d->n_kv_heads * d->head_dim, c->k);
    perturb(c, WEIGHT_V, kv, kv_rows, d->kv_width, d->n_kv_heads * d->v_dim, c->v);
}

/* How far F(H) moves when Q, K and V are perturbed: how sensitive this problem is. y and merged keep their values. */
static bool sensitivity(mha_reference *c, double *greatest, failure *f) {
    const oclattn_mha_desc *d = &c->problem->desc;
    const int64_t rows = d->batch * d->q_len;
    double *const y = c->y, *const merged = c->merged;
    c->y = calloc((size_t)(rows * d->d_model + 1), sizeof *y);
    c->merged = calloc((size_t)(rows * d->n_heads * d->v_dim + 1), sizeof *y);
    bool good = c->y && c->merged ? true : fail_memory(f, "the reference");
    if (good) {
        perturb_inputs(c);
        good = mha_reference_attend(c, f);
    }
    for (int64_t i = 0; good && i < rows * d->d_model; i++) {
        const double moved = fabs(c->y[i] - y[i]);
        *greatest = isfinite(moved) ? fmax(*greatest, moved) : *greatest;
    }
    free(c->y);
    free(c->merged);
    c->y = y;
    c->merged = merged;
    return good;
}

/* The roundings that attention adds on its own: of biased scores that weigh something, of exponentials, of sums. */
static double attention_error(const mha_reference *c) {
    const oclattn_mha_desc *d = &c->problem->desc;
    const double v_max = greatest_magnitude(c->v, d->batch * c->kv_len * d->n_kv_heads * d->v_dim);
    const double score_max = d->score.flags & (OCLATTN_BIAS | OCLATTN_ALIBI) ? 40 : 0;
    return reference_attention_tolerance(OCLATTN_F32, c->kv_len, d->head_dim, v_max, score_max, 0);
}

/* Errors of a merged row's elements are independent, so W_head adds them up by its column's norm. */
static void compare_y(const mha_reference *c, double moved, comparison *result) {
    const oclattn_mha_desc *d = &c->problem->desc;
    const int64_t in = d->n_heads * d->v_dim;
    const double merged_error = attention_error(c);
    for (int64_t column = 0; column < d->d_model; column++) {
        const double w_norm = column_norm(c, WEIGHT_HEAD, in, d->d_model, column);
        const double bias = c->b[WEIGHT_HEAD] ? fabs(c->b[WEIGHT_HEAD][column]) : 0;
        for (int64_t row = 0; row < d->batch * d->q_len; row++) {
            const int64_t index = row * d->d_model + column;
            const double sum = norm(c->merged + row * in, in, 1) * w_norm + bias;
            const double tolerance =
                4 * moved + merged_error * w_norm + reference_projection_tolerance(d->y_type, in, sum, c->y[index]);
            compare_value(result, index, array_value(&c->problem->result.array, (size_t)index), c->y[index], tolerance);
        }
    }
}

static bool run_reference(mha_reference *c, double *moved, failure *f) {
    progress bar = progress_start("checking in float64, step", 3);
    mha_reference_project(c);
    progress_step(&bar, 1);
    bool good = mha_reference_attend(c, f);
    progress_step(&bar, 2);
    good = good && sensitivity(c, moved, f);
    progress_end(&bar);
    return good;
}

bool mha_check(const mha_problem *p, comparison *result, failure *f) {
    mha_reference c;
    double moved = 0;
    result->name = "F(H)";
    const bool good = mha_reference_create(&c, p, f) && run_reference(&c, &moved, f);
    if (good) {
        compare_y(&c, moved, result);
    }
    mha_reference_free(&c);
    return good;
}
