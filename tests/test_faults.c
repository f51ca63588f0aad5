/* Contexts and attention while OpenCL's calls fail, one after the other. */
#include <fault_sweep.h>
#include <problem.h>
#include <stdio.h>

/* ---- contexts --------------------------------------------------------------------------------------------------- */

static oclattn_status create_context(oclattn_context **context, oclattn_error *error) {
    oclattn_context_options wanted;
    oclattn_context_options_init(&wanted);
    return oclattn_context_create_from_cl(&wanted, device.cl, device.id, context, error);
}

static oclattn_status list_devices(oclattn_error *error) {
    oclattn_device_info infos[8];
    size_t count = 0;
    for (int i = 0; i < 8; i++) {
        oclattn_device_info_init(&infos[i]);
    }
    fault_arm();
    const oclattn_status status = oclattn_devices_list(infos, 8, &count, error);
    fault_disarm();
    return status;
}

static oclattn_status open_device(oclattn_error *error) {
    char spec[32];
    oclattn_context_options wanted;
    oclattn_context *context = NULL;
    snprintf(spec, sizeof spec, "%d:%d", device.info.platform_index, device.info.device_index);
    oclattn_context_options_init(&wanted);
    wanted.device = spec;
    wanted.cache_dir = "";
    fault_arm();
    const oclattn_status status = oclattn_context_create(&wanted, &context, error);
    oclattn_context_destroy(context);
    fault_disarm();
    assert_true((context != NULL) == (status == OCLATTN_OK));
    return status;
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

static problem attention;
static oclattn_plan *plan;

/* Three kernels, where keys are split in parts and the scores are shown; else one. */
static void make_problem(const char *variant, bool three_kernels) {
    random_source source = random_start(options.seed, 1);
    attention = problem_new(2, 2, 1, 5, 70, 16, 16);
    attention.desc.variant = variant;
    attention.desc.want_lse = 1;
    if (three_kernels) {
        attention.desc.kv_chunk = 32;
        attention.desc.scores_kind = OCLATTN_PROBABILITIES;
    }
    attention.desc.score.flags |= OCLATTN_CAUSAL | OCLATTN_KV_LENS;
    attention.desc.score.align = OCLATTN_ALIGN_BOTTOM_RIGHT;
    problem_allocate(&attention, &source);
    problem_fill(&attention, &source, 0);
}

static void assert_right(void) {
    char message[PROBLEM_MESSAGE_SIZE];
    if (!problem_check(&attention, message)) {
        fail_msg("reported as success: %s", message);
    }
}

/* In a context that has nothing in memory yet; the cache on disk has its programs. */
static oclattn_status plan_in_new_context(oclattn_error *error) {
    oclattn_context *context = NULL;
    oclattn_plan *made = NULL;
    oclattn_error other;
    assert_ok(create_context(&context, &other), &other);
    fault_arm();
    const oclattn_status status = oclattn_attention_plan(context, &attention.desc, &made, error);
    fault_disarm();
    assert_true((made != NULL) == (status == OCLATTN_OK));
    if (made) {
        assert_ok(problem_run_plan(&attention, made, &other), &other);
        assert_right();
    }
    fault_arm();
    oclattn_plan_destroy(made);
    oclattn_context_destroy(context);
    fault_disarm();
    return status;
}

/* A device that did not answer a question can be used all the same. */
static oclattn_status open_on_cl(oclattn_error *error) {
    oclattn_context *context = NULL;
    oclattn_plan *made = NULL;
    oclattn_error other;
    fault_arm();
    const oclattn_status status = create_context(&context, error);
    fault_disarm();
    assert_true((context != NULL) == (status == OCLATTN_OK));
    if (context) {
        assert_ok(oclattn_attention_plan(context, &attention.desc, &made, &other), &other);
        assert_ok(problem_run_plan(&attention, made, &other), &other);
        assert_right();
    }
    oclattn_plan_destroy(made);
    fault_arm();
    oclattn_context_destroy(context);
    fault_disarm();
    return status;
}

static oclattn_status enqueue(oclattn_error *error) {
    const cl_command_queue queue = device.out_of_order ? device.out_of_order : device.in_order;
    oclattn_attention_args args;
    cl_event event = NULL;
    problem_upload(&attention);
    problem_args(&attention, &args);
    args.workspace = workspace_new(plan);
    fault_arm();
    const oclattn_status status = oclattn_attention_enqueue(plan, queue, &args, 0, NULL, &event, error);
    fault_disarm();
    assert_true((event != NULL) == (status == OCLATTN_OK));
    if (event) {
        assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
        clReleaseEvent(event);
        problem_download(&attention);
        assert_right();
    }
    clFinish(queue);
    buffer_free(args.workspace);
    return status;
}

static oclattn_status run_from_host(oclattn_error *error) {
    fault_arm();
    const oclattn_status status = problem_run_host(&attention, error);
    fault_disarm();
    if (status == OCLATTN_OK) {
        assert_right();
    }
    return status;
}

static void test_contexts(void **state) {
    (void)state;
    make_problem("attention_portable", false);
    fault_sweep(&(fault_scenario){"oclattn_devices_list", list_devices});
    fault_sweep(&(fault_scenario){"oclattn_context_create", open_device});
    fault_sweep(&(fault_scenario){"oclattn_context_create_from_cl", open_on_cl});
    problem_free(&attention);
}

static void test_attention(void **state) {
    (void)state;
    oclattn_error error;
    make_problem("attention_portable", true);
    assert_ok(oclattn_attention_plan(device.context, &attention.desc, &plan, &error), &error);
    fault_sweep(&(fault_scenario){"oclattn_attention_enqueue", enqueue});
    fault_sweep(&(fault_scenario){"oclattn_attention_host", run_from_host});
    oclattn_plan_destroy(plan);
    problem_free(&attention);
}

/* Without a name the next variant is taken where one cannot be had. */
static void test_planning(void **state) {
    (void)state;
    make_problem(NULL, true);
    fault_sweep(&(fault_scenario){"oclattn_attention_plan", plan_in_new_context});
    problem_free(&attention);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_planning),
    };
    return fault_layer_is_loaded() ? harness_run(argc, argv, tests, sizeof tests / sizeof *tests) : 77;
}
