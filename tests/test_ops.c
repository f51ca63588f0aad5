/* Split, merge, projections and the merging of states. */
#include <guarded.h>
#include <math.h>
#include <reference.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 150, LONG_ROUNDS = 3000 };

static int rounds(void) {
    return options.is_long ? LONG_ROUNDS : ROUNDS;
}

static element random_element(random_source *source) {
    return (element)random_between(source, ELEMENT_F32, ELEMENT_BF16);
}

static void assert_unharmed(const view *tensor) {
    const char *damage = storage_damage(tensor->memory);
    if (damage) {
        fail_msg("%s", damage);
    }
}

static void mark_written(const view *tensor, const int64_t at[4]) {
    tensor->memory->written[view_address(tensor, at[0], at[1], at[2], at[3])] = 1;
}

/* ---- split and merge -------------------------------------------------------------------------------------------- */

typedef struct heads_problem {
    oclattn_heads_desc desc;
    view packed; /* [batch, rows, heads, head_dim] */
    view heads;  /* [batch, heads, rows, padded_dim] */
} heads_problem;

static int64_t padded(const heads_problem *p) {
    return p->desc.padded_dim ? p->desc.padded_dim : p->desc.head_dim;
}

static heads_problem random_heads(random_source *source, bool is_split) {
    heads_problem p;
    oclattn_heads_desc_init(&p.desc);
    oclattn_heads_desc *d = &p.desc;
    d->packed_type = (oclattn_type)random_element(source);
    d->heads_type = (oclattn_type)random_element(source);
    d->batch = random_between(source, 0, 3);
    d->rows = random_between(source, 0, 40);
    d->heads = random_between(source, 1, 7);
    d->head_dim = random_between(source, 1, 90);
    d->padded_dim = random_one_in(source, 2) ? 0 : d->head_dim + random_between(source, 0, 9);
    const int64_t packed_shape[4] = {d->batch, d->rows, d->heads, d->head_dim};
    const int64_t heads_shape[4] = {d->batch, d->heads, d->rows, padded(&p)};
    int64_t packed_strides[4];
    int64_t heads_strides[4];
    contiguous_strides(packed_shape, packed_strides);
    contiguous_strides(heads_shape, heads_strides);
    if (random_one_in(source, 2)) {
        packed_strides[1] += random_between(source, 0, 5);
        packed_strides[0] = packed_strides[1] * d->rows + random_between(source, 0, 5);
        heads_strides[2] += random_between(source, 0, 5);
        heads_strides[0] = heads_strides[2] * d->rows + random_between(source, 0, 5);
        heads_strides[1] = heads_strides[0] * (d->batch ? d->batch : 1);
        memcpy(d->packed_strides, packed_strides, sizeof d->packed_strides);
        memcpy(d->heads_strides, heads_strides, sizeof d->heads_strides);
    }
    p.packed =
        view_new((element)d->packed_type, packed_shape, packed_strides, !is_split, random_between(source, 0, 9), 9);
    p.heads = view_new((element)d->heads_type, heads_shape, heads_strides, is_split, random_between(source, 0, 9), 9);
    view_fill_random(is_split ? &p.packed : &p.heads, source, 3);
    return p;
}

static void run_heads(heads_problem *p, bool is_split) {
    oclattn_error error;
    oclattn_plan *plan = NULL;
    oclattn_heads_args args;
    cl_event event = NULL;
    const cl_command_queue queue = device.out_of_order ? device.out_of_order : device.in_order;
    storage_upload(p->packed.memory);
    storage_upload(p->heads.memory);
    oclattn_heads_args_init(&args);
    args.packed = view_tensor(&p->packed, false);
    args.heads = view_tensor(&p->heads, false);
    assert_ok(is_split ? oclattn_split_check(device.context, &p->desc, &error)
                       : oclattn_merge_check(device.context, &p->desc, &error),
              &error);
    assert_ok(is_split ? oclattn_split_plan(device.context, &p->desc, &plan, &error)
                       : oclattn_merge_plan(device.context, &p->desc, &plan, &error),
              &error);
    assert_ok(is_split ? oclattn_split_enqueue(plan, queue, &args, 0, NULL, &event, &error)
                       : oclattn_merge_enqueue(plan, queue, &args, 0, NULL, &event, &error),
              &error);
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    storage_download(p->packed.memory);
    storage_download(p->heads.memory);
    oclattn_plan_destroy(plan);
}

/* Values are converted by rounding to nearest even, so exactly as element_write does. */
static void assert_moved(const heads_problem *p, bool is_split) {
    const view *from = is_split ? &p->packed : &p->heads;
    const view *to = is_split ? &p->heads : &p->packed;
    for (int64_t n = 0; n < view_count(to); n++) {
        const int64_t x = n % to->shape[3], third = n / to->shape[3] % to->shape[2];
        const int64_t second = n / (to->shape[3] * to->shape[2]) % to->shape[1];
        const int64_t b = n / (to->shape[3] * to->shape[2] * to->shape[1]);
        unsigned char bits[4] = {0};
        const double value = x < p->desc.head_dim ? view_get(from, b, third, second, x) : 0;
        element_write(to->memory->type, bits, value);
        assert_true(view_result(to, b, second, third, x) == element_read(to->memory->type, bits));
        mark_written(to, (const int64_t[4]){b, second, third, x});
    }
    assert_unharmed(from);
    assert_unharmed(to);
}

static void check_heads(bool is_split) {
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, (uint64_t)round * 2 + is_split);
        heads_problem p = random_heads(&source, is_split);
        run_heads(&p, is_split);
        assert_moved(&p, is_split);
        storage_free(p.packed.memory);
        storage_free(p.heads.memory);
    }
}

static void test_split(void **state) {
    (void)state;
    check_heads(true);
}

static void test_merge(void **state) {
    (void)state;
    check_heads(false);
}

/* ---- merging of states ------------------------------------------------------------------------------------------ */

typedef struct states {
    view o, lse;
} states;

static states states_new(int64_t rows, int64_t v_dim, bool is_output, random_source *source) {
    const int64_t o_shape[4] = {rows, v_dim, 1, 1};
    const int64_t lse_shape[4] = {rows, 1, 1, 1};
    states s = {view_new(ELEMENT_F32, o_shape, (int64_t[4]){v_dim, 1, 1, 1}, is_output, 5, 4),
                view_new(ELEMENT_F32, lse_shape, (int64_t[4]){1, 1, 1, 1}, is_output, 3, 2)};
    for (int64_t i = 0; !is_output && i < rows; i++) {
        const bool empty = random_one_in(source, 4);
        view_set(&s.lse, i, 0, 0, 0, empty ? (double)-INFINITY : 20 * random_unit(source));
        for (int64_t d = 0; d < v_dim; d++) {
            view_set(&s.o, i, d, 0, 0, empty ? 0 : random_unit(source));
        }
    }
    return s;
}

static void states_free(states *s) {
    storage_free(s->o.memory);
    storage_free(s->lse.memory);
}

static void upload_states(const states *s) {
    storage_upload(s->o.memory);
    storage_upload(s->lse.memory);
}

static void run_merge_states(const states *a, const states *b, const states *to) {
    oclattn_error error;
    oclattn_plan *plan = NULL;
    oclattn_merge_states_desc desc;
    oclattn_merge_states_args args;
    cl_event event = NULL;
    oclattn_merge_states_desc_init(&desc);
    desc.rows = a->o.shape[0];
    desc.v_dim = a->o.shape[1];
    upload_states(a);
    upload_states(b);
    upload_states(to);
    oclattn_merge_states_args_init(&args);
    args.o1 = view_tensor(&a->o, false);
    args.lse1 = view_tensor(&a->lse, false);
    args.o2 = view_tensor(&b->o, false);
    args.lse2 = view_tensor(&b->lse, false);
    args.o = view_tensor(&to->o, false);
    args.lse = view_tensor(&to->lse, false);
    assert_ok(oclattn_merge_states_check(device.context, &desc, &error), &error);
    assert_ok(oclattn_merge_states_plan(device.context, &desc, &plan, &error), &error);
    assert_ok(oclattn_merge_states_enqueue(plan, device.in_order, &args, 0, NULL, &event, &error), &error);
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    storage_download(to->o.memory);
    storage_download(to->lse.memory);
    oclattn_plan_destroy(plan);
}

static void assert_near(double got, double expected, double tolerance) {
    if (!(got == expected || fabs(got - expected) <= tolerance)) {
        fail_msg("%.9g is not %.9g +- %.3g", got, expected, tolerance);
    }
}

static void assert_merged(const states *a, const states *b, const states *to) {
    for (int64_t i = 0; i < a->o.shape[0]; i++) {
        const double lse1 = view_get(&a->lse, i, 0, 0, 0);
        const double lse2 = view_get(&b->lse, i, 0, 0, 0);
        const double most = fmax(lse1, lse2);
        const bool empty = most == -INFINITY;
        const double w1 = empty ? 0 : exp(lse1 - most);
        const double w2 = empty ? 0 : exp(lse2 - most);
        assert_near(view_result(&to->lse, i, 0, 0, 0), empty ? most : most + log(w1 + w2), 1e-5);
        mark_written(&to->lse, (const int64_t[4]){i, 0, 0, 0});
        for (int64_t d = 0; d < a->o.shape[1]; d++) {
            const double sum = w1 * view_get(&a->o, i, d, 0, 0) + w2 * view_get(&b->o, i, d, 0, 0);
            const double got = view_result(&to->o, i, d, 0, 0);
            assert_near(got, empty ? 0 : sum / (w1 + w2), 5e-6);
            if (lse1 == -INFINITY || lse2 == -INFINITY) {
                assert_true(got == (empty          ? 0
                                    : lse1 == most ? view_get(&a->o, i, d, 0, 0)
                                                   : view_get(&b->o, i, d, 0, 0)));
            }
            mark_written(&to->o, (const int64_t[4]){i, d, 0, 0});
        }
    }
    assert_unharmed(&to->o);
    assert_unharmed(&to->lse);
}

static void test_merge_states(void **state) {
    (void)state;
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, 10000 + (uint64_t)round);
        const int64_t rows = random_between(&source, 0, 50);
        const int64_t v_dim = random_between(&source, 1, 130);
        states a = states_new(rows, v_dim, false, &source);
        states b = states_new(rows, v_dim, false, &source);
        states to = states_new(rows, v_dim, true, &source);
        const states *target = round % 3 == 0 ? &to : round % 3 == 1 ? &a : &b;
        run_merge_states(&a, &b, target);
        assert_merged(&a, &b, target);
        states_free(&to);
        states_free(&b);
        states_free(&a);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_states),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
