/* Text of drivers, errors, the log, and the small public functions that need no device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/log.h"
#include "device/text.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- text ------------------------------------------------------------------------------------------------------- */

static void test_driver_text_is_made_safe(void **state) {
    static const struct {
        const char *raw;
        size_t length;
        const char *clean;
    } cases[] = {
        {"Tesla", 6, "Tesla"},
        {"Tesla", 3, "Tes"},
        {"  two  words \n", 15, "two  words"},
        {"a\tb\x01"
         "c\x7f"
         "d",
         8, "a b c d"},
        {"caf\xc3\xa9", 6, "caf\xc3\xa9"},
        {"caf\xc3", 5, "caf?"},
        {"\xff\xfe", 2, "??"},
        {"\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80", 12, "?? ??? ????"},
        {"\xf0\x9f\x98\x80 ok", 8, "\xf0\x9f\x98\x80 ok"},
        {"a\x1b[31mb", 8, "a [31mb"},
        {"a\xc2\x9b"
         "31mb\xc2\xa0"
         "c",
         11,
         "a 31mb\xc2\xa0"
         "c"},
        {"a\xe2\x80\xae"
         "b\xe2\x80\xa8"
         "c\xe2\x81\xa6"
         "d\xe2\x80\xa7",
         17, "a b c d\xe2\x80\xa7"},
        {"\x1b\r\n a", 5, "a"},
        {"\xc2\x85 \xe2\x80\xa9", 6, ""},
        {"a\0b", 3, "a"},
        {"", 1, ""},
        {NULL, 0, ""},
        {"    ", 4, ""},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char text[32];
        text_clean(text, sizeof(text), cases[i].raw, cases[i].length);
        assert_string_equal(text, cases[i].clean);
    }
}

static void test_long_text_is_cut_between_characters(void **state) {
    char text[5];
    (void)state;
    text_clean(text, sizeof(text), "abcdefgh", 9);
    assert_string_equal(text, "abcd");
    text_clean(text, sizeof(text), "abc\xc3\xa9", 6);
    assert_string_equal(text, "abc");
    text_clean(text, sizeof(text), "ab\xc3\xa9", 5);
    assert_string_equal(text, "ab\xc3\xa9");
}

static void test_extensions_are_whole_words(void **state) {
    (void)state;
    assert_true(text_has_word("cl_khr_fp16", "cl_khr_fp16"));
    assert_true(text_has_word("a cl_khr_fp16", "cl_khr_fp16"));
    assert_true(text_has_word("cl_khr_fp16_more cl_khr_fp16 b", "cl_khr_fp16"));
    assert_false(text_has_word("cl_khr_fp16_more xcl_khr_fp16", "cl_khr_fp16"));
    assert_false(text_has_word("", "cl_khr_fp16"));
}

static void test_names_compare_without_case(void **state) {
    (void)state;
    assert_true(text_contains_ignoring_case("NVIDIA GeForce", "geforce"));
    assert_true(text_contains_ignoring_case("x", ""));
    assert_false(text_contains_ignoring_case("", "x"));
    assert_false(text_contains_ignoring_case("GeForc", "geforce"));
    assert_true(text_equal_ignoring_case("GPU", "gpu"));
    assert_false(text_equal_ignoring_case("GPU", "gpus"));
}

/* ---- errors and the log ----------------------------------------------------------------------------------------- */

static void test_long_messages_end_in_dots(void **state) {
    oclattn_error error;
    char text[OCLATTN_ERROR_MESSAGE_SIZE + 1];
    (void)state;
    for (size_t length = OCLATTN_ERROR_MESSAGE_SIZE - 2; length <= OCLATTN_ERROR_MESSAGE_SIZE; length++) {
        for (size_t i = 0; i < length; i++) {
            text[i] = "\xc3\xa9"[(i + length) % 2];
        }
        text[length] = '\0';
        assert_int_equal(error_set(&error, OCLATTN_UNSUPPORTED, "%s", text), OCLATTN_UNSUPPORTED);
        const size_t end = strlen(error.message);
        if (length < OCLATTN_ERROR_MESSAGE_SIZE) {
            assert_string_equal(error.message, text);
        } else {
            assert_string_equal(error.message + end - 3, "...");
            assert_int_equal((unsigned char)error.message[end - 4], 0xa9);
        }
    }
    assert_int_equal(error_set(NULL, OCLATTN_UNSUPPORTED, "%s", text), OCLATTN_UNSUPPORTED);
}

static void test_codes_become_statuses(void **state) {
    static const struct {
        cl_int code;
        oclattn_status status;
        const char *message;
    } cases[] = {
        {CL_MEM_OBJECT_ALLOCATION_FAILURE, OCLATTN_OUT_OF_MEMORY, "x failed: CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)"},
        {CL_OUT_OF_HOST_MEMORY, OCLATTN_OUT_OF_MEMORY, "x failed: CL_OUT_OF_HOST_MEMORY (-6)"},
        {CL_INVALID_BUFFER_SIZE, OCLATTN_OUT_OF_MEMORY, "x failed: CL_INVALID_BUFFER_SIZE (-61)"},
        {CL_BUILD_PROGRAM_FAILURE, OCLATTN_BUILD_FAILED, "x failed: CL_BUILD_PROGRAM_FAILURE (-11)"},
        {CL_INVALID_KERNEL_ARGS, OCLATTN_OPENCL_ERROR, "x failed: CL_INVALID_KERNEL_ARGS (-52)"},
        {-1001, OCLATTN_OPENCL_ERROR, "x failed: CL_PLATFORM_NOT_FOUND_KHR (-1001)"},
        {-9999, OCLATTN_OPENCL_ERROR, "x failed: an OpenCL code without a name (-9999)"},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        oclattn_error error;
        assert_int_equal(error_from_cl(&error, cases[i].code, "x"), cases[i].status);
        assert_int_equal(error.status, cases[i].status);
        assert_int_equal(error.cl_code, cases[i].code);
        assert_string_equal(error.message, cases[i].message);
    }
    assert_int_equal(error_from_cl(NULL, CL_OUT_OF_RESOURCES, "x"), OCLATTN_OUT_OF_MEMORY);
}

typedef struct captured_log {
    size_t lines, length;
    char text[4096];
} captured_log;

static void capture(oclattn_log_level level, const char *text, void *user) {
    captured_log *log = user;
    (void)level;
    log->lines++;
    log->length = strlen(text);
    snprintf(log->text, sizeof(log->text), "%s", text);
}

static void test_log_keeps_to_its_level(void **state) {
    captured_log captured = {0};
    const logger log = {.write = capture, .user = &captured, .level = OCLATTN_LOG_INFO};
    char text[3001];
    (void)state;
    log_line(&log, OCLATTN_LOG_DEBUG, "no");
    log_line(NULL, OCLATTN_LOG_WARNING, "no");
    log_line(&(logger){0}, OCLATTN_LOG_WARNING, "no");
    assert_int_equal(captured.lines, 0);
    log_line(&log, OCLATTN_LOG_INFO, "%d", 12);
    assert_string_equal(captured.text, "12");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_line(&log, OCLATTN_LOG_WARNING, "%s", text);
    assert_string_equal(captured.text, text);
    assert_int_equal(captured.lines, 2);
}

/* ---- small public functions ------------------------------------------------------------------------------------- */

static void test_version_is_the_headers(void **state) {
    char version[32];
    (void)state;
    snprintf(version, sizeof(version), "%d.%d.%d", OCLATTN_VERSION_MAJOR, OCLATTN_VERSION_MINOR, OCLATTN_VERSION_PATCH);
    assert_string_equal(oclattn_version(), version);
}

static void test_every_status_has_a_name(void **state) {
    (void)state;
    for (int a = OCLATTN_OK; a <= OCLATTN_OPENCL_ERROR + 1; a++) {
        assert_non_null(oclattn_status_string((oclattn_status)a));
        for (int b = OCLATTN_OK; b < a; b++) {
            assert_string_not_equal(oclattn_status_string((oclattn_status)a), oclattn_status_string((oclattn_status)b));
        }
    }
    assert_string_equal(oclattn_status_string(OCLATTN_INVALID_ARGUMENT), "invalid argument");
    assert_string_equal(oclattn_status_string((oclattn_status)1000), "unknown status");
}

static void test_types_have_sizes(void **state) {
    (void)state;
    assert_int_equal(oclattn_type_bytes(OCLATTN_F32), 4);
    assert_int_equal(oclattn_type_bytes(OCLATTN_F16), 2);
    assert_int_equal(oclattn_type_bytes(OCLATTN_BF16), 2);
    assert_int_equal(oclattn_type_bytes((oclattn_type)0), 0);
    assert_int_equal(oclattn_type_bytes((oclattn_type)4), 0);
}

static void assert_slopes(int64_t heads, const float *expected) {
    float slopes[16];
    slopes[heads] = 77;
    oclattn_alibi_slopes(heads, slopes);
    for (int64_t i = 0; i < heads; i++) {
        assert_true(fabsf(slopes[i] - expected[i]) <= 1e-7f * expected[i]);
    }
    assert_true(slopes[heads] == 77);
}

static void test_alibi_slopes(void **state) {
    (void)state;
    assert_slopes(1, (const float[]){0.00390625f});
    assert_slopes(2, (const float[]){0.0625f, 0.00390625f});
    assert_slopes(3, (const float[]){0.0625f, 0.00390625f, 0.25f});
    assert_slopes(6, (const float[]){0.25f, 0.0625f, 0.015625f, 0.00390625f, 0.5f, 0.125f});
    assert_slopes(8, (const float[]){0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f, 0.015625f, 0.0078125f, 0.00390625f});
    assert_slopes(12, (const float[]){0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f, 0.015625f, 0.0078125f, 0.00390625f,
                                      0.70710678f, 0.35355339f, 0.17677670f, 0.08838835f});
    assert_slopes(0, NULL);
    oclattn_alibi_slopes(-5, NULL);
    oclattn_alibi_slopes(5, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driver_text_is_made_safe),
        cmocka_unit_test(test_long_text_is_cut_between_characters),
        cmocka_unit_test(test_extensions_are_whole_words),
        cmocka_unit_test(test_names_compare_without_case),
        cmocka_unit_test(test_long_messages_end_in_dots),
        cmocka_unit_test(test_codes_become_statuses),
        cmocka_unit_test(test_log_keeps_to_its_level),
        cmocka_unit_test(test_version_is_the_headers),
        cmocka_unit_test(test_every_status_has_a_name),
        cmocka_unit_test(test_types_have_sizes),
        cmocka_unit_test(test_alibi_slopes),
    };
    return cmocka_run_group_tests_name("common", tests, NULL, NULL);
}
