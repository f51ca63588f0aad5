/* What the layer of tests/layer can play: each setting is tried on a kernel or a query of its own. */
#define _POSIX_C_SOURCE 200809L /* setenv, nanosleep */
#include <harness.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "layer/layer.h"
#include "support/fault_sweep.h"

#define QUEUE_SIZE 0x1094
#define MAX_NUM_SUB_GROUPS 0x105C
#define MAX_SUB_GROUP_SIZE_FOR_NDRANGE 0x2033

static const char *const settings[] = {"DEVICE_VERSION",         "C_VERSION",      "HIDE_EXTENSIONS",
                                       "KEEP_EXTENSIONS",        "ADDRESS_ALIGN",  "KERNEL_WORK_GROUP",
                                       "GLOBAL_MEMORY",          "MAX_SUB_GROUPS", "SUB_GROUP_SIZE",
                                       "SUB_GROUP_QUERIES_FAIL", "DELAY",          "FAIL",
                                       "PREFERRED_MULTIPLE"};

static void play(const char *name, const char *value) {
    char variable[64];
    snprintf(variable, sizeof variable, "OCLATTN_LAYER_%s", name);
    assert_int_equal(setenv(variable, value, 1), 0);
}

static int play_nothing(void **state) {
    char variable[64];
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        snprintf(variable, sizeof variable, "OCLATTN_LAYER_%s", settings[i]);
        unsetenv(variable);
    }
    return 0;
}

/* ---- helpers ---------------------------------------------------------------------------------------------------- */

static cl_program build(const char *text, const char *build_options, cl_int *code) {
    const cl_program program = clCreateProgramWithSource(device.cl, 1, &text, NULL, code);
    assert_non_null(program);
    *code = clBuildProgram(program, 1, &device.id, build_options, NULL, NULL);
    return program;
}

/* The kernel `answer(global int *out)` of a source. */
static cl_kernel answering_kernel(const char *text) {
    cl_int code;
    const cl_program program = build(text, "-cl-std=CL1.2", &code);
    assert_int_equal(code, CL_SUCCESS);
    const cl_kernel kernel = clCreateKernel(program, "answer", &code);
    assert_int_equal(code, CL_SUCCESS);
    clReleaseProgram(program);
    return kernel;
}

static cl_int launch(cl_kernel kernel, cl_mem out, size_t local) {
    assert_int_equal(clSetKernelArg(kernel, 0, sizeof out, &out), CL_SUCCESS);
    const cl_int code = clEnqueueNDRangeKernel(device.in_order, kernel, 1, NULL, &local, &local, 0, NULL, NULL);
    clFinish(device.in_order);
    return code;
}

static int answer_of(const char *text) {
    int result = -1;
    const cl_kernel kernel = answering_kernel(text);
    const cl_mem out = buffer_new(sizeof result, NULL);
    assert_int_equal(launch(kernel, out, 1), CL_SUCCESS);
    buffer_read(out, sizeof result, &result);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    return result;
}

static bool lists(const char *extension) {
    char text[16384] = "";
    assert_int_equal(clGetDeviceInfo(device.id, CL_DEVICE_EXTENSIONS, sizeof text, text, NULL), CL_SUCCESS);
    return strstr(text, extension) != NULL;
}

/* ---- extensions ------------------------------------------------------------------------------------------------- */

#define EXTENSION "cl_khr_byte_addressable_store"
#define ASKS_FOR_EXTENSION                                                                                             \
    "kernel void answer(global int *out) {\n"                                                                          \
    "#ifdef " EXTENSION "\n"                                                                                           \
    "    *out = 1;\n"                                                                                                  \
    "#else\n"                                                                                                          \
    "    *out = 0;\n"                                                                                                  \
    "#endif\n"                                                                                                         \
    "}\n"

static void test_extensions_are_hidden_from_kernels_too(void **state) {
    (void)state;
    assert_true(lists(EXTENSION));
    assert_int_equal(answer_of(ASKS_FOR_EXTENSION), 1);
    play("HIDE_EXTENSIONS", "cl_khr_fp64," EXTENSION);
    assert_false(lists(EXTENSION));
    assert_true(lists("cl_khr_global_int32_base_atomics"));
    assert_int_equal(answer_of(ASKS_FOR_EXTENSION), 0);
    unsetenv("OCLATTN_LAYER_HIDE_EXTENSIONS");
    play("KEEP_EXTENSIONS", EXTENSION);
    assert_true(lists(EXTENSION));
    assert_false(lists("cl_khr_global_int32_base_atomics"));
    assert_int_equal(answer_of(ASKS_FOR_EXTENSION), 1);
    play("KEEP_EXTENSIONS", "");
    assert_false(lists("cl_"));
    assert_int_equal(answer_of(ASKS_FOR_EXTENSION), 0);
}

/* ---- versions --------------------------------------------------------------------------------------------------- */

typedef cl_command_queue(CL_API_CALL *create_queue)(cl_context, cl_device_id, const void *, cl_int *);

static void test_old_devices_lack_what_came_later(void **state) {
    cl_int code = CL_SUCCESS;
    cl_uint size = 0;
    create_queue create = NULL;
    (void)state;
    *(void **)&create = dlsym(RTLD_DEFAULT, "clCreateCommandQueueWithProperties");
    play("DEVICE_VERSION", "OpenCL 1.2 old");
    play("C_VERSION", "OpenCL C 1.2 old");
    if (create) {
        assert_null(create(device.cl, device.id, NULL, &code));
        assert_int_equal(code, CL_INVALID_OPERATION);
    }
    assert_int_equal(clGetCommandQueueInfo(device.in_order, QUEUE_SIZE, sizeof size, &size, NULL), CL_INVALID_VALUE);
    assert_int_equal(clGetDeviceInfo(device.id, MAX_NUM_SUB_GROUPS, sizeof size, &size, NULL), CL_INVALID_VALUE);
    clReleaseProgram(build(ASKS_FOR_EXTENSION, "-w -cl-std=CL2.0", &code));
    assert_int_equal(code, CL_INVALID_BUILD_OPTIONS);
    clReleaseProgram(build(ASKS_FOR_EXTENSION, "-cl-std=CL1.2", &code));
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(answer_of("kernel void answer(global int *out) { *out = __OPENCL_VERSION__; }"), 120);
}

/* ---- limits ----------------------------------------------------------------------------------------------------- */

static void test_sub_buffers_are_aligned(void **state) {
    cl_int code = CL_SUCCESS;
    cl_uint bits = 0;
    const cl_buffer_region off = {4096, 64};
    const cl_buffer_region on = {8192, 64};
    const cl_mem buffer = buffer_new(16384, NULL);
    (void)state;
    play("ADDRESS_ALIGN", "65536");
    clGetDeviceInfo(device.id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    assert_int_equal(bits, 65536);
    assert_null(clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &off, &code));
    assert_int_equal(code, CL_MISALIGNED_SUB_BUFFER_OFFSET);
    const cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &on, &code);
    assert_int_equal(code, CL_SUCCESS);
    clReleaseMemObject(part);
    clReleaseMemObject(buffer);
}

static void test_memory_is_short(void **state) {
    cl_int code = CL_SUCCESS;
    (void)state;
    play("GLOBAL_MEMORY", "1000");
    assert_null(clCreateBuffer(device.cl, CL_MEM_READ_WRITE, 1001, NULL, &code));
    assert_int_equal(code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

static size_t group_limit(cl_kernel kernel) {
    size_t limit = 0;
    assert_int_equal(clGetKernelWorkGroupInfo(kernel, device.id, CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit, NULL),
                     CL_SUCCESS);
    return limit;
}

static void test_kernels_have_limits_by_name(void **state) {
    size_t multiple = 0;
    const cl_kernel kernel = answering_kernel(ASKS_FOR_EXTENSION);
    const cl_mem out = buffer_new(sizeof(int), NULL);
    (void)state;
    play("KERNEL_WORK_GROUP", "other=4,swer=8,32");
    assert_int_equal(group_limit(kernel), 8);
    assert_int_equal(launch(kernel, out, 8), CL_SUCCESS);
    assert_int_equal(launch(kernel, out, 16), CL_INVALID_WORK_GROUP_SIZE);
    play("KERNEL_WORK_GROUP", "other=4,32");
    assert_int_equal(group_limit(kernel), 32);
    play("KERNEL_WORK_GROUP", "other=4");
    assert_true(group_limit(kernel) > 32);
    play("PREFERRED_MULTIPLE", "7");
    clGetKernelWorkGroupInfo(kernel, device.id, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof multiple,
                             &multiple, NULL);
    assert_int_equal(multiple, 7);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
}

/* ---- sub-groups ------------------------------------------------------------------------------------------------- */

typedef cl_int(CL_API_CALL *sub_group_query)(cl_kernel, cl_device_id, cl_uint, size_t, const void *, size_t, void *,
                                             size_t *);

static sub_group_query find_sub_group_query(void) {
    cl_platform_id platform = NULL;
    sub_group_query query = NULL;
    clGetDeviceInfo(device.id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    *(void **)&query = clGetExtensionFunctionAddressForPlatform(platform, "clGetKernelSubGroupInfoKHR");
    return query;
}

static void test_sub_groups_are_played(void **state) {
    const size_t group = 16;
    size_t found = 0;
    (void)state;
    const sub_group_query ask = find_sub_group_query();
    if (!ask || !lists("_subgroups")) {
        printf("SKIP: the device has no sub-groups to play with\n");
        skip();
    }
    const cl_kernel kernel = answering_kernel(ASKS_FOR_EXTENSION);
    play("SUB_GROUP_SIZE", "5");
    assert_int_equal(
        ask(kernel, device.id, MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof group, &group, sizeof found, &found, NULL),
        CL_SUCCESS);
    assert_int_equal(found, 5);
    play("SUB_GROUP_QUERIES_FAIL", "1");
    assert_int_equal(
        ask(kernel, device.id, MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof group, &group, sizeof found, &found, NULL),
        CL_INVALID_OPERATION);
    play("HIDE_EXTENSIONS", "cl_khr_subgroups,cl_intel_subgroups");
    assert_null(find_sub_group_query());
    clReleaseKernel(kernel);
}

/* ---- late commands and callbacks -------------------------------------------------------------------------------- */

static void CL_CALLBACK note(cl_event event, cl_int status, void *user) {
    (void)event;
    (void)status;
    atomic_store((atomic_int *)user, 1);
}

static void pause_briefly(void) {
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
}

static void test_commands_and_callbacks_are_late(void **state) {
    const int seven = 7;
    atomic_int noted;
    int found = 0;
    cl_int status = CL_COMPLETE;
    cl_event event = NULL;
    const cl_mem buffer = buffer_new(sizeof found, &found);
    (void)state;
    atomic_init(&noted, 0);
    play("DELAY", "hold");
    assert_int_equal(clEnqueueWriteBuffer(device.in_order, buffer, CL_FALSE, 0, sizeof seven, &seven, 0, NULL, &event),
                     CL_SUCCESS);
    assert_int_equal(clSetEventCallback(event, CL_COMPLETE, note, &noted), CL_SUCCESS);
    clFlush(device.in_order);
    pause_briefly();
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    assert_true(status != CL_COMPLETE);
    assert_int_equal(atomic_load(&noted), 0);
    play("DELAY", "release");
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    while (!atomic_load(&noted)) {
        pause_briefly();
    }
    play("DELAY", "3,0");
    buffer_read(buffer, sizeof found, &found);
    assert_int_equal(found, 7);
    clReleaseEvent(event);
    clReleaseMemObject(buffer);
}

/* ---- counts ----------------------------------------------------------------------------------------------------- */

static unsigned long calls_of(const char *name) {
    unsigned long count = 0;
    const char *found = NULL;
    for (size_t i = 0; (found = layer_call(i, &count)) != NULL; i++) {
        if (strcmp(found, name) == 0) {
            return count;
        }
    }
    fail_msg("the layer does not know %s", name);
    return 0;
}

static void test_calls_are_counted_and_fail_by_name(void **state) {
    cl_uint count = 0;
    const unsigned long before = calls_of("clGetContextInfo");
    (void)state;
    play("FAIL", "clGetContextInfo:2:-6");
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(clGetContextInfo(device.cl, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL),
                         i == 2 ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS);
    }
    assert_int_equal(calls_of("clGetContextInfo"), before + 3);
}

static void test_failed_releases_have_let_go(void **state) {
    const long before = layer_live_objects();
    const cl_mem buffer = buffer_new(16, NULL);
    (void)state;
    assert_int_equal(layer_live_objects(), before + 1);
    play("FAIL", "clReleaseMemObject:1:-5");
    assert_int_equal(clReleaseMemObject(buffer), CL_OUT_OF_RESOURCES);
    assert_int_equal(layer_live_objects(), before);
}

#define PLAYED(test) cmocka_unit_test_setup_teardown(test, play_nothing, play_nothing)

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        PLAYED(test_extensions_are_hidden_from_kernels_too),
        PLAYED(test_old_devices_lack_what_came_later),
        PLAYED(test_sub_buffers_are_aligned),
        PLAYED(test_memory_is_short),
        PLAYED(test_kernels_have_limits_by_name),
        PLAYED(test_sub_groups_are_played),
        PLAYED(test_commands_and_callbacks_are_late),
        PLAYED(test_calls_are_counted_and_fail_by_name),
        PLAYED(test_failed_releases_have_let_go),
    };
    return fault_layer_is_loaded() ? harness_run(argc, argv, tests, sizeof tests / sizeof *tests) : 77;
}
