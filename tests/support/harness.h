/* Running the tests of one program on every OpenCL device. */
#ifndef OCLATTN_TESTS_HARNESS_H
#define OCLATTN_TESTS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <oclattn/oclattn.h>

/* What the command line says: --device SPEC, --seed N (or OCLATTN_TEST_SEED), --long, --few, --count N, --only N,
 * --filter NAME, --variant NAME */
typedef struct test_options {
    const char *device; /* NULL: every device */
    uint64_t seed;
    bool is_long;
    bool few_programs;   /* problems that few programs serve, where each must be compiled anew; not with --long */
    int64_t count;       /* -1: the program's own default */
    int64_t only;        /* -1: all */
    const char *variant; /* of attention, for all problems that are not too wide for it; NULL: as each problem says */
} test_options;

typedef struct test_device {
    oclattn_context *context;
    cl_context cl;
    cl_device_id id;
    cl_command_queue in_order, out_of_order; /* out_of_order may be NULL: not every device has it */
    oclattn_device_info info;
} test_device;

extern test_options options;
extern test_device device; /* the one that tests run on now */

/* Makes `device` the one that a SPEC names; anew, where what it says of itself has changed. */
bool device_open(const char *spec);
void device_close(void);

/* Runs `tests` on each device and returns the exit code: 0 passed, 1 failed, 2 usage, 77 no device. */
int harness_run(int argc, char **argv, const struct CMUnitTest *tests, size_t count);

/* Fails the test, printing the error, unless `status` is OK. */
void assert_ok(oclattn_status status, const oclattn_error *error);

/* Fails the test unless `status` is the expected one and the message names `word`. */
void assert_refused(oclattn_status status, oclattn_status expected, const oclattn_error *error, const char *word);

/* Device memory with `bytes` (at least 1) bytes, filled from `data` unless that is NULL. Release with
 * clReleaseMemObject. */
cl_mem buffer_new(size_t bytes, const void *data);
void buffer_write(cl_mem buffer, size_t bytes, const void *data);
void buffer_read(cl_mem buffer, size_t bytes, void *data);

/* The plan's workspace, NULL where it needs none. Release with buffer_free, which takes NULL. */
cl_mem workspace_new(const oclattn_plan *plan);
void buffer_free(cl_mem buffer);

/* malloc that never returns NULL. */
void *must_allocate(size_t bytes);

#endif
