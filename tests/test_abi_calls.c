/* Invalid arguments of a call, one at a time: each is refused with a message that names it, no output is touched. */
#include <problem.h>
#include <wrong_field.h>

/* ---- arguments of attention ------------------------------------------------------------------------------------- */

/* A problem that uses every tensor, with a workspace. */
static problem full_problem(void) {
    random_source source = random_start(6, 6);
    problem p = problem_new(2, 4, 2, 5, 40, 8, 8);
    p.desc.want_lse = 1;
    p.desc.scores_kind = OCLATTN_PROBABILITIES;
    p.desc.kv_chunk = 16;
    p.desc.score.flags |= OCLATTN_MASK | OCLATTN_BIAS | OCLATTN_BIAS_SCALE | OCLATTN_ALIBI | OCLATTN_SINKS |
                          OCLATTN_Q_LENS | OCLATTN_KV_LENS | OCLATTN_RUNTIME_LENGTHS;
    p.desc.score.align = OCLATTN_ALIGN_OFFSET;
    problem_allocate(&p, NULL);
    problem_fill(&p, &source, 0);
    problem_upload(&p);
    return p;
}

static void assert_outputs_untouched(problem *p) {
    clFinish(device.in_order);
    problem_download(p);
    assert_true(storage_is_untouched(p->o.memory, p->o.offset));
    assert_true(storage_is_untouched(p->lse.memory, p->lse.offset));
    assert_true(storage_is_untouched(p->scores.memory, p->scores.offset));
    assert_null(storage_damage(p->o.memory));
    assert_null(storage_damage(p->lse.memory));
    assert_null(storage_damage(p->scores.memory));
}

typedef struct enqueue_fixture {
    problem p;
    oclattn_plan *plan;
    oclattn_attention_args args;
} enqueue_fixture;

static enqueue_fixture fixture_new(void) {
    oclattn_error error;
    enqueue_fixture f = {.p = full_problem(), .plan = NULL};
    assert_ok(oclattn_attention_plan(device.context, &f.p.desc, &f.plan, &error), &error);
    assert_true(oclattn_plan_workspace_bytes(f.plan) > 0);
    problem_args(&f.p, &f.args);
    f.args.workspace = workspace_new(f.plan);
    return f;
}

static void fixture_free(enqueue_fixture *f) {
    buffer_free(f->args.workspace);
    oclattn_plan_destroy(f->plan);
    problem_free(&f->p);
}

static void assert_enqueue_refused(enqueue_fixture *f, const oclattn_attention_args *args, cl_command_queue queue,
                                   oclattn_status status, const char *word) {
    oclattn_error error;
    assert_refused(oclattn_attention_enqueue(f->plan, queue, args, 0, NULL, NULL, &error), status, &error, word);
    assert_outputs_untouched(&f->p);
}

static void test_attention_arguments(void **state) {
    (void)state;
    typedef oclattn_attention_args args;
    static const wrong_field fields[] = {
        {FIELD(args, struct_size), 0, OCLATTN_INVALID_ARGUMENT, "struct_size"},
        {FIELD(args, struct_size), sizeof(args) + 8, OCLATTN_INVALID_ARGUMENT, "oclattn_attention_args"},
        {FIELD(args, q.buffer), 0, OCLATTN_INVALID_ARGUMENT, "q has"},
        {FIELD(args, k.buffer), 0, OCLATTN_INVALID_ARGUMENT, "k has"},
        {FIELD(args, v.buffer), 0, OCLATTN_INVALID_ARGUMENT, "v has"},
        {FIELD(args, o.buffer), 0, OCLATTN_INVALID_ARGUMENT, "o has"},
        {FIELD(args, lse.buffer), 0, OCLATTN_INVALID_ARGUMENT, "lse has"},
        {FIELD(args, scores.buffer), 0, OCLATTN_INVALID_ARGUMENT, "scores has"},
        {FIELD(args, score.mask.buffer), 0, OCLATTN_INVALID_ARGUMENT, "mask has"},
        {FIELD(args, score.bias.buffer), 0, OCLATTN_INVALID_ARGUMENT, "bias has"},
        {FIELD(args, score.bias_scale.buffer), 0, OCLATTN_INVALID_ARGUMENT, "bias_scale has"},
        {FIELD(args, score.alibi_slopes.buffer), 0, OCLATTN_INVALID_ARGUMENT, "alibi_slopes has"},
        {FIELD(args, score.sinks.buffer), 0, OCLATTN_INVALID_ARGUMENT, "sinks has"},
        {FIELD(args, score.q_lens.buffer), 0, OCLATTN_INVALID_ARGUMENT, "q_lens has"},
        {FIELD(args, score.kv_lens.buffer), 0, OCLATTN_INVALID_ARGUMENT, "kv_lens has"},
        {FIELD(args, score.offsets.buffer), 0, OCLATTN_INVALID_ARGUMENT, "offsets has"},
        {FIELD(args, q.offset), -1, OCLATTN_INVALID_ARGUMENT, "offset of q"},
        {FIELD(args, k.offset), 15, OCLATTN_INVALID_ARGUMENT, "buffer of k"},
        {FIELD(args, v.offset), INT64_MAX, OCLATTN_INVALID_ARGUMENT, "v"},
        {FIELD(args, o.offset), 1000000, OCLATTN_INVALID_ARGUMENT, "buffer of o"},
        {FIELD(args, lse.offset), 1000, OCLATTN_INVALID_ARGUMENT, "buffer of lse"},
        {FIELD(args, scores.offset), 100000, OCLATTN_INVALID_ARGUMENT, "buffer of scores"},
        {FIELD(args, score.mask.offset), 15, OCLATTN_INVALID_ARGUMENT, "buffer of mask"},
        {FIELD(args, score.bias.offset), 15, OCLATTN_INVALID_ARGUMENT, "buffer of bias"},
        {FIELD(args, score.sinks.offset), 15, OCLATTN_INVALID_ARGUMENT, "buffer of sinks"},
        {FIELD(args, score.kv_lens.offset), 15, OCLATTN_INVALID_ARGUMENT, "buffer of kv_lens"},
        {FIELD(args, workspace), 0, OCLATTN_INVALID_ARGUMENT, "workspace"},
        {FIELD(args, q_len), 6, OCLATTN_INVALID_ARGUMENT, "q_len"},
        {FIELD(args, kv_len), 41, OCLATTN_INVALID_ARGUMENT, "kv_len"},
        {FIELD(args, kv_len), -2, OCLATTN_INVALID_ARGUMENT, "kv_len"},
    };
    enqueue_fixture f = fixture_new();
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        args wrong = f.args;
        write_field(&wrong, &fields[i]);
        assert_enqueue_refused(&f, &wrong, device.in_order, fields[i].status, fields[i].word);
    }
    fixture_free(&f);
}

static void test_tensors_that_do_not_fit(void **state) {
    (void)state;
    enqueue_fixture f = fixture_new();
    const int64_t too_far[3] = {10000, 1000, 8};
    const int64_t overlapping[3] = {160, 40, 4};
    const int64_t negative[3] = {160, 40, -8};
    const int64_t one[1] = {1};
    oclattn_attention_args wrong = f.args;
    wrong.q.strides = too_far;
    assert_enqueue_refused(&f, &wrong, device.in_order, OCLATTN_INVALID_ARGUMENT, "buffer of q");
    wrong = f.args;
    wrong.o.strides = overlapping;
    assert_enqueue_refused(&f, &wrong, device.in_order, OCLATTN_INVALID_ARGUMENT, "o overlaps");
    wrong = f.args;
    wrong.k.strides = negative;
    assert_enqueue_refused(&f, &wrong, device.in_order, OCLATTN_INVALID_ARGUMENT, "k");
    wrong = f.args;
    wrong.score.sinks.strides = one;
    assert_enqueue_refused(&f, &wrong, device.in_order, OCLATTN_INVALID_ARGUMENT, "sinks");
    wrong = f.args;
    wrong.score.q_starts = f.args.score.q_lens;
    assert_enqueue_refused(&f, &wrong, device.in_order, OCLATTN_INVALID_ARGUMENT, "q_starts");
    wrong = f.args;
    wrong.score.reserved[2] = f.args.q;
    assert_enqueue_refused(&f, &wrong, device.in_order, OCLATTN_UNSUPPORTED, "reserved");
    fixture_free(&f);
}

static void test_outputs_that_overlap(void **state) {
    (void)state;
    enqueue_fixture f = fixture_new();
    oclattn_attention_args wrong = f.args;
    wrong.o = f.args.q;
    assert_enqueue_refused(&f, &wrong, device.in_order, OCLATTN_INVALID_ARGUMENT, "o overlaps q");
    wrong = f.args;
    wrong.lse = f.args.o;
    assert_enqueue_refused(&f, &wrong, device.in_order, OCLATTN_INVALID_ARGUMENT, "o overlaps lse");
    wrong = f.args;
    wrong.scores.buffer = f.args.workspace;
    wrong.scores.offset = 0;
    assert_enqueue_refused(&f, &wrong, device.in_order, OCLATTN_INVALID_ARGUMENT, "scores");
    fixture_free(&f);
}

static void test_workspace_that_is_too_small(void **state) {
    (void)state;
    enqueue_fixture f = fixture_new();
    oclattn_attention_args wrong = f.args;
    wrong.workspace = buffer_new(oclattn_plan_workspace_bytes(f.plan) - 1, NULL);
    assert_enqueue_refused(&f, &wrong, device.in_order, OCLATTN_INVALID_ARGUMENT, "workspace");
    buffer_free(wrong.workspace);
    fixture_free(&f);
}

static void test_queues_and_wait_lists(void **state) {
    (void)state;
    enqueue_fixture f = fixture_new();
    oclattn_error error;
    cl_int code;
    const cl_context other = clCreateContext(NULL, 1, &device.id, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_command_queue foreign = clCreateCommandQueue(other, device.id, 0, &code);
    assert_enqueue_refused(&f, &f.args, NULL, OCLATTN_INVALID_ARGUMENT, "queue");
    assert_enqueue_refused(&f, &f.args, foreign, OCLATTN_INVALID_ARGUMENT, "queue");
    assert_refused(oclattn_attention_enqueue(f.plan, device.in_order, &f.args, 1, NULL, NULL, &error),
                   OCLATTN_INVALID_ARGUMENT, &error, "wait_list");
    const cl_event no_event = NULL;
    assert_refused(oclattn_attention_enqueue(f.plan, device.in_order, &f.args, 1, &no_event, NULL, &error),
                   OCLATTN_INVALID_ARGUMENT, &error, "wait_list[0]");
    oclattn_attention_args wrong = f.args;
    wrong.v.buffer = clCreateBuffer(other, CL_MEM_READ_ONLY, 1 << 20, NULL, &code);
    assert_enqueue_refused(&f, &wrong, device.in_order, OCLATTN_INVALID_ARGUMENT, "buffer of v belongs to another");
    clReleaseMemObject(wrong.v.buffer);
    assert_outputs_untouched(&f.p);
    clReleaseCommandQueue(foreign);
    clReleaseContext(other);
    fixture_free(&f);
}

static void test_plan_of_another_operation(void **state) {
    (void)state;
    oclattn_error error;
    oclattn_plan *plan = NULL;
    oclattn_merge_states_desc desc;
    oclattn_merge_states_desc_init(&desc);
    desc.rows = desc.v_dim = 4;
    assert_ok(oclattn_merge_states_plan(device.context, &desc, &plan, &error), &error);
    enqueue_fixture f = fixture_new();
    assert_refused(oclattn_attention_enqueue(plan, device.in_order, &f.args, 0, NULL, NULL, &error),
                   OCLATTN_INVALID_ARGUMENT, &error, "plan");
    assert_outputs_untouched(&f.p);
    fixture_free(&f);
    oclattn_plan_destroy(plan);
}

/* Lengths may vary only where the plan says so. */
static void test_lengths_that_are_fixed(void **state) {
    (void)state;
    problem p = problem_new(1, 1, 1, 4, 4, 8, 8);
    oclattn_error error;
    problem_allocate(&p, NULL);
    p.kv_len = 3;
    assert_refused(problem_run(&p, &error), OCLATTN_INVALID_ARGUMENT, &error, "kv_len");
    assert_true(storage_is_untouched(p.o.memory, p.o.offset));
    problem_free(&p);
}

static void test_host_arguments(void **state) {
    (void)state;
    oclattn_error error;
    oclattn_attention_host_args args;
    const oclattn_attention_desc desc = problem_new(2, 4, 2, 5, 5, 8, 8).desc;
    float values[2 * 4 * 5 * 8] = {0};
    float o[2 * 4 * 5 * 8] = {-7};
    oclattn_attention_host_args_init(&args);
    args.q = args.k = args.v = values;
    assert_refused(oclattn_attention_host(device.context, &desc, &args, &error), OCLATTN_INVALID_ARGUMENT, &error, "o");
    args.o = o;
    args.k = NULL;
    assert_refused(oclattn_attention_host(device.context, &desc, &args, &error), OCLATTN_INVALID_ARGUMENT, &error, "k");
    args.k = values;
    args.struct_size = 0;
    assert_refused(oclattn_attention_host(device.context, &desc, &args, &error), OCLATTN_INVALID_ARGUMENT, &error,
                   "struct_size");
    assert_true(o[0] == -7);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_arguments),
        cmocka_unit_test(test_tensors_that_do_not_fit),
        cmocka_unit_test(test_outputs_that_overlap),
        cmocka_unit_test(test_workspace_that_is_too_small),
        cmocka_unit_test(test_queues_and_wait_lists),
        cmocka_unit_test(test_plan_of_another_operation),
        cmocka_unit_test(test_lengths_that_are_fixed),
        cmocka_unit_test(test_host_arguments),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
