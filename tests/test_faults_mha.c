/* Projections and F(H) while OpenCL's calls fail, one after the other. */
#include <fault_helpers.h>
#include <fault_sweep.h>
#include <mha_problem.h>

static oclattn_plan *plan;

/* ---- projections ------------------------------------------------------------------------------------------------ */

enum { ROWS = 9, IN_DIM = 33, OUT_DIM = 20 };

static view x, w, b, y;
static oclattn_projection_desc projection;

static void make_projection(const char *variant) {
    x = fault_matrix(1, ROWS, IN_DIM, 1, false, 1);
    w = fault_matrix(IN_DIM, OUT_DIM, 1, 1, false, 1);
    b = fault_matrix(OUT_DIM, 1, 1, 1, false, 0.5);
    y = fault_matrix(1, ROWS, OUT_DIM, 1, true, 0);
    oclattn_projection_desc_init(&projection);
    projection.flags = OCLATTN_PROJECTION_BIAS;
    projection.batch = 1;
    projection.rows = ROWS;
    projection.in_dim = IN_DIM;
    projection.out_dim = OUT_DIM;
    projection.variant = variant;
    storage_upload(x.memory);
    storage_upload(w.memory);
    storage_upload(b.memory);
}

static void free_projection(void) {
    storage_free(x.memory);
    storage_free(w.memory);
    storage_free(b.memory);
    storage_free(y.memory);
}

static oclattn_status enqueue_projection(const oclattn_plan *made, const oclattn_weights *weights,
                                         oclattn_error *error) {
    oclattn_projection_args args;
    cl_event event = NULL;
    storage_upload(y.memory);
    oclattn_projection_args_init(&args);
    args.x = view_tensor(&x, false);
    args.y = view_tensor(&y, false);
    args.weights = weights;
    args.workspace = workspace_new(made);
    fault_arm();
    const oclattn_status status = oclattn_projection_enqueue(made, fault_queue(), &args, 0, NULL, &event, error);
    fault_disarm();
    fault_wait(status, event);
    buffer_free(args.workspace);
    return status;
}

static oclattn_status project(oclattn_error *error) {
    oclattn_weights *weights = NULL;
    const oclattn_tensor w_tensor = view_tensor(&w, false);
    const oclattn_tensor b_tensor = view_tensor(&b, false);
    fault_arm();
    oclattn_status status = oclattn_projection_weights(plan, fault_queue(), &w_tensor, &b_tensor, &weights, error);
    fault_disarm();
    assert_true((weights != NULL) == (status == OCLATTN_OK));
    if (status == OCLATTN_OK) {
        status = enqueue_projection(plan, weights, error);
    }
    if (status == OCLATTN_OK) {
        assert_all_elements(&y, IN_DIM + 0.5);
    }
    oclattn_weights_destroy(weights);
    return status;
}

/* Its programs are compiled: another library keeps some for good, which would be taken for a leak. */
static oclattn_status plan_projection(oclattn_error *error) {
    oclattn_plan *made = NULL;
    fault_arm();
    const oclattn_status status = oclattn_projection_plan(device.context, &projection, &made, error);
    fault_disarm();
    fault_drop(NULL, made, status);
    return status;
}

static void check_projection(const char *variant) {
    oclattn_error error;
    make_projection(variant);
    assert_ok(oclattn_projection_plan(device.context, &projection, &plan, &error), &error);
    fault_sweep(&(fault_scenario){variant, project});
    fault_sweep(&(fault_scenario){"oclattn_projection_plan", plan_projection});
    oclattn_plan_destroy(plan);
    free_projection();
}

static void test_projections(void **state) {
    (void)state;
    check_projection("projection_portable");
    check_projection("projection_tiled_cpu");
}

static void test_clblast(void **state) {
    (void)state;
    check_projection("projection_clblast");
}

/* ---- F(H) ------------------------------------------------------------------------------------------------------- */

static mha_problem mha;

static void make_mha(uint32_t flags) {
    random_source source = random_start(options.seed, 2);
    mha = mha_new(2, 6, 24, 3);
    mha.desc.flags |= flags;
    mha_allocate(&mha, &source);
    mha_fill(&mha, &source);
}

static oclattn_status run_mha(oclattn_error *error) {
    oclattn_weights *weights = NULL;
    oclattn_mha_args args;
    cl_event event = NULL;
    mha_upload(&mha);
    fault_arm();
    oclattn_status status = mha_prepare_weights(&mha, plan, fault_queue(), &weights, error);
    fault_disarm();
    assert_true((weights != NULL) == (status == OCLATTN_OK));
    if (status == OCLATTN_OK) {
        mha_args(&mha, &args);
        args.weights = weights;
        args.workspace = workspace_new(plan);
        fault_arm();
        status = oclattn_mha_enqueue(plan, fault_queue(), &args, 0, NULL, &event, error);
        fault_disarm();
        fault_wait(status, event);
        buffer_free(args.workspace);
    }
    mha_download(&mha);
    if (status == OCLATTN_OK) {
        assert_mha(&mha);
    }
    oclattn_weights_destroy(weights);
    return status;
}

static oclattn_status run_mha_from_host(oclattn_error *error) {
    fault_arm();
    const oclattn_status status = mha_run_host(&mha, error);
    fault_disarm();
    if (status == OCLATTN_OK) {
        assert_mha(&mha);
    }
    return status;
}

static oclattn_status plan_mha(oclattn_error *error) {
    oclattn_context *context = fault_context(NULL);
    oclattn_plan *made = NULL;
    fault_arm();
    const oclattn_status status = oclattn_mha_plan(context, &mha.desc, &made, error);
    fault_disarm();
    fault_drop(context, made, status);
    return status;
}

static void check_mha(uint32_t flags) {
    oclattn_error error;
    make_mha(flags);
    assert_ok(oclattn_mha_plan(device.context, &mha.desc, &plan, &error), &error);
    fault_sweep(&(fault_scenario){"oclattn_mha_weights and _enqueue", run_mha});
    fault_sweep(&(fault_scenario){"oclattn_mha_host", run_mha_from_host});
    fault_sweep(&(fault_scenario){"oclattn_mha_plan", plan_mha});
    oclattn_plan_destroy(plan);
    mha_free(&mha);
}

static void test_mha(void **state) {
    (void)state;
    check_mha(0);
    check_mha(OCLATTN_MHA_SPLIT_MERGE);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_projections),
        cmocka_unit_test(test_clblast),
        cmocka_unit_test(test_mha),
    };
    return fault_layer_is_loaded() ? harness_run(argc, argv, tests, sizeof tests / sizeof *tests) : 77;
}
