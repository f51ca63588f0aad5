/* Several kernel files built as one program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include <cmocka.h>

#include "program/program.h"
#include "support/answer.h"
#include "support/log_capture.h"
#include "support/temp_folder.h"

#define THREADS 8

#define SHARED "#ifndef SHARED\n#define SHARED\nstatic int shared(int x) { return x; }\n#endif\n"
#define KERNEL(name)                                                                                                   \
    "#include \"shared.clh\"\nkernel void " name "(global int *out) { out[get_global_id(0)] = shared(VALUE); }\n"

typedef struct fixture {
    char folder[TEMP_PATH_SIZE];
    log_capture log;
    oclattn_context *context;
} fixture;

static void put(const fixture *f, const char *name, const char *content) {
    char path[TEMP_PATH_SIZE];
    temp_path(path, f->folder, name);
    file_write(path, content, strlen(content));
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    temp_folder_make(f->folder);
    put(f, "shared.clh", SHARED);
    put(f, "first.cl", KERNEL("first"));
    put(f, "second.cl", KERNEL("second"));
    put(f, "third.cl", KERNEL("third"));
    put(f, "broken.cl", "kernel void broken(global int *out) { out[0] = no_such_name; }\n");
    setenv("OCLATTN_KERNEL_DIR", f->folder, 1);
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    options.cache_dir = "";
    log_capture_start(&f->log, &options, OCLATTN_LOG_DEBUG);
    assert_int_equal(oclattn_context_create(&options, &f->context, NULL), OCLATTN_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    oclattn_context_destroy(f->context);
    log_capture_stop(&f->log);
    unsetenv("OCLATTN_KERNEL_DIR");
    temp_folder_remove(f->folder);
    free(f);
    return 0;
}

static cl_program program_of(const fixture *f, const char *file, const char *options) {
    cl_program program = NULL;
    assert_int_equal(program_get(f->context, file, options, &program, NULL), OCLATTN_OK);
    return program;
}

static void assert_answers(const fixture *f, const char *name, const char *options, int expected) {
    char file[64];
    cl_kernel kernel;
    snprintf(file, sizeof file, "%s.cl", name);
    assert_int_equal(program_kernel(f->context, file, options, name, &kernel, NULL), OCLATTN_OK);
    const int value = answer_of(f->context, kernel);
    clReleaseKernel(kernel);
    assert_int_equal(value, expected);
}

/* ---- the parts -------------------------------------------------------------------------------------------------- */

static void test_options_are_taken_apart(void **state) {
    (void)state;
    const char *options = "-DA=1 -DLONG_NAME=x+y -DBARE";
    macro_option macro;
    assert_true(next_macro(&options, &macro));
    assert_int_equal(macro.name_length, 1);
    assert_memory_equal(macro.value, "1", macro.value_length);
    assert_true(next_macro(&options, &macro));
    assert_memory_equal(macro.name, "LONG_NAME", macro.name_length);
    assert_int_equal(macro.value_length, 3);
    assert_true(next_macro(&options, &macro));
    assert_memory_equal(macro.name, "BARE", macro.name_length);
    assert_int_equal(macro.value_length, 0);
    assert_false(next_macro(&options, &macro));
}

static bool agree(const char *file_a, const char *options_a, const char *file_b, const char *options_b) {
    program_parts parts = {0};
    parts_add(&parts, file_a, options_a);
    parts_add(&parts, file_b, options_b);
    return parts_agree(&parts);
}

static void test_parts_agree_on_what_they_define(void **state) {
    (void)state;
    assert_true(agree("a", "-DX=1 -DY=2", "b", "-DZ=2 -DX=1"));
    assert_true(agree("a", "-DX=1", "b", "-DXX=2"));
    assert_true(agree("a", "", "b", "-DX=1"));
    assert_false(agree("a", "-DX=1", "b", "-DX=2"));
    assert_false(agree("a", "-DX=1", "b", "-DX=16"));
    assert_false(agree("a", "-DX=1", "a", "-DX=1 -DY=2"));
    assert_false(agree("a", "-cl-std=CL2.0 -DX=1", "b", "-DX=1"));
    assert_false(agree("a", "", "b", "-DX=1 -cl-opt-disable"));
}

static void test_a_part_is_added_once(void **state) {
    (void)state;
    program_parts parts = {0};
    parts_add(&parts, "a", "-DX=1");
    parts_add(&parts, "b", "");
    parts_add(&parts, "a", "-DX=1");
    assert_int_equal(parts.count, 2);
    assert_string_equal(parts.part[0].file, "a.cl");
    for (int i = 0; i < 2 * MOST_PARTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "part%d", i);
        parts_add(&parts, name, "");
    }
    assert_int_equal(parts.count, MOST_PARTS);
}

/* ---- programs --------------------------------------------------------------------------------------------------- */

static program_parts three_parts(void) {
    program_parts parts = {0};
    parts_add(&parts, "third", "-DVALUE=7");
    parts_add(&parts, "first", "-DVALUE=7");
    parts_add(&parts, "second", "-DVALUE=7");
    return parts;
}

static void test_what_agrees_is_one_program(void **state) {
    const fixture *f = *state;
    const program_parts parts = three_parts();
    program_join(f->context, &parts);
    assert_ptr_equal(program_of(f, "first.cl", "-DVALUE=7"), program_of(f, "third.cl", "-DVALUE=7"));
    assert_ptr_equal(program_of(f, "first.cl", "-DVALUE=7"), program_of(f, "second.cl", "-DVALUE=7"));
    assert_answers(f, "first", "-DVALUE=7", 7);
    assert_answers(f, "third", "-DVALUE=7", 7);
    assert_true(log_capture_has(&f->log, "first.cl and second.cl and third.cl"));
}

static void test_what_is_built_stays(void **state) {
    const fixture *f = *state;
    const cl_program alone = program_of(f, "first.cl", "-DVALUE=7");
    const program_parts parts = three_parts();
    program_join(f->context, &parts);
    assert_ptr_equal(program_of(f, "first.cl", "-DVALUE=7"), alone);
    assert_ptr_equal(program_of(f, "second.cl", "-DVALUE=7"), program_of(f, "third.cl", "-DVALUE=7"));
    program_join(f->context, &parts);
    assert_ptr_equal(program_of(f, "first.cl", "-DVALUE=7"), alone);
}

static void test_what_disagrees_is_built_apart(void **state) {
    const fixture *f = *state;
    program_parts parts = {0};
    parts_add(&parts, "first", "-DVALUE=1");
    parts_add(&parts, "second", "-DVALUE=2");
    program_join(f->context, &parts);
    assert_answers(f, "first", "-DVALUE=1", 1);
    assert_answers(f, "second", "-DVALUE=2", 2);
}

/* A file that both include is there once: it must not depend on a macro that only one of them has. */
static void test_a_shared_file_means_the_same_to_all(void **state) {
    const fixture *f = *state;
    put(f, "deeper.clh", "#ifndef FACTOR\n#define FACTOR 1\n#endif\nstatic int times(int x) { return FACTOR * x; }\n");
    put(f, "shared.clh", "#include \"deeper.clh\"\nstatic int shared(int x) { return times(x); }\n");
    program_parts parts = {0};
    parts_add(&parts, "first", "-DVALUE=5");
    parts_add(&parts, "second", "-DVALUE=5 -DFACTOR=3");
    program_join(f->context, &parts);
    assert_answers(f, "first", "-DVALUE=5", 5);
    assert_answers(f, "second", "-DVALUE=5 -DFACTOR=3", 15);
    assert_ptr_not_equal(program_of(f, "first.cl", "-DVALUE=5"), program_of(f, "second.cl", "-DVALUE=5 -DFACTOR=3"));
    parts = (program_parts){0};
    parts_add(&parts, "first", "-DVALUE=6 -DFACTOR=3");
    parts_add(&parts, "third", "-DVALUE=6 -DFACTOR=3 -DUNUSED=1");
    program_join(f->context, &parts);
    assert_answers(f, "first", "-DVALUE=6 -DFACTOR=3", 18);
    assert_ptr_equal(program_of(f, "first.cl", "-DVALUE=6 -DFACTOR=3"),
                     program_of(f, "third.cl", "-DVALUE=6 -DFACTOR=3 -DUNUSED=1"));
}

static void test_a_broken_part_spoils_no_other(void **state) {
    fixture *f = *state;
    program_parts parts = {0};
    parts_add(&parts, "broken", "");
    parts_add(&parts, "first", "-DVALUE=3");
    program_join(f->context, &parts);
    assert_int_equal(f->log.lines[OCLATTN_LOG_WARNING], 0);
    assert_answers(f, "first", "-DVALUE=3", 3);
    oclattn_error error;
    cl_program program;
    assert_int_equal(program_get(f->context, "broken.cl", "", &program, &error), OCLATTN_BUILD_FAILED);
    assert_non_null(strstr(error.message, "no_such_name"));
    assert_true(f->log.lines[OCLATTN_LOG_WARNING] > 0);
}

static void test_a_file_that_is_not_there_spoils_no_other(void **state) {
    const fixture *f = *state;
    program_parts parts = {0};
    parts_add(&parts, "first", "-DVALUE=3");
    parts_add(&parts, "nowhere", "");
    program_join(f->context, &parts);
    assert_answers(f, "first", "-DVALUE=3", 3);
}

static int join_and_get(void *data) {
    const fixture *f = data;
    program_parts parts = three_parts();
    cl_program program = NULL;
    program_join(f->context, &parts);
    return program_get(f->context, "second.cl", "-DVALUE=7", &program, NULL) == OCLATTN_OK ? 0 : 1;
}

static void test_threads_join_once(void **state) {
    fixture *f = *state;
    thrd_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(thrd_create(&threads[i], join_and_get, f), thrd_success);
    }
    for (int i = 0; i < THREADS; i++) {
        int result;
        thrd_join(threads[i], &result);
        assert_int_equal(result, 0);
    }
    const char *first = strstr(f->log.text, "built from source");
    assert_non_null(first);
    assert_null(strstr(first + 1, "built from source"));
}

/* ---- the library's own kernels ---------------------------------------------------------------------------------- */

static size_t count_builds(const log_capture *log) {
    size_t count = 0;
    for (const char *at = strstr(log->text, "built from source"); at; at = strstr(at + 1, "built from source")) {
        count++;
    }
    return count;
}

/* On CPUs; elsewhere kernels with work-groups of one size are built alone. */
static void test_a_plan_is_one_program(void **state) {
    fixture *f = *state;
    oclattn_plan *plan = NULL;
    oclattn_error error;
    oclattn_mha_desc layer;
    oclattn_attention_desc decoding;
    unsetenv("OCLATTN_KERNEL_DIR");
    oclattn_mha_desc_init(&layer);
    layer.batch = 1;
    layer.q_len = 128;
    layer.d_model = 768;
    layer.n_heads = 12;
    oclattn_attention_desc_init(&decoding);
    decoding.batch = decoding.q_len = 1;
    decoding.q_heads = decoding.kv_heads = 2;
    decoding.kv_len = 4096;
    decoding.head_dim = decoding.v_dim = 128;
    decoding.k_type = decoding.v_type = OCLATTN_F16;
    const bool is_cpu = f->context->caps.type & CL_DEVICE_TYPE_CPU;
    log_capture_clear(&f->log);
    assert_int_equal(oclattn_mha_plan(f->context, &layer, &plan, &error), OCLATTN_OK);
    oclattn_plan_destroy(plan);
    assert_true(!is_cpu || count_builds(&f->log) == 1);
    log_capture_clear(&f->log);
    assert_int_equal(oclattn_attention_plan(f->context, &decoding, &plan, &error), OCLATTN_OK);
    oclattn_plan_destroy(plan);
    assert_true(!is_cpu || count_builds(&f->log) == 1);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_are_taken_apart),
        cmocka_unit_test(test_parts_agree_on_what_they_define),
        cmocka_unit_test(test_a_part_is_added_once),
        WITH_FOLDER(test_what_agrees_is_one_program),
        WITH_FOLDER(test_what_is_built_stays),
        WITH_FOLDER(test_what_disagrees_is_built_apart),
        WITH_FOLDER(test_a_shared_file_means_the_same_to_all),
        WITH_FOLDER(test_a_broken_part_spoils_no_other),
        WITH_FOLDER(test_a_file_that_is_not_there_spoils_no_other),
        WITH_FOLDER(test_threads_join_once),
        WITH_FOLDER(test_a_plan_is_one_program),
    };
    return cmocka_run_group_tests_name("join", tests, NULL, NULL);
}
