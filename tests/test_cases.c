/* Small inputs that other attention libraries have got wrong: scores, masks and alignment. */
#include <float.h>
#include <math.h>
#include <problem.h>

static const double minus_infinity = -INFINITY;

static void set_types(problem *p, oclattn_type type) {
    p->desc.q_type = p->desc.k_type = p->desc.v_type = p->desc.o_type = type;
}

/* One row, D = 1: q, then kv_len values of k and of v. */
static void fill_row(problem *p, double q, const double *k, const double *v) {
    problem_allocate(p, NULL);
    view_fill(&p->q, q);
    view_fill_from(&p->k, k);
    view_fill_from(&p->v, v);
}

/* All logits 0, and a value for each key. */
static void fill_mean(problem *p, const double *v) {
    problem_allocate(p, NULL);
    view_fill(&p->q, 0);
    view_fill(&p->k, 1);
    view_fill_from(&p->v, v);
}

static void assert_bias_case(float softcap, oclattn_type type, double q, const double *bias, const double *v,
                             double expected) {
    problem p = problem_of_one_row(2);
    set_types(&p, type);
    p.desc.score.softcap = softcap;
    p.desc.score.flags |= OCLATTN_BIAS;
    fill_row(&p, q, (double[]){1, 1}, v);
    view_fill_from(&p.bias, bias);
    assert_result_all(&p, expected);
    problem_free(&p);
}

static void test_softcap_comes_before_the_mask(void **state) {
    (void)state;
    assert_bias_case(2, OCLATTN_F32, 1, (double[]){0, minus_infinity}, (double[]){1, 100}, 1);
    assert_bias_case(2, OCLATTN_F32, 1, (double[]){0, 3}, (double[]){0, 1}, 0.9525741);
}

static void test_finite_masks_are_numbers(void **state) {
    (void)state;
    const double lowest = -FLT_MAX;
    const double v[] = {1, 3};
    for (double q = 0; q <= 1; q++) {
        assert_bias_case(0, OCLATTN_F32, q, (double[]){lowest, lowest}, v, 2);
        assert_bias_case(0, OCLATTN_F16, q, (double[]){-1e9, -1e9}, v, 2);
        assert_bias_case(0, OCLATTN_BF16, q, (double[]){lowest, lowest}, v, 2);
        assert_bias_case(0, OCLATTN_F32, q, (double[]){lowest, 0}, v, 3);
    }
}

/* Rows 0 to 4 of both runs must have the same bits. */
static void assert_rows_equal(const problem *six, const problem *five) {
    view first_rows = six->o;
    first_rows.shape[2] = 5;
    assert_true(view_same_bits(&five->o, &first_rows));
}

static problem causal_rows(int64_t q_len, bool masked) {
    random_source source = random_start(2, 2);
    problem p = problem_new(1, 1, 1, q_len, 10, 8, 8);
    p.desc.score.flags |= OCLATTN_CAUSAL | (masked ? OCLATTN_MASK : 0);
    p.desc.score.align = OCLATTN_ALIGN_TOP_LEFT;
    problem_allocate(&p, NULL);
    view_fill_random(&p.k, &source, 1);
    view_fill_random(&p.v, &source, 1);
    view_fill_random(&p.q, &source, 1);
    if (masked) {
        view_fill(&p.mask, 1);
    }
    return p;
}

static void test_fully_masked_row_is_zero(void **state) {
    (void)state;
    for (int masked = 0; masked <= 1; masked++) {
        problem six = causal_rows(6, true);
        problem five = causal_rows(5, masked);
        for (int64_t j = 0; j < 10; j++) {
            view_set(&six.mask, 0, 0, 5, j, 0);
        }
        assert_problem(&six);
        assert_problem(&five);
        assert_rows_equal(&six, &five);
        for (int64_t d = 0; d < 8; d++) {
            assert_true(view_result(&six.o, 0, 0, 5, d) == 0);
        }
        problem_free(&five);
        problem_free(&six);
    }
}

/* Keys from lens[b] on hold garbage and are hidden by their number, or by a mask. */
static void assert_cache_case(double garbage, bool by_mask) {
    static const int64_t lens[] = {32, 64, 96, 48};
    random_source source = random_start(4, 4);
    problem p = problem_new(4, 8, 8, 1, 128, 64, 64);
    p.desc.score.flags |= by_mask ? OCLATTN_MASK : OCLATTN_KV_LENS;
    problem_allocate(&p, NULL);
    view_fill_random(&p.q, &source, 1);
    view_fill_random(&p.k, &source, 1);
    view_fill(&p.v, 1);
    for (int64_t n = 0; n < 4 * 8 * 128 * 64; n++) {
        const int64_t b = n / (8 * 128 * 64);
        const int64_t j = n / 64 % 128;
        if (j >= lens[b]) {
            view_set(&p.k, b, n / (128 * 64) % 8, j, n % 64, garbage);
            view_set(&p.v, b, n / (128 * 64) % 8, j, n % 64, garbage);
        }
    }
    for (int64_t n = 0; by_mask && n < 4 * 8 * 128; n++) {
        view_set(&p.mask, n / (8 * 128), n / 128 % 8, 0, n % 128, n % 128 < lens[n / (8 * 128)]);
    }
    for (int64_t b = 0; !by_mask && b < 4; b++) {
        view_set(&p.kv_lens, b, 0, 0, 0, (double)lens[b]);
    }
    assert_result_all(&p, 1);
    problem_free(&p);
}

static void test_garbage_in_unused_cache_slots(void **state) {
    (void)state;
    for (int by_mask = 0; by_mask <= 1; by_mask++) {
        assert_cache_case((double)NAN, by_mask);
        assert_cache_case((double)INFINITY, by_mask);
    }
}

static void test_masked_key_loses_to_very_negative_logits(void **state) {
    (void)state;
    for (int half = 0; half <= 1; half++) {
        problem p = problem_of_one_row(2);
        set_types(&p, half ? OCLATTN_F16 : OCLATTN_F32);
        p.desc.score.flags |= OCLATTN_MASK;
        fill_row(&p, half ? -256 : -30000, (double[]){half ? 256 : 1, 0}, (double[]){7, -5});
        view_fill_from(&p.mask, (double[]){1, 0});
        assert_result_all(&p, 7);
        problem_free(&p);
    }
}

/* Causal, so that only rows from `key` on see the key that is not a number. The reference knows which those are. */
static void assert_not_swallowed(int64_t length, int64_t dim, int64_t key, bool in_k, double value) {
    random_source source = random_start(3, (uint64_t)length);
    problem p = problem_new(1, 1, 1, length, length, dim, dim);
    p.desc.score.flags |= OCLATTN_CAUSAL;
    problem_allocate(&p, NULL);
    view_fill_random(&p.k, &source, 1);
    view_fill_random(&p.v, &source, 1);
    view_fill(&p.q, 0.5);
    view_set(in_k ? &p.k : &p.v, 0, 0, key, dim / 2, value);
    assert_problem(&p);
    assert_true(isnan(view_result(&p.o, 0, 0, length - 1, dim / 2)));
    assert_true(key == 0 || isfinite(view_result(&p.o, 0, 0, key - 1, dim / 2)));
    problem_free(&p);
}

static void test_visible_nan_and_infinity_reach_the_output(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 0}, {3, 1, 1}, {70, 8, 33}, {130, 70, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assert_not_swallowed(shapes[i][0], shapes[i][1], shapes[i][2], true, (double)NAN);
        assert_not_swallowed(shapes[i][0], shapes[i][1], shapes[i][2], false, (double)NAN);
        assert_not_swallowed(shapes[i][0], shapes[i][1], shapes[i][2], true, (double)INFINITY);
    }
}

static void assert_causal_case(int64_t q_len, int64_t kv_len, oclattn_alignment align, const double *expected) {
    const double v[] = {1, 2, 3, 4, 5};
    problem p = problem_new(1, 1, 1, q_len, kv_len, 1, 1);
    p.desc.score.flags |= OCLATTN_CAUSAL;
    p.desc.score.align = align;
    fill_mean(&p, v);
    assert_result(&p, expected);
    problem_free(&p);
}

static void test_causal_alignment(void **state) {
    (void)state;
    assert_causal_case(2, 5, OCLATTN_ALIGN_BOTTOM_RIGHT, (double[]){2.5, 3});
    assert_causal_case(2, 5, OCLATTN_ALIGN_TOP_LEFT, (double[]){1, 1.5});
    assert_causal_case(5, 2, OCLATTN_ALIGN_BOTTOM_RIGHT, (double[]){0, 0, 0, 1, 1.5});
    assert_causal_case(5, 2, OCLATTN_ALIGN_TOP_LEFT, (double[]){1, 1.5, 1.5, 1.5, 1.5});
    assert_causal_case(1, 4, OCLATTN_ALIGN_TOP_LEFT, (double[]){1});
    assert_causal_case(1, 4, OCLATTN_ALIGN_BOTTOM_RIGHT, (double[]){2.5});
}

static void test_window_bounds(void **state) {
    (void)state;
    const double v[] = {1, 10, 100, 1000, 10000, 100000};
    const double with_one_before[] = {1, 5.5, 55, 550, 5500, 55000};
    for (int64_t left = 0; left <= 1; left++) {
        problem p = problem_new(1, 1, 1, 6, 6, 1, 1);
        p.desc.score.flags |= OCLATTN_CAUSAL;
        p.desc.score.window_left = left;
        fill_mean(&p, v);
        assert_result(&p, left ? with_one_before : v);
        problem_free(&p);
    }
}

static void test_past_is_an_offset(void **state) {
    (void)state;
    const double v[] = {1, 2, 3, 4, 5, 6};
    for (int windowed = 0; windowed <= 1; windowed++) {
        problem p = problem_new(1, 1, 1, 2, 6, 1, 1);
        p.desc.score.flags |= OCLATTN_CAUSAL;
        p.desc.score.align = OCLATTN_ALIGN_OFFSET;
        p.desc.score.window_left = windowed ? 1 : -1;
        fill_mean(&p, v);
        view_fill(&p.offsets, 3);
        assert_result(&p, windowed ? (double[]){3.5, 4.5} : (double[]){2.5, 3});
        problem_free(&p);
    }
}

static void test_alibi_with_any_number_of_heads(void **state) {
    (void)state;
    const double expected_slopes[] = {.25, .0625, .015625, .00390625, .5, .125};
    float slopes[6];
    oclattn_alibi_slopes(6, slopes);
    problem p = problem_new(1, 6, 6, 1, 2, 1, 1);
    p.desc.score.flags |= OCLATTN_ALIBI;
    p.desc.score.align = OCLATTN_ALIGN_BOTTOM_RIGHT;
    problem_allocate(&p, NULL);
    view_fill(&p.q, 0);
    view_fill(&p.k, 1);
    for (int64_t h = 0; h < 6; h++) {
        assert_true((double)slopes[h] == expected_slopes[h]);
        view_set(&p.alibi_slopes, h, 0, 0, 0, (double)slopes[h]);
        view_set(&p.v, 0, h, 0, 0, 0);
        view_set(&p.v, 0, h, 1, 0, 1);
    }
    assert_result(&p, (double[]){.5621765, .5156199, .5039062, .5009766, .6224593, .5312094});
    problem_free(&p);
}

static void test_kv_lens_of_zero(void **state) {
    (void)state;
    const double nan = (double)NAN;
    problem p = problem_new(3, 1, 1, 1, 3, 1, 1);
    p.desc.score.flags |= OCLATTN_KV_LENS;
    fill_mean(&p, (double[]){5, 5, 5, 7, nan, nan, 1, 2, 6});
    view_fill_from(&p.kv_lens, (double[]){0, 1, 3});
    assert_result(&p, (double[]){0, 7, 3});
    problem_free(&p);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softcap_comes_before_the_mask),
        cmocka_unit_test(test_finite_masks_are_numbers),
        cmocka_unit_test(test_fully_masked_row_is_zero),
        cmocka_unit_test(test_garbage_in_unused_cache_slots),
        cmocka_unit_test(test_masked_key_loses_to_very_negative_logits),
        cmocka_unit_test(test_visible_nan_and_infinity_reach_the_output),
        cmocka_unit_test(test_causal_alignment),
        cmocka_unit_test(test_window_bounds),
        cmocka_unit_test(test_past_is_an_offset),
        cmocka_unit_test(test_alibi_with_any_number_of_heads),
        cmocka_unit_test(test_kv_lens_of_zero),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
