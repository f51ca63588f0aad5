/* Making contexts: options, the caller's own OpenCL objects, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "program/program.h"
#include "support/answer.h"
#include "support/log_capture.h"
#include "support/temp_folder.h"

static void assert_message(const oclattn_error *error, oclattn_status status, const char *part) {
    assert_int_equal(error->status, status);
    if (!strstr(error->message, part)) {
        fail_msg("\"%s\" lacks \"%s\"", error->message, part);
    }
}

static oclattn_context_options quiet_options(void) {
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    options.cache_dir = "";
    return options;
}

static oclattn_context *create(void) {
    const oclattn_context_options options = quiet_options();
    oclattn_context *context;
    assert_int_equal(oclattn_context_create(&options, &context, NULL), OCLATTN_OK);
    return context;
}

static void assert_options_refused(const oclattn_context_options *options, const char *part) {
    oclattn_context *context = (oclattn_context *)1;
    oclattn_error error = {0};
    assert_int_equal(oclattn_context_create(options, &context, &error), OCLATTN_INVALID_ARGUMENT);
    assert_message(&error, OCLATTN_INVALID_ARGUMENT, part);
    assert_null(context);
    assert_int_equal(oclattn_context_create(options, &context, NULL), OCLATTN_INVALID_ARGUMENT);
}

static void test_bad_options_are_refused(void **state) {
    (void)state;
    oclattn_context_options options = quiet_options();
    options.struct_size = 0;
    assert_options_refused(&options, "oclattn_context_options_init");
    options.struct_size = sizeof options + 8;
    assert_options_refused(&options, "newer header");
    options.struct_size = sizeof options - 8;
    assert_options_refused(&options, "smaller than any release");
    options = quiet_options();
    options.log_level = (oclattn_log_level)4;
    assert_options_refused(&options, "log_level 4 is unknown");
    options.log_level = (oclattn_log_level)-1;
    assert_options_refused(&options, "log_level -1 is unknown");
}

static void test_nulls_are_refused_or_harmless(void **state) {
    (void)state;
    oclattn_error error;
    assert_int_equal(oclattn_context_create(NULL, NULL, &error), OCLATTN_INVALID_ARGUMENT);
    assert_message(&error, OCLATTN_INVALID_ARGUMENT, "context is NULL");
    oclattn_context *own = create();
    oclattn_context *context;
    const cl_device_id device = oclattn_context_device(own);
    assert_int_equal(oclattn_context_create_from_cl(NULL, NULL, device, &context, &error), OCLATTN_INVALID_ARGUMENT);
    assert_message(&error, OCLATTN_INVALID_ARGUMENT, "cl_ctx is NULL");
    assert_int_equal(oclattn_context_create_from_cl(NULL, oclattn_context_cl(own), NULL, &context, &error),
                     OCLATTN_INVALID_ARGUMENT);
    assert_message(&error, OCLATTN_INVALID_ARGUMENT, "device is NULL");
    oclattn_context_destroy(own);
    oclattn_context_destroy(NULL);
    oclattn_context_options_init(NULL);
    assert_null(oclattn_context_cl(NULL));
    assert_null(oclattn_context_device(NULL));
}

static void test_an_unknown_device_is_refused(void **state) {
    (void)state;
    oclattn_context_options options = quiet_options();
    options.device = "no device is called so";
    oclattn_context *context;
    oclattn_error error;
    assert_int_equal(oclattn_context_create(&options, &context, &error), OCLATTN_NO_DEVICE);
    assert_message(&error, OCLATTN_NO_DEVICE, options.device);
    assert_null(context);
}

static cl_uint references(cl_context cl) {
    cl_uint count;
    assert_int_equal(clGetContextInfo(cl, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL), CL_SUCCESS);
    return count;
}

static void test_the_callers_context_is_kept_alive(void **state) {
    (void)state;
    oclattn_context *first = create();
    const cl_context cl = oclattn_context_cl(first);
    const cl_uint before = references(cl);
    const oclattn_context_options options = quiet_options();
    oclattn_context *context;
    assert_int_equal(oclattn_context_create_from_cl(&options, cl, oclattn_context_device(first), &context, NULL),
                     OCLATTN_OK);
    assert_int_equal(references(cl), before + 1);
    assert_ptr_equal(oclattn_context_cl(context), cl);
    assert_string_equal(context->caps.name, first->caps.name);
    assert_int_equal(context->platform_index, -1);
    context_retain(context);
    oclattn_context_destroy(context);
    assert_int_equal(references(cl), before + 1);
    context_release(context);
    assert_int_equal(references(cl), before);
    oclattn_context_destroy(first);
}

static cl_platform_id platform_of(cl_device_id device) {
    cl_platform_id platform;
    assert_int_equal(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL), CL_SUCCESS);
    return platform;
}

/* NULL where there is no other platform with a device. */
static cl_device_id device_of_another_platform(cl_device_id device) {
    cl_platform_id platforms[16];
    cl_uint count = 0;
    assert_int_equal(clGetPlatformIDs(16, platforms, &count), CL_SUCCESS);
    for (cl_uint i = 0; i < count && i < 16; i++) {
        cl_device_id other;
        if (platforms[i] != platform_of(device) &&
            clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &other, NULL) == CL_SUCCESS) {
            return other;
        }
    }
    return NULL;
}

static void test_a_device_of_another_context_is_refused(void **state) {
    (void)state;
    oclattn_context *own = create();
    const cl_device_id other = device_of_another_platform(oclattn_context_device(own));
    if (!other) {
        print_message("SKIP: there is no second platform\n");
        oclattn_context_destroy(own);
        skip();
    }
    oclattn_context *context;
    oclattn_error error;
    assert_int_equal(oclattn_context_create_from_cl(NULL, oclattn_context_cl(own), other, &context, &error),
                     OCLATTN_INVALID_ARGUMENT);
    assert_message(&error, OCLATTN_INVALID_ARGUMENT, "device is not one of the devices of cl_ctx");
    oclattn_context_destroy(own);
}

/* Makes two devices of one; false where it cannot be split. */
static bool split_device(cl_device_id device, cl_device_id parts[2]) {
    const cl_device_partition_property single[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_uint count = 0;
    if (clCreateSubDevices(device, single, 0, NULL, &count) != CL_SUCCESS || count < 2) {
        return false;
    }
    cl_device_id *all = calloc(count, sizeof *all);
    assert_non_null(all);
    assert_int_equal(clCreateSubDevices(device, single, count, all, NULL), CL_SUCCESS);
    for (cl_uint i = 2; i < count; i++) {
        clReleaseDevice(all[i]);
    }
    memcpy(parts, all, 2 * sizeof *all);
    free(all);
    return true;
}

static void assert_answer(cl_context cl, cl_device_id device, const char *cache, const char *how) {
    log_capture log;
    oclattn_context_options options = quiet_options();
    options.cache_dir = cache;
    log_capture_start(&log, &options, OCLATTN_LOG_DEBUG);
    oclattn_context *context;
    assert_int_equal(oclattn_context_create_from_cl(&options, cl, device, &context, NULL), OCLATTN_OK);
    cl_kernel kernel;
    assert_int_equal(program_kernel(context, "answer.cl", "-DVALUE=5", "answer", &kernel, NULL), OCLATTN_OK);
    assert_int_equal(answer_of(context, kernel), 5);
    if (!log_capture_has(&log, how) || log.lines[OCLATTN_LOG_WARNING] > 0) {
        fail_msg("expected \"%s\" and no warning:\n%s", how, log.text);
    }
    clReleaseKernel(kernel);
    oclattn_context_destroy(context);
    log_capture_stop(&log);
}

static void test_the_second_of_two_devices_works(void **state) {
    (void)state;
    oclattn_context *whole = create();
    cl_device_id parts[2];
    if (!split_device(oclattn_context_device(whole), parts)) {
        print_message("SKIP: the device cannot be split\n");
        oclattn_context_destroy(whole);
        skip();
    }
    cl_int code;
    cl_context cl = clCreateContext(NULL, 2, parts, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    char folder[TEMP_PATH_SIZE], kernel[TEMP_PATH_SIZE], cache[TEMP_PATH_SIZE];
    temp_folder_make(folder);
    temp_path(kernel, folder, "answer.cl");
    temp_path(cache, folder, "cache");
    file_write(kernel, ANSWER_SOURCE, strlen(ANSWER_SOURCE));
    setenv("OCLATTN_KERNEL_DIR", folder, 1);
    assert_answer(cl, parts[1], cache, "built from source");
    assert_int_equal(folder_count(cache, NULL), 1);
    assert_answer(cl, parts[1], cache, "taken from the cache on disk");
    unsetenv("OCLATTN_KERNEL_DIR");
    temp_folder_remove(folder);
    clReleaseContext(cl);
    clReleaseDevice(parts[0]);
    clReleaseDevice(parts[1]);
    oclattn_context_destroy(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_options_are_refused),
        cmocka_unit_test(test_nulls_are_refused_or_harmless),
        cmocka_unit_test(test_an_unknown_device_is_refused),
        cmocka_unit_test(test_the_callers_context_is_kept_alive),
        cmocka_unit_test(test_a_device_of_another_context_is_refused),
        cmocka_unit_test(test_the_second_of_two_devices_works),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
