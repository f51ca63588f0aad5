/* Plans made with a tuning file: they say so, their kernels are built that way, and their results are right. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <mha_problem.h>
#include <problem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/tuning_file.h"
#include "plan/tuning_parameters.h"
#include "support/temp_folder.h"

static char folder[TEMP_PATH_SIZE], path[TEMP_PATH_SIZE];

static int set_up(void **state) {
    (void)state;
    temp_folder_make(folder);
    temp_path(path, folder, "tiles");
    setenv("OCLATTN_TUNING", path, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unsetenv("OCLATTN_TUNING");
    temp_folder_remove(folder);
    return 0;
}

static void store(tuning_group group, const tuning *values) {
    const tuning_record record = {.found = true, .values = *values};
    text why = {0};
    if (!tuning_check(values, group, tuning_lanes(&device.context->caps), &why)) {
        fail_msg("the test stores %s: %s", tuning_groups[group].name, why.data);
    }
    assert_true(tuning_file_store(device.context, path, group, &record));
}

static void assert_says(const oclattn_plan *plan, const char *expected) {
    char described[4096];
    assert_true(oclattn_plan_describe(plan, described, sizeof described) < sizeof described);
    if (!strstr(described, expected)) {
        fail_msg("the plan lacks \"%s\":\n%s", expected, described);
    }
}

static void assert_described(const oclattn_plan *plan, const char *tiles) {
    char expected[1024];
    snprintf(expected, sizeof expected, "tiles (tuning file %s): vectors of %d, %s\n", path,
             tuning_lanes(&device.context->caps), tiles);
    assert_says(plan, expected);
}

/* With keys hidden in the middle of blocks, and more rows than a tile has. */
static void run_attention(const char *variant, int64_t q_len, int64_t head_dim, int64_t v_dim, const char *tiles) {
    const uint64_t features = 1 << FEATURE_CAUSAL | 1 << FEATURE_WINDOW_LEFT | 1 << FEATURE_LSE;
    random_source source = random_start(options.seed, (uint64_t)head_dim);
    oclattn_plan *plan = NULL;
    oclattn_error error;
    problem p = problem_new(1, 2, 1, q_len, 210, head_dim, v_dim);
    p.desc.variant = variant;
    p.desc.score.flags |= OCLATTN_CAUSAL;
    p.desc.score.align = OCLATTN_ALIGN_BOTTOM_RIGHT;
    p.desc.score.window_left = 70;
    problem_allocate(&p, &source);
    problem_fill(&p, &source, features);
    assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
    assert_described(plan, tiles);
    oclattn_plan_destroy(plan);
    assert_problem(&p);
    problem_free(&p);
}

static void test_small_attention_tiles(void **state) {
    (void)state;
    tuning tuned = tuning_find(&device.context->caps);
    const int vectors = 16 / tuning_lanes(&device.context->caps);
    char tiles[128];
    tuned.attention[0] = (attention_tiles){.group_vectors = vectors,
                                           .groups = 1,
                                           .key_block = 12,
                                           .key_step = 3,
                                           .score_vectors = vectors,
                                           .out_rows = 8,
                                           .out_vectors = 1};
    store(TUNING_ATTENTION_64, &tuned);
    snprintf(tiles, sizeof tiles,
             "group_vectors %d, groups 1, key_block 12, key_step 3, score_vectors %d, out_rows 8, out_vectors 1",
             vectors, vectors);
    run_attention("attention_tiled_cpu", 150, 40, 64, tiles);
}

/* As large as the rules allow: the private memory must be there. */
static void test_large_attention_tiles(void **state) {
    (void)state;
    const int lanes = tuning_lanes(&device.context->caps);
    char tiles[256];
    text why = {0};
    tuning tuned = tuning_find(&device.context->caps);
    tuned.attention[2] = (attention_tiles){.group_vectors = 4,
                                           .groups = 1,
                                           .key_block = 64,
                                           .key_step = 4,
                                           .score_vectors = 4,
                                           .out_rows = 4,
                                           .out_vectors = 4};
    for (tuning larger = tuned; tuning_check(&larger, TUNING_ATTENTION_256, lanes, &why);) {
        tuned = larger;
        larger.attention[2].groups++;
    }
    assert_non_null(strstr(why.data, "size in bytes"));
    text_clear(&why);
    store(TUNING_ATTENTION_256, &tuned);
    snprintf(tiles, sizeof tiles,
             "group_vectors 4, groups %d, key_block 64, key_step 4, score_vectors 4, out_rows 4, out_vectors 4",
             tuned.attention[2].groups);
    run_attention("attention_tiled_cpu", 150, 256, 250, tiles);
}

static void test_few_rows_tiles(void **state) {
    (void)state;
    tuning tuned = tuning_find(&device.context->caps);
    tuned.attention_few_rows.key_block = 64;
    store(TUNING_ATTENTION_FEW_ROWS, &tuned);
    run_attention("attention_few_rows_cpu", 3, 40, 72, "key_block 64");
}

static void test_portable_attention_tiles(void **state) {
    (void)state;
    tuning tuned = tuning_find(&device.context->caps);
    tuned.attention_portable = (portable_tiles){.key_block = 16, .v_part = 32};
    store(TUNING_ATTENTION_PORTABLE, &tuned);
    run_attention("attention_portable", 150, 40, 72, "key_block 16, v_part 32");
}

static void assert_takes(int64_t q_len, bool packed, const char *variant, const char *says) {
    random_source source = random_start(options.seed, (uint64_t)q_len);
    oclattn_plan *plan = NULL;
    oclattn_error error;
    problem p = problem_new(1, 2, 1, q_len, 40, 16, 16);
    p.desc.score.flags |= packed ? OCLATTN_Q_STARTS | OCLATTN_KV_STARTS : 0;
    assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
    assert_string_equal(oclattn_plan_variant(plan), variant);
    if (says) {
        assert_says(plan, says);
    }
    oclattn_plan_destroy(plan);
    if (!packed) {
        problem_allocate(&p, &source);
        problem_fill(&p, &source, 0);
        assert_problem(&p);
    }
    problem_free(&p);
}

static void test_first_choices(void **state) {
    (void)state;
    tuning tuned = tuning_find(&device.context->caps);
    tuned.first = (first_choices){.few_rows = CHOICE_TILED_CPU, .many_rows = CHOICE_PORTABLE};
    store(TUNING_VARIANTS, &tuned);
    assert_takes(2, false, "attention_tiled_cpu", "tried first: tuning file");
    assert_takes(17, false, "attention_portable", "tried first: tuning file");
    assert_takes(2, true, "attention_portable", NULL); /* packed: the longest of them must not decide */
    /* One that cannot take the problem leaves it to the table's order. */
    tuned.first = (first_choices){.few_rows = CHOICE_PORTABLE, .many_rows = CHOICE_FEW_ROWS_CPU};
    store(TUNING_VARIANTS, &tuned);
    assert_takes(2, false, "attention_portable", NULL);
    const bool is_cpu = device.context->caps.type & CL_DEVICE_TYPE_CPU;
    if (is_cpu) {
        assert_takes(17, false, "attention_tiled_cpu", "not taken: attention_few_rows_cpu: at most 8 query rows");
    }
}

static void run_mha(const char *variant, const char *tiles) {
    random_source source = random_start(options.seed, 1);
    oclattn_plan *plan = NULL;
    oclattn_error error;
    mha_problem p = mha_new(2, 37, 120, 3);
    p.desc.projection_variant = variant;
    p.desc.flags |= OCLATTN_MHA_B_Q | OCLATTN_MHA_B_HEAD;
    mha_allocate(&p, &source);
    mha_fill(&p, &source);
    assert_ok(oclattn_mha_plan(device.context, &p.desc, &plan, &error), &error);
    assert_described(plan, tiles);
    oclattn_plan_destroy(plan);
    mha_run(&p);
    assert_mha(&p);
    mha_free(&p);
}

static void test_projection_tiles(void **state) {
    (void)state;
    const int vectors = 32 / tuning_lanes(&device.context->caps);
    char tiles[128];
    tuning tuned = tuning_find(&device.context->caps);
    tuned.projection =
        (projection_tiles){.rows = 5, .row_tiles = 3, .panel_vectors = vectors, .panels = 3, .k_block = 48};
    store(TUNING_PROJECTION, &tuned);
    snprintf(tiles, sizeof tiles, "rows 5, row_tiles 3, panel_vectors %d, panels 3, k_block 48", vectors);
    run_mha("projection_tiled_cpu", tiles);
}

static void test_portable_projection_tiles(void **state) {
    (void)state;
    tuning tuned = tuning_find(&device.context->caps);
    tuned.projection_portable = (portable_projection_tiles){.rows = 7, .k_block = 32};
    store(TUNING_PROJECTION_PORTABLE, &tuned);
    run_mha("projection_portable", "rows 7, k_block 32");
}

/* A choice, not a tile: it makes a plan that is as right, and says who made the choice. */
static void test_general_values(void **state) {
    (void)state;
    char described[4096], expected[1024];
    oclattn_plan *plan = NULL;
    oclattn_error error;
    tuning tuned = tuning_find(&device.context->caps);
    tuned.few_rows_chunk = 64;
    store(TUNING_GENERAL, &tuned);
    problem p = problem_new(1, 2, 2, 4, 300, 64, 64);
    random_source source = random_start(options.seed, 2);
    problem_allocate(&p, &source);
    problem_fill(&p, &source, 0);
    assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
    assert_true(oclattn_plan_describe(plan, described, sizeof described) < sizeof described);
    snprintf(expected, sizeof expected, "keys in 5 chunks of 64");
    assert_non_null(strstr(described, expected));
    oclattn_plan_destroy(plan);
    assert_problem(&p);
    problem_free(&p);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_small_attention_tiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_attention_tiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_few_rows_tiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_portable_attention_tiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_choices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_projection_tiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_portable_projection_tiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_general_values, set_up, tear_down),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
