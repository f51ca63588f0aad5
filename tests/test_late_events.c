/* Commands that the layer of tests/layer begins late: what waits for them waits, and events cover the last command. */
#define _POSIX_C_SOURCE 200809L /* setenv, nanosleep */
#include <mha_problem.h>
#include <problem.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/fault_sweep.h"

enum { ROUNDS = 10, LONG_ROUNDS = 300 };

static void play_delay(const char *text) {
    setenv("OCLATTN_LAYER_DELAY", text, 1);
}

static int stop_delays(void **state) {
    (void)state;
    play_delay("");
    return 0;
}

/* A chance for commands that do not wait, where they should, to run. */
static void let_others_run(void) {
    const struct timespec pause = {0, 20000000};
    nanosleep(&pause, NULL);
}

static cl_int state_of(cl_event event) {
    cl_int code = CL_COMPLETE;
    assert_int_equal(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof code, &code, NULL), CL_SUCCESS);
    return code;
}

/* The bytes of an input come after the call that reads them was enqueued. */
static cl_event write_late(storage *input) {
    cl_event event = NULL;
    const size_t bytes = (size_t)input->count * element_bytes(input->type);
    const cl_command_queue queue = clCreateCommandQueue(device.cl, device.id, 0, NULL);
    assert_non_null(queue);
    memset(input->result, 0xFF, bytes);
    buffer_write(input->buffer, bytes, input->result);
    play_delay("hold");
    assert_int_equal(clEnqueueWriteBuffer(queue, input->buffer, CL_FALSE, 0, bytes, input->image, 0, NULL, &event),
                     CL_SUCCESS);
    assert_int_equal(clFlush(queue), CL_SUCCESS);
    play_delay("");
    clReleaseCommandQueue(queue);
    return event;
}

/* Lets the late input arrive once the call that waits for it was enqueued. */
static void release_and_wait(cl_event input, cl_event event) {
    assert_non_null(event);
    let_others_run();
    assert_true(state_of(input) != CL_COMPLETE);
    assert_true(state_of(event) != CL_COMPLETE);
    play_delay("release");
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    assert_int_equal(state_of(input), CL_COMPLETE);
    clReleaseEvent(event);
    clReleaseEvent(input);
}

static cl_command_queue queue_number(int number) {
    return number == 0 || !device.out_of_order ? device.in_order : device.out_of_order;
}

/* ---- waiting for inputs ----------------------------------------------------------------------------------------- */

static void test_attention_waits(void **state) {
    (void)state;
    for (int number = 0; number < 2; number++) {
        random_source source = random_start(options.seed, (uint64_t)number);
        problem p = problem_new(1, 2, 1, 7, 90, 16, 16);
        oclattn_attention_args args;
        oclattn_plan *plan = NULL;
        oclattn_error error;
        char message[PROBLEM_MESSAGE_SIZE];
        p.desc.variant = "attention_portable";
        p.desc.kv_chunk = 32;
        p.desc.scores_kind = OCLATTN_PROBABILITIES;
        problem_allocate(&p, &source);
        problem_fill(&p, &source, 0);
        problem_upload(&p);
        problem_args(&p, &args);
        assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
        args.workspace = workspace_new(plan);
        cl_event event = NULL;
        const cl_event input = write_late(p.v.memory);
        assert_ok(oclattn_attention_enqueue(plan, queue_number(number), &args, 1, &input, &event, &error), &error);
        release_and_wait(input, event);
        problem_download(&p);
        if (!problem_check(&p, message)) {
            fail_msg("%s", message);
        }
        buffer_free(args.workspace);
        oclattn_plan_destroy(plan);
        problem_free(&p);
    }
}

static void assert_mha_waits(int queue, uint32_t flags, const char *projection) {
    random_source source = random_start(options.seed, (uint64_t)queue);
    mha_problem p = mha_new(2, 12, 32, 2);
    oclattn_plan *plan = NULL;
    oclattn_weights *weights = NULL;
    oclattn_mha_args args;
    oclattn_error error;
    p.desc.flags |= flags;
    p.desc.projection_variant = projection;
    mha_allocate(&p, &source);
    mha_fill(&p, &source);
    mha_upload(&p);
    mha_args(&p, &args);
    assert_ok(oclattn_mha_plan(device.context, &p.desc, &plan, &error), &error);
    assert_ok(mha_prepare_weights(&p, plan, queue_number(queue), &weights, &error), &error);
    args.weights = weights;
    args.workspace = workspace_new(plan);
    cl_event event = NULL;
    const cl_event input = write_late(p.x.memory);
    assert_ok(oclattn_mha_enqueue(plan, queue_number(queue), &args, 1, &input, &event, &error), &error);
    release_and_wait(input, event);
    mha_download(&p);
    assert_mha(&p);
    buffer_free(args.workspace);
    oclattn_weights_destroy(weights);
    oclattn_plan_destroy(plan);
    mha_free(&p);
}

static void test_mha_waits(void **state) {
    (void)state;
    for (int number = 0; number < 2; number++) {
        assert_mha_waits(number, 0, NULL);
        assert_mha_waits(number, OCLATTN_MHA_SPLIT_MERGE, "projection_portable");
        assert_mha_waits(number, 0, "projection_clblast");
    }
}

static void test_nothing_waits_too(void **state) {
    (void)state;
    for (int number = 0; number < 2; number++) {
        problem p = problem_new(1, 1, 1, 0, 5, 4, 4);
        oclattn_attention_args args;
        oclattn_plan *plan = NULL;
        oclattn_error error;
        cl_event event = NULL;
        problem_allocate(&p, NULL);
        problem_upload(&p);
        problem_args(&p, &args);
        assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
        const cl_event input = write_late(p.k.memory);
        assert_ok(oclattn_attention_enqueue(plan, queue_number(number), &args, 1, &input, &event, &error), &error);
        release_and_wait(input, event);
        oclattn_plan_destroy(plan);
        problem_free(&p);
    }
}

/* Weights are prepared behind what the queue holds, and are ready when the call returns. */
static void test_weights_are_complete(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        random_source source = random_start(options.seed, 20 + (uint64_t)round);
        mha_problem p = mha_random(&source);
        p.desc.attention_variant = "attention_portable";
        play_delay(round % 2 ? "0,6" : "6,1,0");
        mha_run(&p);
        play_delay("");
        assert_mha(&p);
        mha_free(&p);
    }
}

/* ---- events of chains ------------------------------------------------------------------------------------------- */

static int rounds(void) {
    return options.is_long ? LONG_ROUNDS : ROUNDS;
}

static void play_random_delays(random_source *source) {
    static const char *const delays[] = {"4,0", "0,5,1", "7,0,0,3", "1,6,2,0,4", "3"};
    play_delay(delays[random_between(source, 0, 4)]);
}

/* problem_run waits for the event only, and reads on another queue. */
static void test_events_cover_the_last_command(void **state) {
    (void)state;
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, 40 + (uint64_t)round);
        problem p = problem_random(&source, 1ull << FEATURE_SCORES | 1ull << FEATURE_KV_CHUNK | 1ull << FEATURE_LSE);
        p.desc.variant = "attention_portable";
        oclattn_error error;
        char message[PROBLEM_MESSAGE_SIZE];
        play_random_delays(&source);
        assert_ok(round % 2 ? problem_run(&p, &error) : problem_run_host(&p, &error), &error);
        play_delay("");
        if (!problem_check(&p, message)) {
            fail_msg("round %d: %s", round, message);
        }
        problem_free(&p);
    }
}

static void test_chains_of_mha(void **state) {
    (void)state;
    for (int round = 0; round < rounds(); round++) {
        random_source source = random_start(options.seed, 400 + (uint64_t)round);
        mha_problem p = mha_new(1, 9, 24, 3);
        oclattn_error error;
        p.desc.flags |= round % 2 ? OCLATTN_MHA_SPLIT_MERGE : 0;
        p.desc.projection_variant = round % 3 == 0 ? "projection_clblast" : "projection_portable";
        mha_allocate(&p, &source);
        mha_fill(&p, &source);
        play_random_delays(&source);
        if (round % 4 == 3) {
            assert_ok(mha_run_host(&p, &error), &error);
        } else {
            mha_run(&p);
        }
        play_delay("");
        assert_mha(&p);
        mha_free(&p);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_attention_waits, stop_delays),
        cmocka_unit_test_teardown(test_mha_waits, stop_delays),
        cmocka_unit_test_teardown(test_nothing_waits_too, stop_delays),
        cmocka_unit_test_teardown(test_weights_are_complete, stop_delays),
        cmocka_unit_test_teardown(test_events_cover_the_last_command, stop_delays),
        cmocka_unit_test_teardown(test_chains_of_mha, stop_delays),
    };
    setenv("OCLATTN_LAYER_DELAY", "", 1);
    options.few_programs = true;
    return fault_layer_is_loaded() ? harness_run(argc, argv, tests, sizeof tests / sizeof *tests) : 77;
}
