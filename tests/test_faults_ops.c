/* Split, merge and merging of states while OpenCL's calls fail, one after the other. */
#include <fault_helpers.h>
#include <fault_sweep.h>
#include <math.h>
#include <temp_folder.h>

static oclattn_plan *plan;

/* ---- merging of states ------------------------------------------------------------------------------------------ */

static view states[6]; /* o1, lse1, o2, lse2, o, lse */

static void make_states(void) {
    for (int i = 0; i < 6; i++) {
        states[i] = fault_matrix(4, i % 2 ? 1 : 7, 1, 1, i >= 4, i == 0 ? 1 : i == 2 ? 3 : 0);
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
    const oclattn_status status = oclattn_merge_states_enqueue(made, fault_queue(), &args, 0, NULL, &event, error);
    fault_disarm();
    fault_wait(status, event);
    if (status == OCLATTN_OK) {
        assert_all_elements(&states[4], 2);
        assert_all_elements(&states[5], log(2));
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

static oclattn_status compile_states_in(const char *cache_dir, oclattn_error *error) {
    oclattn_context *context = fault_context(cache_dir);
    oclattn_plan *made = NULL;
    fault_arm();
    const oclattn_status status = plan_states(context, &made, error);
    fault_disarm();
    fault_drop(context, made, status);
    return status;
}

static oclattn_status compile_states(oclattn_error *error) {
    return compile_states_in("", error);
}

/* Compiles, and keeps the program on disk. */
static oclattn_status store_states(oclattn_error *error) {
    char folder[TEMP_PATH_SIZE];
    temp_folder_make(folder);
    const oclattn_status status = compile_states_in(folder, error);
    temp_folder_remove(folder);
    return status;
}

static void test_merge_states(void **state) {
    (void)state;
    oclattn_error error;
    make_states();
    assert_ok(plan_states(device.context, &plan, &error), &error);
    fault_sweep(&(fault_scenario){"oclattn_merge_states_enqueue", merge_states});
    fault_sweep(&(fault_scenario){"oclattn_merge_states_plan from source", compile_states});
    fault_sweep(&(fault_scenario){"oclattn_merge_states_plan into the cache", store_states});
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
    const oclattn_status status = splits ? oclattn_split_enqueue(plan, fault_queue(), &args, 0, NULL, &event, error)
                                         : oclattn_merge_enqueue(plan, fault_queue(), &args, 0, NULL, &event, error);
    fault_disarm();
    fault_wait(status, event);
    if (status == OCLATTN_OK) {
        assert_all_elements(splits ? &heads : &packed, 5);
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
    packed = fault_matrix(2, 3, 2, 5, !splits, 5);
    heads = fault_matrix(2, 2, 3, 5, splits, 5);
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

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_states),
        cmocka_unit_test(test_heads),
    };
    return fault_layer_is_loaded() ? harness_run(argc, argv, tests, sizeof tests / sizeof *tests) : 77;
}
