/* A compiler that refuses the kernels of a faster variant: the next one is taken, and the plan says why. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <dirent.h>
#include <mha_problem.h>
#include <problem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/temp_folder.h"

static char folder[TEMP_PATH_SIZE];

static void copy_file(const char *name) {
    static char content[1 << 17];
    char from[TEMP_PATH_SIZE], to[TEMP_PATH_SIZE];
    snprintf(from, sizeof from, "%s/%s", TEST_KERNEL_DIR, name);
    temp_path(to, folder, name);
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    const size_t length = fread(content, 1, sizeof content, file);
    assert_true(length < sizeof content);
    fclose(file);
    file_write(to, content, length);
}

/* Copies of all kernels, of which those that are for CPUs do not compile. */
static int set_up(void **state) {
    (void)state;
    char path[TEMP_PATH_SIZE];
    const char *faulty[] = {"attention_tiled_cpu.cl", "attention_few_rows_cpu.cl", "projection_tiled_cpu.cl"};
    temp_folder_make(folder);
    DIR *kernels = opendir(TEST_KERNEL_DIR);
    assert_non_null(kernels);
    for (struct dirent *entry = readdir(kernels); entry; entry = readdir(kernels)) {
        if (strstr(entry->d_name, ".cl")) {
            copy_file(entry->d_name);
        }
    }
    closedir(kernels);
    for (size_t i = 0; i < sizeof faulty / sizeof *faulty; i++) {
        temp_path(path, folder, faulty[i]);
        file_write(path, "#error planted\n", strlen("#error planted\n"));
    }
    setenv("OCLATTN_KERNEL_DIR", folder, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unsetenv("OCLATTN_KERNEL_DIR");
    temp_folder_remove(folder);
    return 0;
}

/* Other devices than CPUs do not take such variants in the first place. */
static void assert_says_why(const oclattn_plan *plan, const char *refused) {
    char described[8192], expected[128];
    assert_true(oclattn_plan_describe(plan, described, sizeof described) < sizeof described);
    snprintf(expected, sizeof expected, "not taken: %s: the device's compiler refused its kernel", refused);
    if (!strstr(described, expected) && !strstr(described, "made for another type of device")) {
        fail_msg("the plan lacks \"%s\":\n%s", expected, described);
    }
}

static void assert_falls_back(int64_t q_len, const char *refused) {
    oclattn_plan *plan = NULL;
    oclattn_error error;
    problem p = problem_new(1, 2, 1, q_len, 40, 16, 16);
    random_source source = random_start(options.seed, (uint64_t)q_len);
    problem_allocate(&p, &source);
    problem_fill(&p, &source, 0);
    assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
    assert_string_equal(oclattn_plan_variant(plan), "attention_portable");
    assert_says_why(plan, refused);
    oclattn_plan_destroy(plan);
    assert_problem(&p);
    problem_free(&p);
}

static void test_the_next_variant_is_taken(void **state) {
    (void)state;
    assert_falls_back(50, "attention_tiled_cpu");
    assert_falls_back(1, "attention_few_rows_cpu");
}

static void test_the_next_projection_is_taken(void **state) {
    (void)state;
    oclattn_plan *plan = NULL;
    oclattn_error error;
    random_source source = random_start(options.seed, 1);
    mha_problem p = mha_new(2, 37, 48, 3);
    mha_allocate(&p, &source);
    mha_fill(&p, &source);
    assert_ok(oclattn_mha_plan(device.context, &p.desc, &plan, &error), &error);
    assert_says_why(plan, "projection_tiled_cpu");
    assert_says_why(plan, "attention_tiled_cpu");
    oclattn_plan_destroy(plan);
    mha_run(&p);
    assert_mha(&p);
    mha_free(&p);
}

static void test_a_named_variant_is_not_replaced(void **state) {
    (void)state;
    oclattn_plan *plan = NULL;
    oclattn_error error;
    problem p = problem_new(1, 2, 1, 50, 40, 16, 16);
    p.desc.variant = "attention_tiled_cpu";
    assert_int_equal(oclattn_attention_plan(device.context, &p.desc, &plan, &error), OCLATTN_BUILD_FAILED);
    assert_null(plan);
    assert_non_null(strstr(error.message, "planted"));
    problem_free(&p);
}

static void test_a_named_projection_is_not_replaced(void **state) {
    (void)state;
    oclattn_plan *plan = NULL;
    oclattn_error error;
    oclattn_projection_desc desc;
    oclattn_projection_desc_init(&desc);
    desc.batch = 1;
    desc.rows = 5;
    desc.in_dim = desc.out_dim = 24;
    desc.variant = "projection_tiled_cpu";
    assert_int_equal(oclattn_projection_plan(device.context, &desc, &plan, &error), OCLATTN_BUILD_FAILED);
    assert_null(plan);
    assert_non_null(strstr(error.message, "planted"));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_next_variant_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_next_projection_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_named_variant_is_not_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_named_projection_is_not_replaced, set_up, tear_down),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
