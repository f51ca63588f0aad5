/* F(H): the sample from a trained model, random problems, order on queues, and the host version. */
#include <io/safetensors.h>
#include <math.h>
#include <mha_problem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 120, LONG_ROUNDS = 2000, SAMPLE_ROWS = 51, SAMPLE_WIDTH = 384, SAMPLE_HEADS = 12 };

/* ---- the sample ------------------------------------------------------------------------------------------------- */

static double *read_tensor(safetensors *file, const char *name) {
    failure f;
    host_array array = {0};
    if (!safetensors_read(file, name, &array, &f)) {
        fail_msg("%s", f.text);
    }
    double *values = must_allocate(array.count * sizeof *values);
    for (size_t i = 0; i < array.count; i++) {
        values[i] = array_value(&array, i);
    }
    array_free(&array);
    return values;
}

static void fill_from(safetensors *file, const char *name, const view *tensor) {
    double *values = read_tensor(file, name);
    view_fill_from(tensor, values);
    free(values);
}

/* The sample; `expected` is the caller's to free. */
static mha_problem read_sample(double **expected) {
    static const char path[] = TEST_DATA_DIR "/minilm_layer0.safetensors";
    static const char *const w[MHA_MATRICES] = {"W_q", "W_k", "W_v", "W_head"};
    static const char *const b[MHA_MATRICES] = {"b_q", "b_k", "b_v", "b_head"};
    failure f;
    safetensors *file = safetensors_open("the sample", path, &f);
    if (!file) {
        fail_msg("%s", f.text);
    }
    mha_problem p = mha_new(1, SAMPLE_ROWS, SAMPLE_WIDTH, SAMPLE_HEADS);
    p.desc.flags |= OCLATTN_MHA_B_Q | OCLATTN_MHA_B_K | OCLATTN_MHA_B_V | OCLATTN_MHA_B_HEAD;
    mha_allocate(&p, NULL);
    fill_from(file, "H", &p.x);
    for (int i = 0; i < MHA_MATRICES; i++) {
        fill_from(file, w[i], &p.w[i]);
        fill_from(file, b[i], &p.b[i]);
    }
    *expected = read_tensor(file, "F");
    safetensors_close(file);
    return p;
}

static double largest_error(const view *y, const double *expected) {
    double *got = view_results(y);
    double most = 0;
    for (int64_t i = 0; i < view_count(y); i++) {
        const double error = fabs(got[i] - expected[i]);
        most = error <= most ? most : error;
    }
    free(got);
    return most;
}

static void assert_sample_error(const mha_problem *p, const double *expected) {
    const double error = largest_error(&p->y, expected);
    if (!(error <= 2e-6)) {
        fail_msg("the largest error is %.3g", error);
    }
}

static unsigned char *copy_of_results(const storage *memory) {
    const size_t bytes = (size_t)memory->count * element_bytes(memory->type);
    unsigned char *copy = must_allocate(bytes);
    memcpy(copy, memory->result, bytes);
    return copy;
}

static bool has_results(const storage *memory, const unsigned char *copy) {
    return memcmp(copy, memory->result, (size_t)memory->count * element_bytes(memory->type)) == 0;
}

static void test_sample(void **state) {
    (void)state;
    double *expected = NULL;
    mha_problem p = read_sample(&expected);
    mha_run(&p);
    assert_sample_error(&p, expected);
    unsigned char *first = copy_of_results(p.y.memory);
    for (int i = 1; i < 20; i++) {
        mha_run(&p);
        assert_true(has_results(p.y.memory, first));
    }
    p.desc.flags |= OCLATTN_MHA_SPLIT_MERGE;
    mha_run(&p);
    assert_true(has_results(p.y.memory, first));
    free(first);
    free(expected);
    mha_free(&p);
}

static void test_sample_with_each_projection(void **state) {
    (void)state;
    static const char *const variants[] = {"projection_portable", "projection_clblast"};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        double *expected = NULL;
        oclattn_error error;
        mha_problem p = read_sample(&expected);
        p.desc.projection_variant = variants[i];
        const oclattn_status status = oclattn_mha_check(device.context, &p.desc, &error);
        if (status == OCLATTN_UNSUPPORTED && i == 1) {
            assert_true(strlen(error.message) > 10);
        } else {
            assert_ok(status, &error);
            mha_run(&p);
            assert_sample_error(&p, expected);
        }
        free(expected);
        mha_free(&p);
    }
}

static void test_sample_from_host_memory(void **state) {
    (void)state;
    double *expected = NULL;
    oclattn_error error;
    mha_problem p = read_sample(&expected);
    assert_ok(mha_run_host(&p, &error), &error);
    assert_sample_error(&p, expected);
    assert_mha(&p);
    free(expected);
    mha_free(&p);
}

/* ---- random problems -------------------------------------------------------------------------------------------- */

static void test_random_problems(void **state) {
    (void)state;
    const int rounds = options.is_long ? LONG_ROUNDS : ROUNDS;
    for (int round = 0; round < rounds; round++) {
        random_source source = random_start(options.seed, (uint64_t)round);
        mha_problem p = mha_random(&source);
        oclattn_error error;
        if (round % 8 == 7) {
            assert_ok(mha_run_host(&p, &error), &error);
        } else {
            mha_run(&p);
        }
        assert_mha(&p);
        mha_free(&p);
    }
}

static void test_split_and_merge_change_no_bits(void **state) {
    (void)state;
    for (int round = 0; round < 30; round++) {
        random_source source = random_start(options.seed, 1000 + (uint64_t)round);
        mha_problem p = mha_random(&source);
        p.desc.flags &= ~OCLATTN_MHA_SPLIT_MERGE;
        mha_run(&p);
        unsigned char *free_ones = copy_of_results(p.y.memory);
        p.desc.flags |= OCLATTN_MHA_SPLIT_MERGE;
        mha_run(&p);
        assert_true(has_results(p.y.memory, free_ones));
        free(free_ones);
        mha_free(&p);
    }
}

static void test_nothing_to_do(void **state) {
    (void)state;
    for (int64_t batch = 0; batch <= 2; batch += 2) {
        mha_problem p = mha_new(batch, batch ? 0 : 5, 12, 3);
        random_source source = random_start(0, 0);
        mha_allocate(&p, NULL);
        mha_fill(&p, &source);
        mha_run(&p);
        assert_null(storage_damage(p.y.memory));
        mha_free(&p);
    }
}

/* Without a key every head is 0, so that only the last bias is left. */
static void test_no_keys(void **state) {
    (void)state;
    mha_problem p = mha_new(2, 3, 12, 3);
    random_source source = random_start(0, 0);
    p.desc.flags |= OCLATTN_MHA_CROSS | OCLATTN_MHA_B_HEAD;
    p.desc.kv_len = 0;
    mha_allocate(&p, NULL);
    mha_fill(&p, &source);
    mha_run(&p);
    for (int64_t n = 0; n < view_count(&p.y); n++) {
        assert_true(view_result(&p.y, n / 36, n / 12 % 3, n % 12, 0) == view_get(&p.b[3], n % 12, 0, 0, 0));
    }
    mha_free(&p);
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

/* On an out-of-order queue the call waits for its list, and its event for the whole call: x is written only after the
 * call was enqueued. */
static void run_gated(mha_problem *p, const oclattn_plan *plan, const oclattn_weights *weights, const void *x) {
    oclattn_error error;
    oclattn_mha_args args;
    cl_int code;
    cl_event written = NULL;
    cl_event event = NULL;
    const cl_command_queue queue = device.out_of_order ? device.out_of_order : device.in_order;
    const size_t bytes = (size_t)p->x.memory->count * element_bytes(p->x.memory->type);
    const cl_event gate = clCreateUserEvent(device.cl, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clEnqueueWriteBuffer(queue, p->x.memory->buffer, CL_FALSE, 0, bytes, x, 1, &gate, &written),
                     CL_SUCCESS);
    mha_args(p, &args);
    args.weights = weights;
    args.workspace = workspace_new(plan);
    assert_ok(oclattn_mha_enqueue(plan, queue, &args, 1, &written, &event, &error), &error);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clEnqueueReadBuffer(queue, p->y.memory->buffer, CL_TRUE, 0,
                                         (size_t)p->y.memory->count * element_bytes(p->y.memory->type),
                                         p->y.memory->result, 1, &event, NULL),
                     CL_SUCCESS);
    clReleaseEvent(event);
    clReleaseEvent(written);
    clReleaseEvent(gate);
    buffer_free(args.workspace);
}

static void test_wait_lists_and_events_on_any_queue(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        random_source source = random_start(options.seed, 2000 + (uint64_t)round);
        mha_problem p = mha_random(&source);
        oclattn_error error;
        oclattn_plan *plan = NULL;
        oclattn_weights *weights = NULL;
        mha_run(&p);
        unsigned char *right = copy_of_results(p.y.memory);
        unsigned char *x = copy_of_results(p.x.memory);
        assert_ok(oclattn_mha_plan(device.context, &p.desc, &plan, &error), &error);
        assert_ok(mha_prepare_weights(&p, plan, device.in_order, &weights, &error), &error);
        memset(p.x.memory->image, 0xff, (size_t)p.x.memory->count * element_bytes(p.x.memory->type));
        storage_upload(p.x.memory);
        storage_upload(p.y.memory);
        run_gated(&p, plan, weights, x);
        assert_true(has_results(p.y.memory, right));
        free(x);
        free(right);
        oclattn_weights_destroy(weights);
        oclattn_plan_destroy(plan);
        mha_free(&p);
    }
}

/* ---- refusals and descriptions ---------------------------------------------------------------------------------- */

static void assert_mha_refused(const oclattn_mha_desc *desc, oclattn_status expected, const char *word) {
    oclattn_error error;
    oclattn_plan *plan = NULL;
    assert_refused(oclattn_mha_check(device.context, desc, &error), expected, &error, word);
    assert_refused(oclattn_mha_plan(device.context, desc, &plan, &error), expected, &error, word);
    assert_null(plan);
}

static void test_sizes_that_do_not_fit(void **state) {
    (void)state;
    mha_problem p = mha_new(1, 4, 770, 12);
    assert_mha_refused(&p.desc, OCLATTN_INVALID_ARGUMENT, "d_model");
    p = mha_new(1, 4, 768, 12);
    p.desc.n_kv_heads = 5;
    assert_mha_refused(&p.desc, OCLATTN_INVALID_ARGUMENT, "n_kv_heads");
    p = mha_new(1, 4, 768, 0);
    assert_mha_refused(&p.desc, OCLATTN_INVALID_ARGUMENT, "n_heads");
    p = mha_new(1, 4, 768, 12);
    p.desc.score.flags |= OCLATTN_RUNTIME_LENGTHS;
    assert_mha_refused(&p.desc, OCLATTN_UNSUPPORTED, "");
    p = mha_new(1, 4, 768, 12);
    p.desc.flags |= 1u << 30;
    assert_mha_refused(&p.desc, OCLATTN_UNSUPPORTED, "flags");
    p = mha_new(1, 4, 768, 12);
    p.desc.projection_variant = "no_such_variant";
    assert_mha_refused(&p.desc, OCLATTN_INVALID_ARGUMENT, "no_such_variant");
}

/* The textbook question: how wide is a head of a model of 768 with 12 heads? */
static void test_description_shows_the_width_of_a_head(void **state) {
    (void)state;
    oclattn_error error;
    oclattn_plan *plan = NULL;
    char text[4096];
    char start[20];
    mha_problem p = mha_new(1, 4, 768, 12);
    assert_ok(oclattn_mha_plan(device.context, &p.desc, &plan, &error), &error);
    const size_t length = oclattn_plan_describe(plan, NULL, 0);
    assert_true(length > 0 && length < sizeof text);
    assert_int_equal(oclattn_plan_describe(plan, text, sizeof text), length);
    assert_int_equal(strlen(text), length);
    assert_non_null(strstr(text, "64"));
    assert_int_equal(oclattn_plan_describe(plan, start, sizeof start), length);
    assert_int_equal(strlen(start), sizeof start - 1);
    assert_memory_equal(start, text, sizeof start - 1);
    oclattn_plan_destroy(plan);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_sample_with_each_projection),
        cmocka_unit_test(test_sample_from_host_memory),
        cmocka_unit_test(test_random_problems),
        cmocka_unit_test(test_split_and_merge_change_no_bits),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_no_keys),
        cmocka_unit_test(test_wait_lists_and_events_on_any_queue),
        cmocka_unit_test(test_sizes_that_do_not_fit),
        cmocka_unit_test(test_description_shows_the_width_of_a_head),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
