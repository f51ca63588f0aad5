#include "problem.h"

#include <math.h>
#include <reference.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One batch entry, in the places where its rows lie: with packed rows all entries lie in batch 0. */
typedef struct entry {
    int64_t b, q_batch, q_start, q_count, kv_batch, kv_start, kv_count;
} entry;

/* What the reference says of one entry; arrays as in reference.h with a batch of 1. */
typedef struct expectation {
    reference_attention run; /* owns its arrays */
    double *biased;          /* scores of step 4 */
    uint8_t *mask;
    int32_t q_len, kv_len, offset;
} expectation;

static int64_t clamp(int64_t value, int64_t most) {
    return value < 0 ? 0 : value < most ? value : most;
}

static entry entry_at(const problem *p, int64_t b) {
    entry e = {.b = b, .q_batch = b, .q_count = problem_q_len(p), .kv_batch = b, .kv_count = problem_kv_len(p)};
    if (p->q_starts.memory) {
        e.q_batch = 0;
        e.q_start = (int64_t)view_get(&p->q_starts, b, 0, 0, 0);
        e.q_count = clamp((int64_t)view_get(&p->q_starts, b + 1, 0, 0, 0) - e.q_start, e.q_count);
    }
    if (p->kv_starts.memory) {
        e.kv_batch = 0;
        e.kv_start = (int64_t)view_get(&p->kv_starts, b, 0, 0, 0);
        e.kv_count = clamp((int64_t)view_get(&p->kv_starts, b + 1, 0, 0, 0) - e.kv_start, e.kv_count);
    }
    return e;
}

/* ---- from guarded tensors to the reference's arrays ------------------------------------------------------------- */

static double *new_values(int64_t count) {
    return must_allocate((size_t)count * sizeof(double));
}

/* [heads, count, dim] of rows start... of one batch entry. */
static double *gather(const view *tensor, int64_t batch, int64_t start, int64_t count, int64_t dim) {
    double *values = new_values(tensor->shape[1] * count * dim);
    double *to = values;
    for (int64_t h = 0; h < tensor->shape[1]; h++) {
        for (int64_t i = 0; i < count; i++) {
            for (int64_t d = 0; d < dim; d++) {
                *to++ = view_get(tensor, batch, h, start + i, d);
            }
        }
    }
    return values;
}

static double *gather_line(const view *tensor) {
    if (!tensor->memory) {
        return NULL;
    }
    double *values = new_values(tensor->shape[0]);
    for (int64_t i = 0; i < tensor->shape[0]; i++) {
        values[i] = view_get(tensor, i, 0, 0, 0);
    }
    return values;
}

static void packed_strides(const problem *p, int64_t rows, int64_t kv_len, int64_t strides[4]) {
    const int64_t shape[4] = {1, p->desc.q_heads, rows, kv_len};
    contiguous_strides(shape, strides);
}

static void expect_mask_and_bias(const problem *p, const entry *e, expectation *x) {
    if (p->mask.memory) {
        const int64_t kv_len = p->mask.shape[3];
        double *values = gather(&p->mask, e->b, 0, e->q_count, kv_len);
        const int64_t count = p->desc.q_heads * e->q_count * kv_len;
        x->mask = must_allocate((size_t)count);
        for (int64_t i = 0; i < count; i++) {
            x->mask[i] = values[i] != 0;
        }
        free(values);
        x->run.mask = x->mask;
        x->run.mask_kv_len = kv_len;
        packed_strides(p, e->q_count, kv_len, x->run.mask_strides);
    }
    if (p->bias.memory) {
        x->run.bias = gather(&p->bias, e->b, 0, e->q_count, p->bias.shape[3]);
        x->run.bias_kv_len = p->bias.shape[3];
        packed_strides(p, e->q_count, p->bias.shape[3], x->run.bias_strides);
    }
}

static int32_t integer_at(const view *tensor, int64_t index) {
    return tensor->memory ? (int32_t)view_get(tensor, index, 0, 0, 0) : 0;
}

static void expect_options(const problem *p, const entry *e, expectation *x) {
    const oclattn_score_options *s = &p->desc.score;
    reference_attention *run = &x->run;
    run->scale = s->flags & OCLATTN_DEFAULT_SCALE ? 1 / sqrt((double)p->desc.head_dim) : (double)s->scale;
    run->softcap = (double)s->softcap;
    run->causal = s->flags & OCLATTN_CAUSAL;
    run->align = s->align;
    run->window_left = s->window_left;
    run->window_right = s->window_right;
    x->q_len = integer_at(&p->q_lens, e->b);
    x->kv_len = integer_at(&p->kv_lens, e->b);
    x->offset = integer_at(&p->offsets, e->b);
    run->q_lens = p->q_lens.memory ? &x->q_len : NULL;
    run->kv_lens = p->kv_lens.memory ? &x->kv_len : NULL;
    run->offsets = p->offsets.memory ? &x->offset : NULL;
    run->bias_scale = gather_line(&p->bias_scale);
    run->alibi_slopes = gather_line(&p->alibi_slopes);
    run->sinks = gather_line(&p->sinks);
    expect_mask_and_bias(p, e, x);
}

/* Runs the reference twice where the problem asks for other scores than those of step 4, which tolerances need. */
static void expect_entry(const problem *p, const entry *e, expectation *x) {
    const oclattn_attention_desc *d = &p->desc;
    reference_attention *run = &x->run;
    memset(x, 0, sizeof *x);
    *run = (reference_attention){.batch = 1,
                                 .q_heads = d->q_heads,
                                 .kv_heads = d->kv_heads,
                                 .q_len = e->q_count,
                                 .kv_len = e->kv_count,
                                 .head_dim = d->head_dim,
                                 .v_dim = d->v_dim};
    run->q = gather(&p->q, e->q_batch, e->q_start, e->q_count, d->head_dim);
    run->k = gather(&p->k, e->kv_batch, e->kv_start, e->kv_count, d->head_dim);
    run->v = gather(&p->v, e->kv_batch, e->kv_start, e->kv_count, d->v_dim);
    run->o = new_values(d->q_heads * e->q_count * d->v_dim);
    run->lse = new_values(d->q_heads * e->q_count);
    expect_options(p, e, x);
    x->biased = new_values(d->q_heads * e->q_count * e->kv_count);
    run->scores = x->biased;
    run->scores_kind = OCLATTN_SCORES_BIASED;
    assert_true(reference_attention_run(run));
    if (d->scores_kind != OCLATTN_SCORES_NONE && d->scores_kind != OCLATTN_SCORES_BIASED) {
        run->scores = new_values(d->q_heads * e->q_count * e->kv_count);
        run->scores_kind = d->scores_kind;
        assert_true(reference_attention_run(run));
    }
}

static void expectation_clear(expectation *x) {
    reference_attention *run = &x->run;
    const void *const arrays[] = {run->q,     run->k,    run->v,          run->o,
                                  run->lse,   run->bias, run->bias_scale, run->alibi_slopes,
                                  run->sinks, x->biased, x->mask};
    if (run->scores != x->biased) {
        free(run->scores);
    }
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free((void *)(uintptr_t)arrays[i]);
    }
}

/* ---- tolerance -------------------------------------------------------------------------------------------------- */

static double greatest_size(const double *values, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        if (isfinite(values[i])) {
            most = fmax(most, fabs(values[i]));
        }
    }
    return most;
}

/* The score_max of reference.h for one row, from its scores of step 4. */
static double score_size(const reference_attention *run, const double *biased, double typical) {
    double greatest = -INFINITY;
    double size = typical;
    for (int64_t j = 0; j < run->kv_len; j++) {
        greatest = isfinite(biased[j]) ? fmax(greatest, biased[j]) : greatest;
    }
    for (int64_t j = 0; j < run->kv_len; j++) {
        if (isfinite(biased[j]) && biased[j] >= greatest - 150) {
            size = fmax(size, fabs(biased[j]));
        }
    }
    return size;
}

/* ---- comparison ------------------------------------------------------------------------------------------------- */

static bool is_close(double got, double expected, double tolerance) {
    if (isnan(expected)) {
        return isnan(got);
    }
    return isfinite(expected) ? fabs(got - expected) <= tolerance : got == expected;
}

/* Compares one element and marks it as one that had to be written. */
static bool compare(const view *tensor, const char *name, const int64_t at[4], double expected, double tolerance,
                    char *message) {
    const int64_t address = view_address(tensor, at[0], at[1], at[2], at[3]);
    const double got = view_result(tensor, at[0], at[1], at[2], at[3]);
    tensor->memory->written[address] = 1;
    if (is_close(got, expected, tolerance) && !storage_is_untouched(tensor->memory, address)) {
        return true;
    }
    snprintf(message, PROBLEM_MESSAGE_SIZE, "%s[%lld, %lld, %lld, %lld] is %.9g%s, expected %.9g +- %.3g", name,
             (long long)at[0], (long long)at[1], (long long)at[2], (long long)at[3], got,
             storage_is_untouched(tensor->memory, address) ? " (not written)" : "", expected, tolerance);
    return false;
}

static double score_tolerance(const reference_attention *run, double size, double expected) {
    if (run->scores_kind == OCLATTN_PROBABILITIES) {
        return reference_attention_tolerance(OCLATTN_F32, run->kv_len, run->head_dim, 1, size, expected);
    }
    return reference_score_tolerance(run->head_dim, fmax(size, isfinite(expected) ? fabs(expected) : 0));
}

static bool check_scores(const problem *p, const entry *e, const reference_attention *run, const int64_t place[2],
                         double size, char *message) {
    const int64_t h = place[0];
    const int64_t i = place[1];
    for (int64_t j = 0; j < run->kv_len; j++) {
        const double expected = run->scores[(h * run->q_len + i) * run->kv_len + j];
        if (!compare(&p->scores, "scores", (const int64_t[4]){e->b, h, i, j}, expected,
                     score_tolerance(run, size, expected), message)) {
            return false;
        }
    }
    return true;
}

static bool check_row(const problem *p, const entry *e, const expectation *x, int64_t h, int64_t i, char *message) {
    const reference_attention *run = &x->run;
    const int64_t index = h * run->q_len + i;
    const int64_t kv_head = h / (run->q_heads / run->kv_heads);
    const int64_t row = e->q_start + i;
    const double q_max = greatest_size(run->q + index * run->head_dim, run->head_dim);
    const double k_max = greatest_size(run->k + kv_head * run->kv_len * run->head_dim, run->kv_len * run->head_dim);
    const double v_max = greatest_size(run->v + kv_head * run->kv_len * run->v_dim, run->kv_len * run->v_dim);
    const double typical = fabs(run->scale) * sqrt((double)run->head_dim) * q_max * k_max;
    const double size = score_size(run, x->biased + index * run->kv_len, typical);
    for (int64_t d = 0; d < run->v_dim; d++) {
        const double expected = run->o[index * run->v_dim + d];
        const double tolerance =
            reference_attention_tolerance(p->desc.o_type, run->kv_len, run->head_dim, v_max, size, expected);
        if (!compare(&p->o, "o", (const int64_t[4]){e->q_batch, h, row, d}, expected, tolerance, message)) {
            return false;
        }
    }
    if (p->lse.memory) {
        const double tolerance =
            reference_score_tolerance(run->head_dim, fmax(size, fabs(log((double)run->kv_len + 1))));
        if (!compare(&p->lse, "lse", (const int64_t[4]){e->q_batch, h, row, 0}, run->lse[index], tolerance, message)) {
            return false;
        }
    }
    return !p->scores.memory || check_scores(p, e, run, (const int64_t[2]){h, i}, size, message);
}

/* With packed rows the scores beyond an entry's rows and keys may be written or not: no row of q or k belongs to them.
 */
static void free_unowned_scores(const problem *p, const entry *e) {
    if (!p->scores.memory || !(p->q_starts.memory || p->kv_starts.memory)) {
        return;
    }
    for (int64_t h = 0; h < p->desc.q_heads; h++) {
        for (int64_t i = 0; i < problem_q_len(p); i++) {
            for (int64_t j = 0; j < problem_kv_len(p); j++) {
                if (i >= e->q_count || j >= e->kv_count) {
                    p->scores.memory->written[view_address(&p->scores, e->b, h, i, j)] = 1;
                }
            }
        }
    }
}

static bool check_entry(const problem *p, const entry *e, char *message) {
    expectation x;
    bool right = true;
    expect_entry(p, e, &x);
    for (int64_t h = 0; right && h < p->desc.q_heads; h++) {
        for (int64_t i = 0; right && i < e->q_count; i++) {
            right = check_row(p, e, &x, h, i, message);
        }
    }
    free_unowned_scores(p, e);
    expectation_clear(&x);
    return right;
}

static bool check_damage(const view *tensor, const char *name, char *message) {
    const char *damage = tensor->memory ? storage_damage(tensor->memory) : NULL;
    if (damage) {
        snprintf(message, PROBLEM_MESSAGE_SIZE, "%s: %s", name, damage);
    }
    return !damage;
}

bool problem_check(problem *p, char message[PROBLEM_MESSAGE_SIZE]) {
    for (int64_t b = 0; b < p->desc.batch; b++) {
        const entry e = entry_at(p, b);
        if (!check_entry(p, &e, message)) {
            return false;
        }
    }
    return check_damage(&p->q, "q", message) && check_damage(&p->k, "k", message) &&
           check_damage(&p->v, "v", message) && check_damage(&p->o, "o", message) &&
           check_damage(&p->lse, "lse", message) && check_damage(&p->scores, "scores", message) &&
           check_damage(&p->mask, "mask", message) && check_damage(&p->bias, "bias", message) &&
           check_damage(&p->bias_scale, "bias_scale", message) &&
           check_damage(&p->alibi_slopes, "alibi_slopes", message) && check_damage(&p->sinks, "sinks", message) &&
           check_damage(&p->q_lens, "q_lens", message) && check_damage(&p->kv_lens, "kv_lens", message) &&
           check_damage(&p->q_starts, "q_starts", message) && check_damage(&p->kv_starts, "kv_starts", message) &&
           check_damage(&p->offsets, "offsets", message);
}

/* ---- expected values -------------------------------------------------------------------------------------------- */

static void assert_value(const problem *p, int64_t index, double got, double expected) {
    const double step = p->desc.o_type == OCLATTN_F32 ? 0 : 0.5 * reference_ulp(p->desc.o_type, expected);
    if (!is_close(got, expected, 1e-6 * fmax(1, fabs(expected)) + step)) {
        fail_msg("o: element %lld is %.9g, expected %.9g", (long long)index, got, expected);
    }
}

void assert_o(const problem *p, const double *expected) {
    double *got = view_results(&p->o);
    for (int64_t i = 0; i < view_count(&p->o); i++) {
        assert_value(p, i, got[i], expected[i]);
    }
    free(got);
}

void assert_o_all(const problem *p, double expected) {
    double *got = view_results(&p->o);
    for (int64_t i = 0; i < view_count(&p->o); i++) {
        assert_value(p, i, got[i], expected);
    }
    free(got);
}

void assert_result(problem *p, const double *expected) {
    oclattn_error error;
    assert_ok(problem_run(p, &error), &error);
    assert_o(p, expected);
}

void assert_result_all(problem *p, double expected) {
    oclattn_error error;
    assert_ok(problem_run(p, &error), &error);
    assert_o_all(p, expected);
}
