/* Kernel sources, building, and programs in memory. */
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
#include "program/source.h"
#include "program/sources.h"
#include "support/answer.h"
#include "support/log_capture.h"
#include "support/temp_folder.h"

#define THREADS 8

typedef struct fixture {
    char folder[TEMP_PATH_SIZE];
    log_capture log;
    oclattn_context *context;
    oclattn_error error;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    temp_folder_make(f->folder);
    setenv("OCLATTN_KERNEL_DIR", f->folder, 1);
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    options.cache_dir = "";
    log_capture_start(&f->log, &options, OCLATTN_LOG_DEBUG);
    assert_int_equal(oclattn_context_create(&options, &f->context, &f->error), OCLATTN_OK);
    log_capture_clear(&f->log);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    oclattn_context_destroy(f->context);
    assert_false(f->log.saw_newline);
    log_capture_stop(&f->log);
    unsetenv("OCLATTN_KERNEL_DIR");
    temp_folder_remove(f->folder);
    free(f);
    return 0;
}

static void put(const fixture *f, const char *name, const char *content) {
    char path[TEMP_PATH_SIZE];
    temp_path(path, f->folder, name);
    file_write(path, content, strlen(content));
}

static void assert_expands_to(const char *file, const char *expected) {
    text expanded = {0};
    oclattn_error error;
    assert_int_equal(source_expand(file, &expanded, &error), OCLATTN_OK);
    assert_string_equal(expanded.data, expected);
    text_clear(&expanded);
}

static void assert_expansion_fails(const char *file, const char *part) {
    text expanded = {0};
    oclattn_error error = {0};
    assert_int_equal(source_expand(file, &expanded, &error), OCLATTN_BUILD_FAILED);
    assert_int_equal(error.status, OCLATTN_BUILD_FAILED);
    if (!strstr(error.message, part)) {
        fail_msg("\"%s\" lacks \"%s\"", error.message, part);
    }
    assert_int_equal(source_expand(file, &expanded, NULL), OCLATTN_BUILD_FAILED);
    text_clear(&expanded);
}

/* ---- sources ---------------------------------------------------------------------------------------------------- */

static void test_embedded_files_expand(void **state) {
    (void)state;
    unsetenv("OCLATTN_KERNEL_DIR");
    for (const kernel_source *source = kernel_sources; source->name; source++) {
        assert_int_equal(source->text[source->length], 0);
        text expanded = {0};
        assert_int_equal(source_expand(source->name, &expanded, NULL), OCLATTN_OK);
        assert_true(expanded.length >= source->length);
        assert_int_equal(strlen(expanded.data), expanded.length);
        text_clear(&expanded);
    }
    assert_expansion_fails("no such file.cl", "kernel file no such file.cl is not part of this library");
    setenv("OCLATTN_KERNEL_DIR", "", 1);
    assert_expansion_fails("no such file.cl", "is not part of this library");
}

static void test_includes_are_expanded_once(void **state) {
    const fixture *f = *state;
    put(f, "main.cl", "int first;\n#include \"a.clh\"\n  #\tinclude\t\"b.clh\" // again\n#include \"a.clh\"\n"
                      "int last;");
    put(f, "a.clh", "#include \"b.clh\"\r\nint a;\n");
    put(f, "b.clh", "");
    assert_expands_to("main.cl", "#line 1 \"main.cl\"\nint first;\n#line 1 \"a.clh\"\n#line 1 \"b.clh\"\n"
                                 "#line 2 \"a.clh\"\nint a;\n#line 3 \"main.cl\"\n#line 4 \"main.cl\"\n"
                                 "#line 5 \"main.cl\"\nint last;\n");
}

static void test_other_lines_are_kept(void **state) {
    const fixture *f = *state;
    static const char lines[] = "#include <x>\n#include\n#include \"open\n#incl\n#\n\n \n#define include \"x\"\n"
                                "// #include \"x\"\nint s[] = {';', '[', '\"', '\\\\'};\n";
    put(f, "main.cl", lines);
    char expected[sizeof lines + 32];
    snprintf(expected, sizeof expected, "#line 1 \"main.cl\"\n%s", lines);
    assert_expands_to("main.cl", expected);
}

static void test_bad_includes_are_explained(void **state) {
    const fixture *f = *state;
    put(f, "circle.cl", "\n#include \"a.clh\"\n");
    put(f, "a.clh", "#include \"b.clh\"\n");
    put(f, "b.clh", "\n\n#include \"a.clh\"\n");
    put(f, "self.cl", "#include \"self.cl\"\n");
    put(f, "missing.cl", "#include \"gone.clh\"\n");
    put(f, "outside.cl", "#include \"../x.clh\"\n");
    put(f, "empty.cl", "#include \"\"\n");
    assert_expansion_fails("circle.cl", "b.clh, line 3: including a.clh closes a circle of includes");
    assert_expansion_fails("self.cl", "self.cl, line 1: including self.cl closes a circle");
    assert_expansion_fails("missing.cl", "gone.clh, in the folder that OCLATTN_KERNEL_DIR names: No such file");
    assert_expansion_fails("gone.cl", "cannot read kernel file");
    assert_expansion_fails("outside.cl", "outside.cl, line 1: an include names a file of the same folder");
    assert_expansion_fails("empty.cl", "empty.cl, line 1: an include names a file");
    assert_expansion_fails(".", "Is a directory");
}

static void test_too_many_files_are_refused(void **state) {
    const fixture *f = *state;
    for (int i = 0; i < 100; i++) {
        char name[32], line[64];
        snprintf(name, sizeof name, "%d.clh", i);
        snprintf(line, sizeof line, "#include \"%d.clh\"\n", i + 1);
        put(f, name, line);
    }
    assert_expansion_fails("0.clh", "more than 64 kernel files include each other");
}

/* ---- building --------------------------------------------------------------------------------------------------- */

static int run_answer(oclattn_context *context, const char *options) {
    cl_kernel kernel;
    oclattn_error error;
    assert_int_equal(program_kernel(context, "answer.cl", options, "answer", &kernel, &error), OCLATTN_OK);
    const int value = answer_of(context, kernel);
    clReleaseKernel(kernel);
    return value;
}

static void test_a_program_is_built_once(void **state) {
    fixture *f = *state;
    put(f, "answer.cl", "#include \"body.clh\"\n");
    put(f, "body.clh", ANSWER_SOURCE);
    assert_int_equal(run_answer(f->context, "-DVALUE=42"), 42);
    cl_program first, again, other;
    put(f, "body.clh", "not C");
    assert_int_equal(program_get(f->context, "answer.cl", "-DVALUE=42", &first, &f->error), OCLATTN_OK);
    assert_int_equal(program_get(f->context, "answer.cl", "-DVALUE=42", &again, NULL), OCLATTN_OK);
    assert_ptr_equal(first, again);
    put(f, "body.clh", ANSWER_SOURCE);
    assert_int_equal(program_get(f->context, "answer.cl", "-DVALUE=7", &other, &f->error), OCLATTN_OK);
    assert_ptr_not_equal(first, other);
    assert_int_equal(run_answer(f->context, "-DVALUE=7"), 7);
    assert_int_equal(run_answer(f->context, "-DVALUE=42"), 42);
}

static void test_a_failed_build_says_why(void **state) {
    fixture *f = *state;
    put(f, "answer.cl", "\n#include \"body.clh\"\n");
    put(f, "body.clh", "\n\nkernel void answer(global int *out) { out[0] = undeclared_name; }\n");
    cl_program program;
    assert_int_equal(program_get(f->context, "answer.cl", "-DX=1", &program, &f->error), OCLATTN_BUILD_FAILED);
    assert_null(program);
    assert_int_equal(f->error.status, OCLATTN_BUILD_FAILED);
    assert_int_equal(f->error.cl_code, CL_BUILD_PROGRAM_FAILURE);
    char start[512];
    snprintf(start, sizeof start, "building answer.cl (-cl-std=CL1.2 -w -DX=1) for %s failed: ", f->context->caps.name);
    assert_memory_equal(f->error.message, start, strlen(start));
    assert_non_null(strstr(f->error.message, "undeclared_name"));
    assert_non_null(strstr(f->error.message, "body.clh:3:"));
    assert_true(log_capture_has(&f->log, "undeclared_name"));
    assert_true(f->log.lines[OCLATTN_LOG_WARNING] >= 2);
    assert_int_equal(program_get(f->context, "answer.cl", "-DX=1", &program, NULL), OCLATTN_BUILD_FAILED);
    /* A repaired file builds: failures are not remembered. */
    put(f, "body.clh", ANSWER_SOURCE);
    assert_int_equal(program_get(f->context, "answer.cl", "-DX=1 -DVALUE=2", &program, NULL), OCLATTN_OK);
}

static void test_a_missing_kernel_is_named(void **state) {
    fixture *f = *state;
    put(f, "answer.cl", ANSWER_SOURCE);
    cl_kernel kernel;
    assert_int_equal(program_kernel(f->context, "answer.cl", "-DVALUE=1", "question", &kernel, &f->error),
                     OCLATTN_OPENCL_ERROR);
    assert_int_equal(f->error.cl_code, CL_INVALID_KERNEL_NAME);
    assert_non_null(strstr(f->error.message, "question in answer.cl"));
    assert_int_equal(program_kernel(f->context, "none.cl", "", "question", &kernel, &f->error), OCLATTN_BUILD_FAILED);
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

typedef struct worker {
    oclattn_context *context;
    cl_program same, own;
    oclattn_status status;
    int index;
} worker;

static int get_programs(void *argument) {
    worker *w = argument;
    char options[32];
    snprintf(options, sizeof options, "-DVALUE=%d", w->index % 3);
    w->status = program_get(w->context, "answer.cl", "-DVALUE=100", &w->same, NULL);
    if (w->status == OCLATTN_OK) {
        w->status = program_get(w->context, "answer.cl", options, &w->own, NULL);
    }
    return 0;
}

static void test_threads_build_a_program_once(void **state) {
    fixture *f = *state;
    put(f, "answer.cl", ANSWER_SOURCE);
    thrd_t threads[THREADS];
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.context = f->context, .index = i};
        assert_int_equal(thrd_create(&threads[i], get_programs, &workers[i]), thrd_success);
    }
    for (int i = 0; i < THREADS; i++) {
        thrd_join(threads[i], NULL);
        assert_int_equal(workers[i].status, OCLATTN_OK);
        assert_ptr_equal(workers[i].same, workers[0].same);
        assert_ptr_equal(workers[i].own, workers[i % 3].own);
    }
    size_t built = 0;
    for (const char *at = f->log.text; (at = strstr(at, "built from source")) != NULL; at++) {
        built++;
    }
    assert_int_equal(built, 4);
    assert_int_equal(run_answer(f->context, "-DVALUE=2"), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_embedded_files_expand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_includes_are_expanded_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_lines_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_includes_are_explained, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_many_files_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_program_is_built_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failed_build_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_missing_kernel_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads_build_a_program_once, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
