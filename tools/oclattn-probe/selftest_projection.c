/* The self-test of projections. */
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/reference.h"
#include "selftest_values.h"

typedef struct projection_case {
    int64_t rows, in_dim, out_dim;
    oclattn_type x_type, w_type;
    uint32_t flags;
} projection_case;

static const projection_case projection_cases[] = {
    {17, 40, 24, OCLATTN_F32, OCLATTN_F32, OCLATTN_PROJECTION_BIAS},
    {3, 130, 65, OCLATTN_F32, OCLATTN_F32, 0},
    {64, 96, 128, OCLATTN_F32, OCLATTN_F16, OCLATTN_PROJECTION_BIAS | OCLATTN_WEIGHTS_OUT_IN},
    {1, 256, 33, OCLATTN_F16, OCLATTN_BF16, 0},
};

typedef struct projection_data {
    values x, w, b, y;
    double *expected;
    oclattn_plan *plan;
    oclattn_weights *weights;
} projection_data;

static void projection_free(projection_data *d) {
    values_free(&d->x);
    values_free(&d->w);
    values_free(&d->b);
    values_free(&d->y);
    free(d->expected);
    oclattn_weights_destroy(d->weights);
    oclattn_plan_destroy(d->plan);
}

static bool projection_fill(const projection_case *c, projection_data *d) {
    uint64_t state = UINT64_C(0xD1B54A32D192ED03);
    d->expected = calloc((size_t)(c->rows * c->out_dim), sizeof *d->expected);
    return d->expected && values_random(&d->x, c->x_type, c->rows * c->in_dim, &state) &&
           values_random(&d->w, c->w_type, c->in_dim * c->out_dim, &state) &&
           values_random(&d->b, c->w_type, c->out_dim, &state) && values_make(&d->y, c->x_type, c->rows * c->out_dim);
}

static void set_desc(const projection_case *c, oclattn_projection_desc *desc, const char *variant) {
    oclattn_projection_desc_init(desc);
    desc->flags = c->flags;
    desc->x_type = desc->y_type = c->x_type;
    desc->w_type = c->w_type;
    desc->batch = 1;
    desc->rows = c->rows;
    desc->in_dim = c->in_dim;
    desc->out_dim = c->out_dim;
    desc->variant = variant;
}

static oclattn_status projection_compute(session *s, const projection_case *c, projection_data *d, const char *variant,
                                         oclattn_error *error) {
    oclattn_projection_desc desc;
    oclattn_projection_args args;
    oclattn_tensor w = {0}, b = {0};
    set_desc(c, &desc, variant);
    oclattn_projection_args_init(&args);
    oclattn_status status = oclattn_projection_plan(s->context, &desc, &d->plan, error);
    if (status != OCLATTN_OK) {
        return status;
    }
    const size_t bytes = oclattn_plan_workspace_bytes(d->plan);
    if (!upload(s, &d->x, &args.x) || !upload(s, &d->y, &args.y) || !upload(s, &d->w, &w) || !upload(s, &d->b, &b) ||
        (bytes > 0 && !(args.workspace = session_buffer(s, bytes, NULL)))) {
        snprintf(error->message, sizeof error->message, "%s", s->problem);
        return OCLATTN_OPENCL_ERROR;
    }
    const bool has_bias = (c->flags & OCLATTN_PROJECTION_BIAS) != 0;
    status = oclattn_projection_weights(d->plan, s->queue, &w, has_bias ? &b : NULL, &d->weights, error);
    args.weights = d->weights;
    if (status == OCLATTN_OK) {
        status = oclattn_projection_enqueue(d->plan, s->queue, &args, 0, NULL, NULL, error);
    }
    if (status == OCLATTN_OK && !(session_finish(s) && download(s, &d->y, args.y.buffer))) {
        snprintf(error->message, sizeof error->message, "%s", s->problem);
        return OCLATTN_OPENCL_ERROR;
    }
    return status;
}

static double sum_of_magnitudes(const projection_case *c, const projection_data *d, int64_t row, int64_t column) {
    double sum = 0;
    for (int64_t i = 0; i < c->in_dim; i++) {
        const int64_t at = c->flags & OCLATTN_WEIGHTS_OUT_IN ? column * c->in_dim + i : i * c->out_dim + column;
        sum += fabs(d->x.real[row * c->in_dim + i] * d->w.real[at]);
    }
    return sum + (c->flags & OCLATTN_PROJECTION_BIAS ? fabs(d->b.real[column]) : 0);
}

static void projection_compare(const projection_case *c, const projection_data *d, outcome *result) {
    reference_projection(c->rows, c->in_dim, c->out_dim, d->x.real, d->w.real, (c->flags & OCLATTN_WEIGHTS_OUT_IN) != 0,
                         c->flags & OCLATTN_PROJECTION_BIAS ? d->b.real : NULL, d->expected);
    for (int64_t i = 0; i < c->rows * c->out_dim; i++) {
        const double sum = sum_of_magnitudes(c, d, i / c->out_dim, i % c->out_dim);
        compare_one(result, "y", (size_t)i, values_get(&d->y, (size_t)i), d->expected[i],
                    reference_projection_tolerance(c->x_type, c->in_dim, sum, d->expected[i]));
    }
}

static void projection_run(session *s, const char *variant, size_t index, outcome *result) {
    const projection_case *c = &projection_cases[index];
    projection_data d = {0};
    oclattn_error error = {0};
    if (!projection_fill(c, &d)) {
        fail_test(result, "the host is out of memory");
    } else {
        const oclattn_status status = projection_compute(s, c, &d, variant, &error);
        if (status == OCLATTN_OK) {
            projection_compare(c, &d, result);
        } else {
            take_status(result, status, &error);
        }
    }
    projection_free(&d);
}

static void projection_describe(size_t index, char *words, size_t size) {
    const projection_case *c = &projection_cases[index];
    snprintf(words, size, "x [%lld, %lld] %s, W [%lld, %lld] %s%s%s", (long long)c->rows, (long long)c->in_dim,
             type_word(c->x_type), (long long)c->in_dim, (long long)c->out_dim, type_word(c->w_type),
             c->flags & OCLATTN_PROJECTION_BIAS ? ", bias" : "",
             c->flags & OCLATTN_WEIGHTS_OUT_IN ? ", stored [out, in]" : "");
}

const problem_set projection_problems = {sizeof projection_cases / sizeof projection_cases[0], projection_describe,
                                         projection_run};
