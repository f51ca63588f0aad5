#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_SKIPPED = 77, EXIT_USAGE = 2 };

test_options options = {.count = -1, .only = -1};
test_device device;

/* ---- command line ----------------------------------------------------------------------------------------------- */

static bool read_number(const char *text, uint64_t *number) {
    char *end = NULL;
    if (!text || !*text) {
        return false;
    }
    *number = strtoull(text, &end, 0);
    return *end == 0;
}

static bool read_option(const char *name, const char *value) {
    uint64_t number = 0;
    if (strcmp(name, "--device") == 0) {
        options.device = value;
        return value != NULL;
    }
    if (strcmp(name, "--filter") == 0) {
        cmocka_set_test_filter(value);
        return value != NULL;
    }
    if (strcmp(name, "--variant") == 0) {
        options.variant = value;
        return value != NULL;
    }
    if (!read_number(value, &number)) {
        return false;
    }
    if (strcmp(name, "--seed") == 0) {
        options.seed = number;
    } else if (strcmp(name, "--count") == 0) {
        options.count = (int64_t)number;
    } else if (strcmp(name, "--only") == 0) {
        options.only = (int64_t)number;
    } else {
        return false;
    }
    return true;
}

/* A new one each day: the programs of a day draw the same kernels, and find them in the cache. */
static uint64_t seed_of_today(void) {
    return (uint64_t)time(NULL) / (24 * 60 * 60);
}

static bool read_command_line(int argc, char **argv) {
    if (!read_number(getenv("OCLATTN_TEST_SEED"), &options.seed)) {
        options.seed = seed_of_today();
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--long") == 0) {
            options.is_long = true;
        } else if (strcmp(argv[i], "--few") == 0) {
            options.few_programs = true;
        } else if (!read_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL)) {
            fprintf(stderr,
                    "usage: %s [--device SPEC] [--seed N] [--long] [--few] [--count N] [--only N] [--filter NAME]"
                    " [--variant NAME]\n",
                    argv[0]);
            return false;
        } else {
            i++;
        }
    }
    options.few_programs = options.few_programs && !options.is_long;
    return true;
}

/* ---- devices ---------------------------------------------------------------------------------------------------- */

bool device_open(const char *spec) {
    oclattn_context_options context_options;
    oclattn_error error;
    oclattn_context_options_init(&context_options);
    context_options.device = spec;
    memset(&device, 0, sizeof device);
    if (oclattn_context_create(&context_options, &device.context, &error) != OCLATTN_OK) {
        fprintf(stderr, "cannot use device %s: %s\n", spec, error.message);
        return false;
    }
    device.cl = oclattn_context_cl(device.context);
    device.id = oclattn_context_device(device.context);
    device.in_order = clCreateCommandQueue(device.cl, device.id, 0, NULL);
    device.out_of_order = clCreateCommandQueue(device.cl, device.id, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    oclattn_device_info_init(&device.info);
    return device.in_order && oclattn_context_device_info(device.context, &device.info, &error) == OCLATTN_OK;
}

void device_close(void) {
    if (device.out_of_order) {
        clReleaseCommandQueue(device.out_of_order);
    }
    if (device.in_order) {
        clReleaseCommandQueue(device.in_order);
    }
    oclattn_context_destroy(device.context);
    memset(&device, 0, sizeof device);
}

static int run_on_device(const char *spec, const struct CMUnitTest *tests, size_t count) {
    int failed = 1;
    if (device_open(spec)) {
        char title[400];
        snprintf(title, sizeof title, "%s (%s)", device.info.name, device.info.platform);
        printf("device %s: %s, seed %llu\n", spec, title, (unsigned long long)options.seed);
        fflush(stdout);
        failed = _cmocka_run_group_tests(title, tests, count, NULL, NULL);
    }
    device_close();
    return failed != 0;
}

/* Opens every device by its number. Returns how many failed, or -1 where there is none. */
static int run_on_every_device(const struct CMUnitTest *tests, size_t count) {
    enum { MOST_DEVICES = 32 };
    oclattn_device_info infos[MOST_DEVICES];
    size_t found = 0;
    int failed = 0;
    int ran = 0;
    for (int i = 0; i < MOST_DEVICES; i++) {
        oclattn_device_info_init(&infos[i]);
    }
    oclattn_error error;
    if (oclattn_devices_list(infos, MOST_DEVICES, &found, &error) != OCLATTN_OK) {
        fprintf(stderr, "cannot list devices: %s\n", error.message);
        return 1;
    }
    for (size_t i = 0; i < found && i < MOST_DEVICES; i++) {
        if (infos[i].alias_of < 0) {
            char spec[32];
            snprintf(spec, sizeof spec, "%d:%d", infos[i].platform_index, infos[i].device_index);
            failed += run_on_device(spec, tests, count);
            ran++;
        }
    }
    return ran ? failed : -1;
}

int harness_run(int argc, char **argv, const struct CMUnitTest *tests, size_t count) {
    if (!read_command_line(argc, argv)) {
        return EXIT_USAGE;
    }
    const int failed = options.device ? run_on_device(options.device, tests, count) : run_on_every_device(tests, count);
    if (failed < 0) {
        printf("SKIP: there is no OpenCL device\n");
        return EXIT_SKIPPED;
    }
    return failed != 0;
}

/* ---- assertions and memory -------------------------------------------------------------------------------------- */

void assert_ok(oclattn_status status, const oclattn_error *error) {
    if (status != OCLATTN_OK) {
        fail_msg("%s: %s", oclattn_status_string(status), error->message);
    }
}

void assert_refused(oclattn_status status, oclattn_status expected, const oclattn_error *error, const char *word) {
    if (status != expected) {
        fail_msg("expected \"%s\" about %s, got \"%s\" %s", oclattn_status_string(expected), word,
                 oclattn_status_string(status), status == OCLATTN_OK ? "" : error->message);
    }
    if (error->status != expected) {
        fail_msg("the error says status %d, the call returned %d", error->status, expected);
    }
    if (!strstr(error->message, word)) {
        fail_msg("the message does not name %s: %s", word, error->message);
    }
}

void *must_allocate(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        abort();
    }
    return memory;
}

cl_mem buffer_new(size_t bytes, const void *data) {
    cl_int code = CL_SUCCESS;
    const cl_mem buffer = clCreateBuffer(device.cl, CL_MEM_READ_WRITE, bytes ? bytes : 1, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    if (data) {
        buffer_write(buffer, bytes, data);
    }
    return buffer;
}

/* A blocking write only promises that `data` may be reused: other queues must wait for the end. */
void buffer_write(cl_mem buffer, size_t bytes, const void *data) {
    if (bytes) {
        assert_int_equal(clEnqueueWriteBuffer(device.in_order, buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL),
                         CL_SUCCESS);
        assert_int_equal(clFinish(device.in_order), CL_SUCCESS);
    }
}

void buffer_read(cl_mem buffer, size_t bytes, void *data) {
    if (bytes) {
        assert_int_equal(clEnqueueReadBuffer(device.in_order, buffer, CL_TRUE, 0, bytes, data, 0, NULL, NULL),
                         CL_SUCCESS);
    }
}

cl_mem workspace_new(const oclattn_plan *plan) {
    const size_t bytes = oclattn_plan_workspace_bytes(plan);
    return bytes ? buffer_new(bytes, NULL) : NULL;
}

void buffer_free(cl_mem buffer) {
    if (buffer) {
        clReleaseMemObject(buffer);
    }
}
