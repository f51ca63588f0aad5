/* Projections: every type, both variants, both orders of the weights. */
#include <guarded.h>
#include <math.h>
#include <reference.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 150, LONG_ROUNDS = 3000 };

static const char *const variants[] = {NULL, "projection_portable", "projection_clblast"};
enum { VARIANTS = 3 };

typedef struct projection {
    oclattn_projection_desc desc;
    view x, w, b, y; /* [batch, rows, dim], [in, out] or [out, in], [out], [batch, rows, dim] */
} projection;

static void set_strides(int64_t desc_strides[2], int64_t strides[4], int64_t rows, random_source *source) {
    if (source && random_one_in(source, 2)) {
        strides[1] += random_between(source, 0, 5);
        strides[0] = strides[1] * rows + random_between(source, 0, 5);
        desc_strides[0] = strides[0];
        desc_strides[1] = strides[1];
    }
}

/* Tensors for a descriptor whose sizes, types and flags are set. source NULL: contiguous. */
static void allocate(projection *p, random_source *source) {
    oclattn_projection_desc *d = &p->desc;
    const bool out_in = d->flags & OCLATTN_WEIGHTS_OUT_IN;
    const int64_t x_shape[4] = {d->batch, d->rows, d->in_dim, 1};
    const int64_t y_shape[4] = {d->batch, d->rows, d->out_dim, 1};
    const int64_t w_shape[4] = {out_in ? d->out_dim : d->in_dim, out_in ? d->in_dim : d->out_dim, 1, 1};
    const int64_t b_shape[4] = {d->out_dim, 1, 1, 1};
    int64_t x_strides[4], y_strides[4], w_strides[4], b_strides[4];
    contiguous_strides(x_shape, x_strides);
    contiguous_strides(y_shape, y_strides);
    contiguous_strides(w_shape, w_strides);
    contiguous_strides(b_shape, b_strides);
    set_strides(d->x_strides, x_strides, d->rows, source);
    set_strides(d->y_strides, y_strides, d->rows, source);
    p->x = view_new((element)d->x_type, x_shape, x_strides, false, source ? random_between(source, 0, 9) : 0, 5);
    p->w = view_new((element)d->w_type, w_shape, w_strides, false, source ? random_between(source, 0, 9) : 0, 5);
    p->b = view_new((element)d->w_type, b_shape, b_strides, false, source ? random_between(source, 0, 9) : 0, 5);
    p->y = view_new((element)d->y_type, y_shape, y_strides, true, source ? random_between(source, 0, 9) : 0, 5);
}

static void release(projection *p) {
    storage_free(p->x.memory);
    storage_free(p->w.memory);
    storage_free(p->b.memory);
    storage_free(p->y.memory);
}

static projection random_projection(random_source *source) {
    projection p;
    oclattn_projection_desc_init(&p.desc);
    oclattn_projection_desc *d = &p.desc;
    d->flags = (random_one_in(source, 2) ? OCLATTN_WEIGHTS_OUT_IN : 0) |
               (random_one_in(source, 2) ? OCLATTN_PROJECTION_BIAS : 0);
    if (random_one_in(source, 2)) {
        d->x_type = (oclattn_type)random_between(source, OCLATTN_F32, OCLATTN_BF16);
        d->w_type = (oclattn_type)random_between(source, OCLATTN_F32, OCLATTN_BF16);
        d->y_type = (oclattn_type)random_between(source, OCLATTN_F32, OCLATTN_BF16);
    }
    d->batch = random_one_in(source, 20) ? 0 : random_between(source, 1, 3);
    d->rows = random_between(source, random_one_in(source, 20) ? 0 : 1, 30);
    d->in_dim = random_between(source, 1, 150);
    d->out_dim = random_between(source, 1, 150);
    allocate(&p, source);
    view_fill_random(&p.x, source, 1);
    view_fill_random(&p.w, source, 1);
    view_fill_random(&p.b, source, 1);
    return p;
}

/* Prepares the weights, then spoils the caller's copies of them, and runs. */
static void run_plan(projection *p, const oclattn_plan *plan) {
    oclattn_error error;
    oclattn_weights *weights = NULL;
    oclattn_projection_args args;
    cl_event event = NULL;
    const cl_command_queue queue = device.out_of_order ? device.out_of_order : device.in_order;
    const oclattn_tensor w = view_tensor(&p->w, false);
    const oclattn_tensor b = view_tensor(&p->b, false);
    const bool has_bias = p->desc.flags & OCLATTN_PROJECTION_BIAS;
    const float zeros[1] = {0};
    assert_ok(oclattn_projection_weights(plan, queue, &w, has_bias ? &b : NULL, &weights, &error), &error);
    storage_download(p->w.memory);
    storage_download(p->b.memory);
    clEnqueueFillBuffer(device.in_order, w.buffer, zeros, 1, 0, (size_t)p->w.memory->count, 0, NULL, NULL);
    clFinish(device.in_order);
    oclattn_projection_args_init(&args);
    args.x = view_tensor(&p->x, false);
    args.y = view_tensor(&p->y, false);
    args.weights = weights;
    args.workspace = workspace_new(plan);
    assert_ok(oclattn_projection_enqueue(plan, queue, &args, 0, NULL, &event, &error), &error);
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    storage_download(p->x.memory);
    storage_download(p->y.memory);
    buffer_free(args.workspace);
    oclattn_weights_destroy(weights);
}

/* False where the device cannot run the variant or is too small, and the refusal says why. */
static bool run(projection *p) {
    oclattn_error error;
    oclattn_plan *plan = NULL;
    if (oclattn_projection_check(device.context, &p->desc, &error) == OCLATTN_OUT_OF_MEMORY) {
        assert_non_null(strstr(error.message, "bytes"));
        return false;
    }
    storage_upload(p->x.memory);
    storage_upload(p->w.memory);
    storage_upload(p->b.memory);
    storage_upload(p->y.memory);
    const oclattn_status status = oclattn_projection_plan(device.context, &p->desc, &plan, &error);
    assert_int_equal(oclattn_projection_check(device.context, &p->desc, NULL), status);
    if (p->desc.variant && strstr(p->desc.variant, "clblast") && status == OCLATTN_UNSUPPORTED) {
        assert_true(strlen(error.message) > 10);
        return false;
    }
    assert_ok(status, &error);
    assert_true(!p->desc.variant || strcmp(oclattn_plan_variant(plan), p->desc.variant) == 0);
    run_plan(p, plan);
    oclattn_plan_destroy(plan);
    return true;
}

static double *values_of(const view *tensor) {
    double *values = must_allocate((size_t)view_count(tensor) * sizeof *values);
    for (int64_t n = 0; n < view_count(tensor); n++) {
        const int64_t last = n % tensor->shape[2], middle = n / tensor->shape[2] % tensor->shape[1];
        values[n] = view_get(tensor, n / tensor->shape[2] / tensor->shape[1], middle, last, 0);
    }
    return values;
}

static void absolute(double *values, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        values[i] = fabs(values[i]);
    }
}

/* sum_i |x_i w_i| + |b|, for each output. */
static double *sums_of_magnitudes(const projection *p, double *x, double *w, double *b) {
    const oclattn_projection_desc *d = &p->desc;
    double *sums = must_allocate((size_t)view_count(&p->y) * sizeof *sums);
    absolute(x, view_count(&p->x));
    absolute(w, view_count(&p->w));
    absolute(b, view_count(&p->b));
    reference_projection(d->batch * d->rows, d->in_dim, d->out_dim, x, w, d->flags & OCLATTN_WEIGHTS_OUT_IN,
                         d->flags & OCLATTN_PROJECTION_BIAS ? b : NULL, sums);
    return sums;
}

static void check(const projection *p) {
    const oclattn_projection_desc *d = &p->desc;
    double *x = values_of(&p->x), *w = values_of(&p->w), *b = values_of(&p->b);
    double *expected = must_allocate((size_t)view_count(&p->y) * sizeof *expected);
    reference_projection(d->batch * d->rows, d->in_dim, d->out_dim, x, w, d->flags & OCLATTN_WEIGHTS_OUT_IN,
                         d->flags & OCLATTN_PROJECTION_BIAS ? b : NULL, expected);
    double *sums = sums_of_magnitudes(p, x, w, b);
    for (int64_t n = 0; n < view_count(&p->y); n++) {
        const int64_t c = n % d->out_dim, row = n / d->out_dim % d->rows, entry = n / d->out_dim / d->rows;
        const double got = view_result(&p->y, entry, row, c, 0);
        const double tolerance = reference_projection_tolerance(d->y_type, d->in_dim, sums[n], expected[n]);
        if (!(fabs(got - expected[n]) <= tolerance)) {
            fail_msg("y[%lld, %lld, %lld] is %.9g, expected %.9g +- %.3g", (long long)entry, (long long)row,
                     (long long)c, got, expected[n], tolerance);
        }
        p->y.memory->written[view_address(&p->y, entry, row, c, 0)] = 1;
    }
    assert_null(storage_damage(p->x.memory));
    assert_null(storage_damage(p->w.memory));
    assert_null(storage_damage(p->b.memory));
    assert_null(storage_damage(p->y.memory));
    free(sums);
    free(expected);
    free(b);
    free(w);
    free(x);
}

static void test_random_projections(void **state) {
    (void)state;
    const int rounds = options.is_long ? LONG_ROUNDS : ROUNDS;
    for (int round = 0; round < rounds; round++) {
        random_source source = random_start(options.seed, (uint64_t)round);
        projection p = random_projection(&source);
        p.desc.variant = variants[round % VARIANTS];
        if (run(&p)) {
            check(&p);
        }
        release(&p);
    }
}

static projection projection_of_ones(int64_t rows, int64_t out_dim, int64_t in_dim, oclattn_type type) {
    projection p;
    oclattn_projection_desc_init(&p.desc);
    p.desc.batch = 1;
    p.desc.rows = rows;
    p.desc.in_dim = in_dim;
    p.desc.out_dim = out_dim;
    p.desc.x_type = p.desc.w_type = p.desc.y_type = type;
    allocate(&p, NULL);
    view_fill(&p.x, 1);
    view_fill(&p.w, 1);
    view_fill(&p.b, 0);
    return p;
}

static void assert_ones(int64_t rows, int64_t out_dim, int64_t in_dim, oclattn_type type) {
    for (int v = 0; v < VARIANTS; v++) {
        projection p = projection_of_ones(rows, out_dim, in_dim, type);
        p.desc.variant = variants[v];
        if (run(&p)) {
            for (int64_t n = 0; n < rows * out_dim; n++) {
                assert_true(view_result(&p.y, 0, n / out_dim, n % out_dim, 0) == (double)in_dim);
            }
        }
        release(&p);
    }
}

static void test_ones(void **state) {
    (void)state;
    assert_ones(3, 1000, 2048, OCLATTN_F32);
    assert_ones(1, 1029, 12544, OCLATTN_F32);
}

/* An accumulator of f16 stops at 2048. */
static void test_f16_sums_in_f32(void **state) {
    (void)state;
    assert_ones(1, 33, 8192, OCLATTN_F16);
}

/* What the output held before must not matter: with beta 0, a BLAS must not read it. */
static void test_output_is_not_read(void **state) {
    (void)state;
    for (int v = 0; v < VARIANTS; v++) {
        random_source source = random_start(options.seed, 38);
        projection poisoned = random_projection(&source);
        poisoned.desc.variant = variants[v];
        if (run(&poisoned)) {
            source = random_start(options.seed, 38);
            projection zeroed = random_projection(&source);
            zeroed.desc.variant = variants[v];
            view_fill(&zeroed.y, 0);
            assert_true(run(&zeroed));
            assert_true(view_same_bits(&poisoned.y, &zeroed.y));
            release(&zeroed);
        }
        release(&poisoned);
    }
}

/* Whether weights made by a plan of one variant serve another plan of the same variant. */
static void test_weights_serve_other_plans(void **state) {
    (void)state;
    oclattn_error error;
    projection p = projection_of_ones(2, 20, 30, OCLATTN_F32);
    oclattn_plan *one = NULL, *other = NULL;
    oclattn_weights *weights = NULL;
    oclattn_projection_args args;
    storage_upload(p.x.memory);
    storage_upload(p.w.memory);
    storage_upload(p.y.memory);
    p.desc.variant = "projection_portable";
    assert_ok(oclattn_projection_plan(device.context, &p.desc, &one, &error), &error);
    const oclattn_tensor w = view_tensor(&p.w, false);
    assert_ok(oclattn_projection_weights(one, device.in_order, &w, NULL, &weights, &error), &error);
    oclattn_plan_destroy(one);
    p.desc.rows = 1;
    assert_ok(oclattn_projection_plan(device.context, &p.desc, &other, &error), &error);
    oclattn_projection_args_init(&args);
    args.x = view_tensor(&p.x, false);
    args.y = view_tensor(&p.y, false);
    args.weights = weights;
    args.workspace = workspace_new(other);
    assert_ok(oclattn_projection_enqueue(other, device.in_order, &args, 0, NULL, NULL, &error), &error);
    storage_download(p.y.memory);
    assert_true(view_result(&p.y, 0, 0, 19, 0) == 30);
    assert_true(storage_is_untouched(p.y.memory, view_address(&p.y, 0, 1, 0, 0)));
    buffer_free(args.workspace);
    oclattn_weights_destroy(weights);
    oclattn_plan_destroy(other);
    release(&p);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_projections),        cmocka_unit_test(test_ones),
        cmocka_unit_test(test_f16_sums_in_f32),           cmocka_unit_test(test_output_is_not_read),
        cmocka_unit_test(test_weights_serve_other_plans),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
