/* Layers and projections. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference/reference.h"

/* Multiplications of the reference, about a second's worth. */
static const double most_work = 1e9;

/* ---- F(H) ------------------------------------------------------------------------------------------------------- */

enum { W_Q, W_K, W_V, W_HEAD, B_Q, B_K, B_V, B_HEAD, WEIGHTS };

typedef struct layer {
    double *weights[WEIGHTS];
    double *x, *y, *got;
} layer;

static bool load_weights(const prepared *r, layer *l, failure *f) {
    const bench_problem *p = r->problem;
    const oclattn_mha_weights_args *w = &r->mha_weights;
    const cl_mem buffers[WEIGHTS] = {w->w_q.buffer, w->w_k.buffer, w->w_v.buffer, w->w_head.buffer,
                                     w->b_q.buffer, w->b_k.buffer, w->b_v.buffer, w->b_head.buffer};
    const int64_t q = p->q_heads * p->head_dim, k = p->kv_heads * p->head_dim, v = p->kv_heads * p->v_dim;
    const int64_t d = p->d_model;
    const int64_t counts[WEIGHTS] = {d * q, d * k, d * v, p->q_heads * p->v_dim * d, q, k, v, d};
    for (int i = 0; i < WEIGHTS; i++) {
        l->weights[i] = device_read(r->device, buffers[i], p->type, 0, counts[i], f);
        if (!l->weights[i]) {
            return false;
        }
    }
    return true;
}

/* As cross attention of the last `rows` rows of a sequence to all of it, which is the same. */
static bool run_reference(const bench_problem *p, const layer *l, int64_t rows, failure *f) {
    const int64_t first = p->q_len - rows;
    const int32_t offset = (int32_t)first;
    double *const *w = l->weights;
    const reference_mha reference = {.d_model = p->d_model,
                                     .kv_width = p->d_model,
                                     .x = l->x + first * p->d_model,
                                     .kv = l->x,
                                     .w_q = w[W_Q],
                                     .w_k = w[W_K],
                                     .w_v = w[W_V],
                                     .w_head = w[W_HEAD],
                                     .b_q = w[B_Q],
                                     .b_k = w[B_K],
                                     .b_v = w[B_V],
                                     .b_head = w[B_HEAD],
                                     .out_in = true,
                                     .attention = {.batch = 1,
                                                   .q_heads = p->q_heads,
                                                   .kv_heads = p->kv_heads,
                                                   .q_len = rows,
                                                   .kv_len = p->kv_len,
                                                   .head_dim = p->head_dim,
                                                   .v_dim = p->v_dim,
                                                   .scale = 1 / sqrt((double)p->head_dim),
                                                   .causal = p->causal,
                                                   .align = OCLATTN_ALIGN_OFFSET,
                                                   .offsets = &offset,
                                                   .window_left = p->window_left,
                                                   .window_right = p->window_right},
                                     .y = l->y};
    return reference_mha_run(&reference) ? true : fail_memory(f, "the reference");
}

/* Four sums in a row over values of about size 1, each erring as reference_projection_tolerance says. Magnitudes add up
 * to sqrt(width) times a result's size, of which random signs leave a part; a quarter of it holds with room to spare.
 */
static void compare_layer(const bench_problem *p, const layer *l, int64_t rows, check_verdict *verdict) {
    const double merged = (double)(p->q_heads * p->v_dim);
    const double width = fmax((double)p->d_model, merged);
    const double magnitude = fmax(1, greatest_size(l->y, rows * p->d_model)) * (2 + sqrt(width) / 4);
    const double sums = 4 * reference_projection_tolerance(OCLATTN_F32, (int64_t)width + p->kv_len, magnitude, 0);
    for (int64_t i = 0; i < rows * p->d_model; i++) {
        check_value(verdict, l->got[i], l->y[i], sums + reference_projection_tolerance(p->type, 1, 0, l->y[i]));
    }
}

/* The last rows, which see the most where the problem is causal, of batch entry b. */
static bool check_entry(const prepared *r, layer *l, int64_t b, int64_t rows, check_verdict *verdict, failure *f) {
    const bench_problem *p = r->problem;
    const int64_t start = b * p->q_len, first = start + p->q_len - rows;
    l->x = device_read(r->device, r->mha.x.buffer, p->type, start * p->d_model, p->q_len * p->d_model, f);
    l->got = device_read(r->device, r->output.buffer, p->type, first * p->d_model, rows * p->d_model, f);
    l->y = malloc((size_t)(rows * p->d_model) * sizeof *l->y);
    bool good = l->x && l->got && (l->y ? true : fail_memory(f, "the reference")) && run_reference(p, l, rows, f);
    if (good) {
        compare_layer(p, l, rows, verdict);
    }
    free(l->x);
    free(l->got);
    free(l->y);
    return good;
}

static void describe_entries(const bench_problem *p, int64_t entries, int64_t rows, check_verdict *verdict) {
    verdict->rows = entries * rows;
    verdict->all_rows = p->batch * p->q_len;
    if (verdict->rows == verdict->all_rows) {
        snprintf(verdict->which, sizeof verdict->which, "all rows");
    } else {
        snprintf(verdict->which, sizeof verdict->which, "the last %lld rows of %s", (long long)rows,
                 entries == p->batch ? "every sequence"
                 : entries == 1      ? "the last sequence"
                                     : "the first and the last sequence");
    }
}

bool check_layer(const prepared *r, check_verdict *verdict, failure *f) {
    enum { FEW_ROWS = 32 };
    const bench_problem *p = r->problem;
    const bool whole = problem_flop(p) / 2 <= most_work;
    const int64_t rows = whole || p->q_len < FEW_ROWS ? p->q_len : FEW_ROWS;
    const int64_t entries = whole ? p->batch : p->batch < 2 ? p->batch : 2;
    layer l = {.x = NULL};
    bool good = load_weights(r, &l, f);
    for (int64_t n = 0; good && n < entries; n++) {
        const int64_t b = n + 1 == entries ? p->batch - 1 : n;
        good = check_entry(r, &l, b, rows, verdict, f);
    }
    for (int i = 0; i < WEIGHTS; i++) {
        free(l.weights[i]);
    }
    describe_entries(p, entries, rows, verdict);
    return good;
}

/* ---- projections ------------------------------------------------------------------------------------------------ */

static double sum_of_magnitudes(const double *x, const double *w, int64_t in, double bias) {
    double sum = fabs(bias);
    for (int64_t i = 0; i < in; i++) {
        sum += fabs(x[i] * w[i]);
    }
    return sum;
}

static void compare_projection(const bench_problem *p, int64_t rows, const double *x, const double *w, const double *b,
                               const double *y, const double *got, check_verdict *verdict) {
    for (int64_t i = 0; i < rows * p->out_dim; i++) {
        const int64_t row = i / p->out_dim, out = i % p->out_dim;
        const double sum = sum_of_magnitudes(x + row * p->in_dim, w + out * p->in_dim, p->in_dim, b[out]);
        check_value(verdict, got[i], y[i], reference_projection_tolerance(p->type, p->in_dim, sum, y[i]));
    }
}

static int64_t rows_to_check(const bench_problem *p) {
    const double fitting = most_work / 2 / ((double)p->in_dim * (double)p->out_dim);
    return fitting < 1 ? 1 : fitting < (double)p->rows ? (int64_t)fitting : p->rows;
}

bool check_projection(const prepared *r, check_verdict *verdict, failure *f) {
    const bench_problem *p = r->problem;
    const int64_t rows = rows_to_check(p), first = p->rows - rows;
    double *x = device_read(r->device, r->projection.x.buffer, p->type, first * p->in_dim, rows * p->in_dim, f);
    double *w = device_read(r->device, r->w.buffer, p->type, 0, p->in_dim * p->out_dim, f);
    double *b = device_read(r->device, r->b.buffer, p->type, 0, p->out_dim, f);
    double *got = device_read(r->device, r->output.buffer, p->type, first * p->out_dim, rows * p->out_dim, f);
    double *y = malloc((size_t)(rows * p->out_dim) * sizeof *y);
    const bool good = x && w && b && got && (y ? true : fail_memory(f, "the reference"));
    if (good) {
        reference_projection(rows, p->in_dim, p->out_dim, x, w, true, b, y);
        compare_projection(p, rows, x, w, b, y, got, verdict);
    }
    verdict->rows = rows;
    verdict->all_rows = p->rows;
    snprintf(verdict->which, sizeof verdict->which, rows == p->rows ? "all rows" : "the last %lld rows",
             (long long)rows);
    free(y);
    free(got);
    free(b);
    free(w);
    free(x);
    return good;
}
