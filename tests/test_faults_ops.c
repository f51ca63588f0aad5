/* Split, merge, merging of states, projections and F(H) while OpenCL's calls fail, one after the other. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <math.h>
#include <mha_problem.h>
#include <stdlib.h>
#include <string.h>

#include "support/fault_sweep.h"

static oclattn_plan *plan;

static cl_command_queue any_order_queue(void) {
    return device.out_of_order ? device.out_of_order : device.in_order;
}

/* After an enqueue that said `status`. */
static void wait_for(oclattn_status status, cl_event event) {
    assert_true((event != NULL) == (status == OCLATTN_OK));
    if (event) {
        assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
        clReleaseEvent(event);
    }
    clFinish(any_order_queue());
}

/* A matrix [a, b, c, d] with NaN around it. */
static view matrix_new(int64_t a, int64_t b, int64_t c, int64_t d, bool is_output, double value) {
    const int64_t shape[4] = {a, b, c, d};
    int64_t strides[4];
    contiguous_strides(shape, strides);
    view made = view_new(ELEMENT_F32, shape, strides, is_output, 3, 3);
    if (!is_output) {
        view_fill(&made, value);
    }
    return made;
}

static void assert_all(view *output, double expected) {
    double *found = NULL;
    storage_download(output->memory);
    found = view_results(output);
    for (int64_t n = 0; n < view_count(output); n++) {
        if (!(fabs(found[n] - expected) < 1e-5)) {
            fail_msg("reported as success: element %lld is %g, not %g", (long long)n, found[n], expected);
        }
    }
    free(found);
}

/* In a context that has compiled nothing yet, and keeps nothing. */
static oclattn_context *new_context(const char *cache_dir) {
    oclattn_context_options wanted;
    oclattn_context *context = NULL;
    oclattn_error error;
    oclattn_context_options_init(&wanted);
    wanted.cache_dir = cache_dir;
    assert_ok(oclattn_context_create_from_cl(&wanted, device.cl, device.id, &context, &error), &error);
    return context;
}

static void drop(oclattn_context *context, oclattn_plan *made, oclattn_status status) {
    assert_true((made != NULL) == (status == OCLATTN_OK));
    fault_arm();
    oclattn_plan_destroy(made);
    oclattn_context_destroy(context);
    fault_disarm();
}

/* ---- merging of states ------------------------------------------------------------------------------------------ */

static view states[6]; /* o1, lse1, o2, lse2, o, lse */

static void make_states(void) {
    for (int i = 0; i < 6; i++) {
        states[i] = matrix_new(4, i % 2 ? 1 : 7, 1, 1, i >= 4, i == 0 ? 1 : i == 2 ? 3 : 0);
        storage_upload(states[i].memory);
    }
}

static void free_states(void) {
    for (int i = 0; i < 6; i++) {
        storage_free(states[i].memory);
    }
}

static oclattn_status enqueue_states(const oclattn_plan *made, oclattn_error *error) {
    oclattn_merge_states_args args;
    cl_event event = NULL;
    storage_upload(states[4].memory);
    storage_upload(states[5].memory);
    oclattn_merge_states_args_init(&args);
    oclattn_tensor *const tensors[6] = {&args.o1, &args.lse1, &args.o2, &args.lse2, &args.o, &args.lse};
    for (int i = 0; i < 6; i++) {
        *tensors[i] = view_tensor(&states[i], false);
    }
    fault_arm();
    const oclattn_status status = oclattn_merge_states_enqueue(made, any_order_queue(), &args, 0, NULL, &event, error);
    fault_disarm();
    wait_for(status, event);
    if (status == OCLATTN_OK) {
        assert_all(&states[4], 2);
        assert_all(&states[5], log(2));
    }
    return status;
}

static oclattn_status merge_states(oclattn_error *error) {
    return enqueue_states(plan, error);
}

static oclattn_status plan_states(oclattn_context *context, oclattn_plan **made, oclattn_error *error) {
    oclattn_merge_states_desc desc;
    oclattn_merge_states_desc_init(&desc);
    desc.rows = 4;
    desc.v_dim = 7;
    return oclattn_merge_states_plan(context, &desc, made, error);
}

static oclattn_status compile_states(oclattn_error *error) {
    oclattn_context *context = new_context("");
    oclattn_plan *made = NULL;
    fault_arm();
    const oclattn_status status = plan_states(context, &made, error);
    fault_disarm();
    drop(context, made, status);
    return status;
}

static void test_merge_states(void **state) {
    (void)state;
    oclattn_error error;
    make_states();
    assert_ok(plan_states(device.context, &plan, &error), &error);
    fault_sweep(&(fault_scenario){"oclattn_merge_states_enqueue", merge_states});
    fault_sweep(&(fault_scenario){"oclattn_merge_states_plan from source", compile_states});
    oclattn_plan_destroy(plan);
    free_states();
}

/* ---- split and merge -------------------------------------------------------------------------------------------- */

static view packed, heads;
static bool splits;

static oclattn_status move_heads(oclattn_error *error) {
    oclattn_heads_args args;
    cl_event event = NULL;
    storage_upload(packed.memory);
    storage_upload(heads.memory);
    oclattn_heads_args_init(&args);
    args.packed = view_tensor(&packed, false);
    args.heads = view_tensor(&heads, false);
    fault_arm();
    const oclattn_status status = splits
                                      ? oclattn_split_enqueue(plan, any_order_queue(), &args, 0, NULL, &event, error)
                                      : oclattn_merge_enqueue(plan, any_order_queue(), &args, 0, NULL, &event, error);
    fault_disarm();
    wait_for(status, event);
    if (status == OCLATTN_OK) {
        assert_all(splits ? &heads : &packed, 5);
    }
    return status;
}

static void check_heads(bool is_split) {
    oclattn_heads_desc desc;
    oclattn_error error;
    oclattn_heads_desc_init(&desc);
    desc.batch = 2;
    desc.rows = 3;
    desc.heads = 2;
    desc.head_dim = 5;
    splits = is_split;
    packed = matrix_new(2, 3, 2, 5, !splits, 5);
    heads = matrix_new(2, 2, 3, 5, splits, 5);
    assert_ok(splits ? oclattn_split_plan(device.context, &desc, &plan, &error)
                     : oclattn_merge_plan(device.context, &desc, &plan, &error),
              &error);
    fault_sweep(&(fault_scenario){splits ? "oclattn_split_enqueue" : "oclattn_merge_enqueue", move_heads});
    oclattn_plan_destroy(plan);
    storage_free(packed.memory);
    storage_free(heads.memory);
}

static void test_heads(void **state) {
    (void)state;
    check_heads(true);
    check_heads(false);
}

/* ---- projections ------------------------------------------------------------------------------------------------ */

enum { ROWS = 9, IN_DIM = 33, OUT_DIM = 20 };

static view x, w, b, y;
static oclattn_projection_desc projection;

static void make_projection(const char *variant) {
    x = matrix_new(1, ROWS, IN_DIM, 1, false, 1);
    w = matrix_new(IN_DIM, OUT_DIM, 1, 1, false, 1);
    b = matrix_new(OUT_DIM, 1, 1, 1, false, 0.5);
    y = matrix_new(1, ROWS, OUT_DIM, 1, true, 0);
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
    const oclattn_status status = oclattn_projection_enqueue(made, any_order_queue(), &args, 0, NULL, &event, error);
    fault_disarm();
    wait_for(status, event);
    buffer_free(args.workspace);
    return status;
}

static oclattn_status project(oclattn_error *error) {
    oclattn_weights *weights = NULL;
    const oclattn_tensor w_tensor = view_tensor(&w, false);
    const oclattn_tensor b_tensor = view_tensor(&b, false);
    fault_arm();
    oclattn_status status = oclattn_projection_weights(plan, any_order_queue(), &w_tensor, &b_tensor, &weights, error);
    fault_disarm();
    assert_true((weights != NULL) == (status == OCLATTN_OK));
    if (status == OCLATTN_OK) {
        status = enqueue_projection(plan, weights, error);
    }
    if (status == OCLATTN_OK) {
        assert_all(&y, IN_DIM + 0.5);
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
    drop(NULL, made, status);
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
    oclattn_status status = mha_prepare_weights(&mha, plan, any_order_queue(), &weights, error);
    fault_disarm();
    assert_true((weights != NULL) == (status == OCLATTN_OK));
    if (status == OCLATTN_OK) {
        mha_args(&mha, &args);
        args.weights = weights;
        args.workspace = workspace_new(plan);
        fault_arm();
        status = oclattn_mha_enqueue(plan, any_order_queue(), &args, 0, NULL, &event, error);
        fault_disarm();
        wait_for(status, event);
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
    oclattn_context *context = new_context(NULL);
    oclattn_plan *made = NULL;
    fault_arm();
    const oclattn_status status = oclattn_mha_plan(context, &mha.desc, &made, error);
    fault_disarm();
    drop(context, made, status);
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
        cmocka_unit_test(test_merge_states), cmocka_unit_test(test_heads),   cmocka_unit_test(test_projections),
        cmocka_unit_test(test_mha),          cmocka_unit_test(test_clblast),
    };
    return fault_layer_is_loaded() ? harness_run(argc, argv, tests, sizeof tests / sizeof *tests) : 77;
}
