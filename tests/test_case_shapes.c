/* Small inputs that other attention libraries have got wrong: heads, layouts, sizes and types. */
#include <math.h>
#include <problem.h>
#include <stdlib.h>
#include <string.h>

static void set_types(problem *p, oclattn_type type) {
    p->desc.q_type = p->desc.k_type = p->desc.v_type = p->desc.o_type = type;
}

/* All logits 0, and a value for each key. */
static void fill_mean(problem *p, const double *v) {
    problem_allocate(p, NULL);
    view_fill(&p->q, 0);
    view_fill(&p->k, 1);
    view_fill_from(&p->v, v);
}

static void test_query_heads_share_kv_heads(void **state) {
    (void)state;
    problem p = problem_new(1, 6, 2, 1, 1, 1, 1);
    fill_mean(&p, (double[]){10, 20});
    assert_result(&p, (double[]){10, 10, 10, 20, 20, 20});
    problem_free(&p);
    for (int64_t heads = 3; heads <= 33; heads += 30) {
        oclattn_error error;
        problem wrong = problem_new(1, heads, 2, 1, 1, 1, 1);
        fill_mean(&wrong, (double[]){10, 20});
        assert_refused(problem_run_host(&wrong, &error), OCLATTN_INVALID_ARGUMENT, &error, "heads");
        assert_true(storage_is_untouched(wrong.o.memory, wrong.o.offset));
        assert_null(storage_damage(wrong.o.memory));
        problem_free(&wrong);
    }
}

/* Stored as [batch, rows, heads, dim]. */
static void set_bshd(int64_t strides[3], int64_t rows, int64_t heads, int64_t dim) {
    strides[0] = rows * heads * dim;
    strides[1] = dim;
    strides[2] = heads * dim;
}

static void assert_permuted_case(int64_t offset) {
    enum { BATCH = 84, ROWS = 3, HEADS = 3, DIM = 64 };
    const int64_t shape[4] = {BATCH, HEADS, ROWS, DIM};
    int64_t strides[4] = {0, 0, 0, 1};
    char message[PROBLEM_MESSAGE_SIZE];
    problem p = problem_new(BATCH, HEADS, HEADS, ROWS, ROWS, DIM, DIM);
    set_bshd(strides, ROWS, HEADS, DIM);
    memcpy(p.desc.q_strides, strides, sizeof p.desc.q_strides);
    memcpy(p.desc.k_strides, strides, sizeof p.desc.k_strides);
    memcpy(p.desc.v_strides, strides, sizeof p.desc.v_strides);
    memcpy(p.desc.o_strides, strides, sizeof p.desc.o_strides);
    p.q = view_new(ELEMENT_F32, shape, strides, false, offset, 9);
    p.k = view_new(ELEMENT_F32, shape, strides, false, offset, 9);
    p.v = view_new(ELEMENT_F32, shape, strides, false, offset, 9);
    p.o = view_new(ELEMENT_F32, shape, strides, true, offset, 9);
    view_fill(&p.q, 0);
    view_fill(&p.k, 3);
    double *expected = must_allocate(sizeof(double) * BATCH * HEADS * ROWS * DIM);
    for (int64_t n = 0; n < BATCH * HEADS * ROWS * DIM; n++) {
        const int64_t d = n % DIM, s = n / DIM % ROWS, h = n / (DIM * ROWS) % HEADS, b = n / (DIM * ROWS * HEADS);
        view_set(&p.v, b, h, s, d, (double)(b + 100 * h + 1000 * d + s));
        expected[n] = (double)(b + 100 * h + 1000 * d + 1);
    }
    assert_result(&p, expected);
    assert_true(problem_check(&p, message));
    free(expected);
    problem_free(&p);
}

static void test_permuted_views(void **state) {
    (void)state;
    assert_permuted_case(0);
    assert_permuted_case(5);
}

/* q, k and v of one matrix [rows, (4 + 1) * 4 + v_dim]. */
static void assert_packed_case(int64_t v_dim) {
    const int64_t width = 5 * 4 + v_dim;
    const int64_t strides[3] = {2 * width, 4, width};
    problem p = problem_new(1, 4, 1, 2, 2, 4, v_dim);
    const view all =
        view_new(ELEMENT_F32, (int64_t[4]){1, 1, 2, width}, (int64_t[4]){2 * width, 4, width, 1}, false, 3, 3);
    memcpy(p.desc.q_strides, strides, sizeof strides);
    memcpy(p.desc.k_strides, strides, sizeof strides);
    memcpy(p.desc.v_strides, strides, sizeof strides);
    p.q = p.k = p.v = all;
    p.q.shape[1] = 4;
    p.q.shape[3] = p.k.shape[3] = 4;
    p.v.shape[3] = v_dim;
    p.k.offset += 4 * 4;
    p.v.offset += 5 * 4;
    problem_allocate(&p, NULL);
    view_fill(&p.q, 1);
    for (int64_t d = 0; d < 4; d++) {
        view_set(&p.k, 0, 0, 0, d, 1);
        view_set(&p.k, 0, 0, 1, d, 0);
    }
    for (int64_t d = 0; d < v_dim; d++) {
        view_set(&p.v, 0, 0, 0, d, 1);
        view_set(&p.v, 0, 0, 1, d, 0);
    }
    assert_result_all(&p, 0.8807971);
    problem_free(&p);
}

static void test_default_scale_is_of_one_head(void **state) {
    (void)state;
    assert_packed_case(4);
    assert_packed_case(2);
}

static void test_head_dims_off_the_tile(void **state) {
    (void)state;
    static const int64_t dims[] = {1, 3, 6, 40, 48, 72, 80, 96, 112, 130, 256, 512, 576};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        problem p = problem_new(1, 1, 1, 1, 65, dims[i], dims[i]);
        double *expected = must_allocate((size_t)dims[i] * sizeof *expected);
        problem_allocate(&p, NULL);
        view_fill(&p.q, 0);
        view_fill(&p.k, 1);
        for (int64_t n = 0; n < 65 * dims[i]; n++) {
            view_set(&p.v, 0, 0, n / dims[i], n % dims[i], (double)(n / dims[i] + n % dims[i]));
            expected[n % dims[i]] = (double)(32 + n % dims[i]);
        }
        assert_result(&p, expected);
        free(expected);
        problem_free(&p);
    }
}

static void test_f16_products_do_not_overflow(void **state) {
    (void)state;
    problem p = problem_new(1, 1, 1, 1, 2, 192, 1);
    set_types(&p, OCLATTN_F16);
    problem_allocate(&p, NULL);
    view_fill(&p.q, 20);
    view_fill(&p.k, 20);
    view_fill_from(&p.v, (double[]){1, 3});
    assert_result_all(&p, 2);
    problem_free(&p);
}

static void test_f16_accumulates_in_f32(void **state) {
    (void)state;
    for (int64_t chunk = 0; chunk <= 256; chunk += 256) {
        problem p = problem_new(1, 1, 1, 1, 4096, 1, 1);
        set_types(&p, OCLATTN_F16);
        p.desc.kv_chunk = chunk;
        problem_allocate(&p, NULL);
        view_fill(&p.q, 0);
        view_fill(&p.k, 1);
        view_fill(&p.v, 60);
        assert_result_all(&p, 60);
        for (int64_t j = 0; j < 4096; j++) {
            view_set(&p.v, 0, 0, j, 0, j < 2048 ? 0 : 1);
        }
        assert_result_all(&p, 0.5);
        problem_free(&p);
    }
}

static void test_f16_on_every_device(void **state) {
    (void)state;
    problem p = problem_of_one_row(3);
    set_types(&p, OCLATTN_F16);
    fill_mean(&p, (double[]){1, 2, 4.5});
    assert_result_all(&p, 2.5);
    problem_free(&p);
}

/* A context that has compiled nothing builds the kernels of a plan as one program: each must keep its own types. 43
 * keys leave some that no step of four takes. */
static void test_kernels_of_one_program_keep_their_types(void **state) {
    (void)state;
    for (int type = OCLATTN_F16; type <= OCLATTN_BF16; type++) {
        oclattn_context_options without_cache;
        oclattn_context *context = NULL;
        oclattn_plan *plan = NULL;
        oclattn_error error;
        char message[PROBLEM_MESSAGE_SIZE];
        random_source source = random_start(7, (uint64_t)type);
        problem p = problem_new(1, 2, 1, 3, 43, 20, 20);
        p.desc.k_type = p.desc.v_type = (oclattn_type)type;
        p.desc.variant = "attention_portable";
        p.desc.kv_chunk = 16;
        p.desc.scores_kind = OCLATTN_SCORES_SCALED;
        problem_allocate(&p, &source);
        problem_fill(&p, &source, 0);
        oclattn_context_options_init(&without_cache);
        without_cache.cache_dir = "";
        assert_ok(oclattn_context_create_from_cl(&without_cache, device.cl, device.id, &context, &error), &error);
        assert_ok(oclattn_attention_plan(context, &p.desc, &plan, &error), &error);
        assert_ok(problem_run_plan(&p, plan, &error), &error);
        if (!problem_check(&p, message)) {
            fail_msg("%s", message);
        }
        oclattn_plan_destroy(plan);
        oclattn_context_destroy(context);
        problem_free(&p);
    }
}

static void test_few_keys(void **state) {
    (void)state;
    static const int64_t lengths[] = {1, 3, 5, 17};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        problem p = problem_of_one_row(lengths[i]);
        fill_mean(&p, (double[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
        assert_result_all(&p, (double)(lengths[i] - 1) / 2);
        problem_free(&p);
    }
}

static void test_wide_head_runs_or_is_declined(void **state) {
    (void)state;
    oclattn_error error;
    problem p = problem_new(1, 2, 1, 3, 33, 512, 512);
    char message[PROBLEM_MESSAGE_SIZE];
    random_source source = random_start(44, 0);
    problem_allocate(&p, NULL);
    problem_fill(&p, &source, 0);
    const oclattn_status status = problem_run(&p, &error);
    if (status == OCLATTN_OK) {
        assert_true(problem_check(&p, message));
    } else {
        assert_refused(status, OCLATTN_UNSUPPORTED, &error, "");
        assert_true(strlen(error.message) > 10);
    }
    problem_free(&p);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_heads_share_kv_heads),
        cmocka_unit_test(test_permuted_views),
        cmocka_unit_test(test_default_scale_is_of_one_head),
        cmocka_unit_test(test_head_dims_off_the_tile),
        cmocka_unit_test(test_f16_products_do_not_overflow),
        cmocka_unit_test(test_f16_accumulates_in_f32),
        cmocka_unit_test(test_f16_on_every_device),
        cmocka_unit_test(test_few_keys),
        cmocka_unit_test(test_kernels_of_one_program_keep_their_types),
        cmocka_unit_test(test_wide_head_runs_or_is_declined),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
