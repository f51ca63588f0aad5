/* Machines and devices that are stranger than this one, played by the layer of tests/layer; and the layer itself. Exit
 * code 77 (SKIP) where it is not loaded. "test_layer --leak" leaves objects over, to prove that they are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "layer/layer.h"

#define SKIP_EXIT_CODE 77

extern char **environ;

/* ---- helpers ---------------------------------------------------------------------------------------------------- */

static void play(const char *name, const char *value) {
    char variable[64];
    snprintf(variable, sizeof(variable), "OCLATTN_LAYER_%s", name);
    assert_int_equal(setenv(variable, value, 1), 0);
}

/* Finds a variable that a test has set; REPORT is its caller's. */
static bool find_played(char *name, size_t size) {
    for (char **entry = environ; *entry != NULL; entry++) {
        const bool is_ours = strncmp(*entry, "OCLATTN_LAYER_", 14) == 0;
        const bool is_report = strncmp(*entry, "OCLATTN_LAYER_REPORT=", 21) == 0;
        if (is_ours && !is_report) {
            snprintf(name, size, "%.*s", (int)strcspn(*entry, "="), *entry);
            return true;
        }
    }
    return false;
}

static int play_nothing(void **state) {
    char name[64];
    (void)state;
    while (find_played(name, sizeof(name))) {
        unsetenv(name);
    }
    return 0;
}

typedef struct captured_log {
    size_t lines, warnings;
    char text[8192];
} captured_log;

static void capture(oclattn_log_level level, const char *text, void *user) {
    captured_log *log = user;
    log->lines++;
    log->warnings += level == OCLATTN_LOG_WARNING;
    strncat(log->text, text, sizeof(log->text) - strlen(log->text) - 1);
}

static device_list read_list(captured_log *captured) {
    const logger log = {.write = capture, .user = captured, .level = OCLATTN_LOG_INFO};
    device_list list;
    oclattn_error error;
    memset(captured, 0, sizeof(*captured));
    assert_int_equal(device_list_read(&list, &log, &error), OCLATTN_OK);
    return list;
}

/* The first device as it is played now. */
static device_caps first_device(void) {
    captured_log log;
    device_list list = read_list(&log);
    assert_true(list.count > 0);
    const device_caps caps = list.items[0].caps;
    device_list_clear(&list);
    return caps;
}

static oclattn_status create_context(const char *device, oclattn_context **context, oclattn_error *error) {
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    options.cache_dir = "";
    options.device = device;
    return oclattn_context_create(&options, context, error);
}

static void assert_context_refused(const char *device, const char *part_of_message) {
    oclattn_context *context = NULL;
    oclattn_error error;
    assert_int_equal(create_context(device, &context, &error), OCLATTN_NO_DEVICE);
    assert_null(context);
    assert_non_null(strstr(error.message, part_of_message));
}

static void assert_context_works(const char *device) {
    oclattn_context *context = NULL;
    oclattn_error error;
    assert_int_equal(create_context(device, &context, &error), OCLATTN_OK);
    oclattn_context_destroy(context);
}

/* ---- platforms -------------------------------------------------------------------------------------------------- */

static void test_no_platform(void **state) {
    captured_log log;
    (void)state;
    play("NO_PLATFORMS", "1");
    device_list list = read_list(&log);
    assert_int_equal(list.count, 0);
    assert_int_equal(list.platform_count, 0);
    assert_int_equal(log.lines, 1);
    device_list_clear(&list);
    assert_context_refused(NULL, "no OpenCL device: install pocl-opencl-icd");
}

static void test_platforms_without_devices(void **state) {
    captured_log log;
    (void)state;
    play("NO_DEVICES", "");
    device_list list = read_list(&log);
    assert_int_equal(list.count, 0);
    assert_true(list.platform_count > 0);
    assert_int_equal(log.lines, list.platform_count);
    assert_int_equal(log.warnings, 0);
    device_list_clear(&list);
    assert_context_refused(NULL, "there are OpenCL platforms, but none has a device");
}

static void test_broken_platforms(void **state) {
    captured_log log;
    (void)state;
    play("BROKEN", "");
    device_list list = read_list(&log);
    assert_int_equal(list.count, 0);
    assert_int_equal(log.warnings, list.platform_count);
    assert_non_null(strstr(log.text, "clGetDeviceIDs failed: CL_OUT_OF_HOST_MEMORY (-6)"));
    device_list_clear(&list);
}

/* The platform of the first device goes; the others and their indexes stay. */
static void test_one_platform_of_several_is_empty(void **state) {
    captured_log log;
    (void)state;
    device_list all = read_list(&log);
    const device_record *first = &all.items[0];
    const device_record *last = &all.items[all.count - 1];
    if (strcmp(first->caps.platform_name, last->caps.platform_name) == 0) {
        device_list_clear(&all);
        skip();
    }
    play("NO_DEVICES", first->caps.platform_name);
    device_list list = read_list(&log);
    assert_true(list.count > 0 && list.count < all.count);
    assert_int_equal(list.platform_count, all.platform_count);
    assert_int_equal(list.items[list.count - 1].platform_index, last->platform_index);
    assert_int_not_equal(list.items[0].platform_index, first->platform_index);
    device_list_clear(&list);
    device_list_clear(&all);
}

static void test_drivers_registered_twice(void **state) {
    captured_log log;
    char alias[32];
    (void)state;
    device_list once = read_list(&log);
    play("TWICE", "1");
    device_list list = read_list(&log);
    assert_int_equal(list.count, 2 * once.count);
    for (size_t i = 0; i < once.count; i++) {
        assert_int_equal(list.items[i].alias_of, once.items[i].alias_of);
        assert_true(list.items[once.count + i].alias_of >= 0);
    }
    assert_int_equal(list.items[once.count].alias_of, 0);
    assert_non_null(strstr(log.text, "again"));
    size_t index = SIZE_MAX;
    snprintf(alias, sizeof(alias), "%d:%d", list.items[once.count].platform_index,
             list.items[once.count].device_index);
    assert_int_equal(device_choose(&list, alias, NULL, &index, NULL), OCLATTN_OK);
    assert_int_equal(index, 0);
    device_list_clear(&list);
    device_list_clear(&once);
    assert_context_works(NULL);
}

/* ---- devices ---------------------------------------------------------------------------------------------------- */

/* The platform says 3.0; the device is a 1.2 one and refuses every newer query. */
static void test_device_older_than_its_platform(void **state) {
    (void)state;
    play("DEVICE_VERSION", "OpenCL 1.2 somewhat old");
    play("C_VERSION", "OpenCL C 1.2 ");
    play("PLATFORM_VERSION", "OpenCL 3.0 quite new");
    play("HIDE_EXTENSIONS", "cl_khr_fp16,cl_khr_fp64,cl_khr_subgroups,cl_intel_subgroups");
    const device_caps caps = first_device();
    assert_int_equal(caps.version_major, 1);
    assert_int_equal(caps.version_minor, 2);
    assert_string_equal(caps.c_version, "OpenCL C 1.2");
    assert_string_equal(caps.platform_version, "OpenCL 3.0 quite new");
    assert_false(caps.has_fp16 || caps.has_fp64 || caps.has_subgroups);
    assert_context_works(NULL);
}

static void test_unreadable_versions(void **state) {
    static const char *const versions[] = {"3.0", "OpenCL", "", "OpenCL 0.9", "OpenCL x.y", "opencl 3.0"};
    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        play("DEVICE_VERSION", versions[i]);
        const device_caps caps = first_device();
        assert_int_equal(caps.version_major, 1);
        assert_int_equal(caps.version_minor, 2);
    }
    play("DEVICE_VERSION", "OpenCL 1.1 too old");
    assert_context_refused(NULL, "older than OpenCL 1.2");
}

static void assert_says_nothing(const device_caps *caps) {
    assert_string_equal(caps->name, "");
    assert_string_equal(caps->driver_version, "");
    assert_true(caps->type == 0 && caps->compute_units == 0 && caps->max_work_group_size == 0);
    assert_true(caps->local_memory_bytes == 0 && caps->max_work_item_sizes[0] == 0);
    assert_false(caps->has_fp16 || caps->has_fp64 || caps->has_subgroups || caps->host_unified_memory);
}

static void test_devices_that_answer_nothing(void **state) {
    static const char *const ways[] = {"FAIL_QUERIES", "EMPTY_QUERIES"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        play("FAIL_QUERIES", "");
        play(ways[i], "1000-1FFF");
        const device_caps caps = first_device();
        assert_says_nothing(&caps);
        assert_context_refused(NULL, "not available");
    }
}

static void test_names_are_made_safe(void **state) {
    (void)state;
    play("DEVICE_NAME", "  bad \xff\xfe" "name\n");
    play("UNTERMINATED", "1");
    assert_string_equal(first_device().name, "bad ??name");
    play("DEVICE_NAME", "");
    assert_string_equal(first_device().name, "");
    play("HIDE_EXTENSIONS", "cl_khr_fp64");
    assert_false(first_device().has_fp64);
}

static void test_limits_are_read(void **state) {
    (void)state;
    play("MAX_WORK_GROUP", "64");
    play("MAX_WORK_ITEMS", "64,2,1");
    play("LOCAL_MEMORY", "0x400");
    play("MAX_ALLOCATION", "1000000");
    play("UNIFIED_MEMORY", "0");
    play("DEVICE_TYPE", "4");
    const device_caps caps = first_device();
    assert_int_equal(caps.max_work_group_size, 64);
    assert_int_equal(caps.max_work_item_sizes[0], 64);
    assert_int_equal(caps.max_work_item_sizes[1], 2);
    assert_int_equal(caps.max_work_item_sizes[2], 1);
    assert_int_equal(caps.local_memory_bytes, 1024);
    assert_int_equal(caps.max_allocation_bytes, 1000000);
    assert_false(caps.host_unified_memory);
    assert_int_equal(caps.type, CL_DEVICE_TYPE_GPU);
}

static void test_devices_of_other_kinds_are_chosen(void **state) {
    captured_log log;
    (void)state;
    device_list list = read_list(&log);
    const device_record last = list.items[list.count - 1];
    device_list_clear(&list);
    play("ON", last.caps.platform_name);
    play("DEVICE_TYPE", "8");
    list = read_list(&log);
    size_t index = SIZE_MAX;
    unsetenv("OCLATTN_DEVICE");
    assert_int_equal(device_choose(&list, NULL, NULL, &index, NULL), OCLATTN_OK);
    assert_int_equal(list.items[index].platform_index, last.platform_index);
    assert_int_equal(device_choose(&list, "accelerator", NULL, &index, NULL), OCLATTN_OK);
    assert_int_equal(device_choose(&list, "gpu", NULL, &index, NULL), OCLATTN_NO_DEVICE);
    device_list_clear(&list);
    play("AVAILABLE", "0");
    assert_context_refused("accelerator", ", not available");
    play("AVAILABLE", "1");
    play("COMPILER_AVAILABLE", "0");
    assert_context_refused("accelerator", ", without a compiler");
}

/* ---- the layer itself ------------------------------------------------------------------------------------------- */

typedef struct fixture {
    oclattn_context *context;
    cl_context cl;
    cl_device_id device;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem buffer;
} fixture;

static int set_up_kernel(void **state) {
    static const char *const text = "kernel void fill(global int *out, local int *scratch) {"
                                    "    scratch[get_local_id(0)] = 3;"
                                    "    barrier(CLK_LOCAL_MEM_FENCE);"
                                    "    out[get_global_id(0)] = scratch[0];"
                                    "}";
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    assert_int_equal(create_context(NULL, &f->context, NULL), OCLATTN_OK);
    f->cl = oclattn_context_cl(f->context);
    f->device = oclattn_context_device(f->context);
    f->queue = clCreateCommandQueue(f->cl, f->device, 0, NULL);
    f->program = clCreateProgramWithSource(f->cl, 1, (const char **)&(const char *){text}, NULL, NULL);
    assert_int_equal(clBuildProgram(f->program, 1, &f->device, "", NULL, NULL), CL_SUCCESS);
    f->kernel = clCreateKernel(f->program, "fill", NULL);
    f->buffer = clCreateBuffer(f->cl, CL_MEM_READ_WRITE, 256, NULL, NULL);
    assert_int_equal(clSetKernelArg(f->kernel, 0, sizeof(cl_mem), &f->buffer), CL_SUCCESS);
    assert_int_equal(clSetKernelArg(f->kernel, 1, 256, NULL), CL_SUCCESS);
    *state = f;
    return 0;
}

static int tear_down_kernel(void **state) {
    fixture *f = *state;
    clReleaseMemObject(f->buffer);
    clReleaseKernel(f->kernel);
    clReleaseProgram(f->program);
    clReleaseCommandQueue(f->queue);
    oclattn_context_destroy(f->context);
    free(f);
    return play_nothing(state);
}

static cl_int launch(const fixture *f, size_t global, size_t local) {
    const cl_int code = clEnqueueNDRangeKernel(f->queue, f->kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    clFinish(f->queue);
    return code;
}

static void test_larger_launches_fail(void **state) {
    const fixture *f = *state;
    assert_int_equal(launch(f, 64, 64), CL_SUCCESS);
    assert_int_equal(launch(f, 48, 32), CL_INVALID_WORK_GROUP_SIZE);
    play("MAX_WORK_ITEMS", "16,1,1");
    assert_int_equal(launch(f, 64, 64), CL_INVALID_WORK_ITEM_SIZE);
    play("MAX_WORK_ITEMS", "64,1,1");
    play("MAX_WORK_GROUP", "32");
    assert_int_equal(launch(f, 64, 64), CL_INVALID_WORK_GROUP_SIZE);
    assert_int_equal(launch(f, 64, 32), CL_SUCCESS);
    play("KERNEL_WORK_GROUP", "8");
    assert_int_equal(launch(f, 64, 32), CL_INVALID_WORK_GROUP_SIZE);
    assert_int_equal(launch(f, 64, 8), CL_SUCCESS);
    size_t limit = 0;
    clGetKernelWorkGroupInfo(f->kernel, f->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(limit), &limit, NULL);
    assert_int_equal(limit, 8);
    play("ON", "no such platform");
    assert_int_equal(launch(f, 64, 64), CL_SUCCESS);
}

static void test_more_memory_fails(void **state) {
    const fixture *f = *state;
    cl_int code = CL_SUCCESS;
    play("LOCAL_MEMORY", "128");
    assert_int_equal(launch(f, 32, 32), CL_OUT_OF_RESOURCES);
    assert_int_equal(clSetKernelArg(f->kernel, 1, 256, NULL), CL_INVALID_ARG_SIZE);
    assert_int_equal(clSetKernelArg(f->kernel, 1, 128, NULL), CL_SUCCESS);
    assert_int_equal(launch(f, 32, 32), CL_SUCCESS);
    play("MAX_ALLOCATION", "1000");
    assert_null(clCreateBuffer(f->cl, CL_MEM_READ_WRITE, 1001, NULL, &code));
    assert_int_equal(code, CL_INVALID_BUFFER_SIZE);
    cl_mem buffer = clCreateBuffer(f->cl, CL_MEM_READ_WRITE, 1000, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    clReleaseMemObject(buffer);
}

/* How many of four buffers are made. */
static int make_buffers(const fixture *f, const char *order) {
    int made = 0;
    play("FAIL", order);
    for (int i = 0; i < 4; i++) {
        cl_int code = CL_SUCCESS;
        cl_mem buffer = clCreateBuffer(f->cl, CL_MEM_READ_WRITE, 16, NULL, &code);
        assert_int_equal(buffer == NULL ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS, code);
        if (buffer != NULL) {
            made++;
            clReleaseMemObject(buffer);
        }
    }
    return made;
}

static void test_calls_fail_on_demand(void **state) {
    const fixture *f = *state;
    assert_int_equal(make_buffers(f, "clCreateBuffer:2:-4"), 3);
    assert_int_equal(make_buffers(f, "clCreateBuffer:2+:-4"), 1);
    assert_int_equal(make_buffers(f, "any:4+:-4"), 3);
    assert_int_equal(make_buffers(f, "clCreateBuffer:5:-4"), 4);
    assert_int_equal(make_buffers(f, ""), 4);
    play("FAIL", "any:1+:-5");
    assert_int_equal(launch(f, 64, 64), CL_OUT_OF_RESOURCES);
    assert_int_equal(clFinish(f->queue), CL_OUT_OF_RESOURCES);
    play("FAIL", "clBuildProgram:1:-11");
    play("BUILD_LOG", "so it was said");
    assert_int_equal(clBuildProgram(f->program, 1, &f->device, "", NULL, NULL), CL_BUILD_PROGRAM_FAILURE);
    char log[32] = "";
    clGetProgramBuildInfo(f->program, f->device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
    assert_string_equal(log, "so it was said");
}

static void test_objects_are_counted(void **state) {
    const fixture *f = *state;
    const long before = layer_live_objects();
    cl_event written = NULL;
    cl_event mapped = NULL;
    const int value = 1;
    clEnqueueWriteBuffer(f->queue, f->buffer, CL_TRUE, 0, sizeof(value), &value, 0, NULL, &written);
    assert_int_equal(layer_live_objects(), before + 1);
    void *host = clEnqueueMapBuffer(f->queue, f->buffer, CL_TRUE, CL_MAP_READ, 0, 16, 1, &written, &mapped, NULL);
    assert_int_equal(layer_live_objects(), before + 3);
    clEnqueueUnmapMemObject(f->queue, f->buffer, host, 0, NULL, NULL);
    clFinish(f->queue);
    clRetainMemObject(f->buffer);
    assert_int_equal(layer_live_objects(), before + 3);
    clReleaseMemObject(f->buffer);
    clReleaseEvent(written);
    clReleaseEvent(mapped);
    assert_int_equal(layer_live_objects(), before);
}

static int leak(void) {
    oclattn_context *context = NULL;
    if (create_context(NULL, &context, NULL) != OCLATTN_OK) {
        return EXIT_FAILURE;
    }
    return clCreateBuffer(oclattn_context_cl(context), CL_MEM_READ_WRITE, 16, NULL, NULL) != NULL ? EXIT_SUCCESS
                                                                                                  : EXIT_FAILURE;
}

#define STRANGE_MACHINE(test) cmocka_unit_test_setup_teardown(test, play_nothing, play_nothing)
#define WITH_KERNEL(test) cmocka_unit_test_setup_teardown(test, set_up_kernel, tear_down_kernel)

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {
        WITH_KERNEL(test_larger_launches_fail),
        WITH_KERNEL(test_more_memory_fails),
        WITH_KERNEL(test_calls_fail_on_demand),
        WITH_KERNEL(test_objects_are_counted),
        STRANGE_MACHINE(test_platforms_without_devices),
        STRANGE_MACHINE(test_broken_platforms),
        STRANGE_MACHINE(test_one_platform_of_several_is_empty),
        STRANGE_MACHINE(test_drivers_registered_twice),
        STRANGE_MACHINE(test_device_older_than_its_platform),
        STRANGE_MACHINE(test_unreadable_versions),
        STRANGE_MACHINE(test_devices_that_answer_nothing),
        STRANGE_MACHINE(test_names_are_made_safe),
        STRANGE_MACHINE(test_limits_are_read),
        STRANGE_MACHINE(test_no_platform),
        STRANGE_MACHINE(test_devices_of_other_kinds_are_chosen),
    };
    if (count == 2 && strcmp(arguments[1], "--leak") == 0) {
        return leak();
    }
    size_t devices = 0;
    oclattn_devices_list(NULL, 0, &devices, NULL);
    if (layer_live_objects() < 0) {
        printf("SKIP: the layer is not loaded; set OPENCL_LAYERS\n");
        return SKIP_EXIT_CODE;
    }
    return cmocka_run_group_tests_name("layer", tests, NULL, NULL);
}
