/* How the parts of the layer see each other. */
#ifndef OCLATTN_TESTS_LAYER_PARTS_H
#define OCLATTN_TESTS_LAYER_PARTS_H

#include <stdbool.h>
#include <stdio.h>

#include <CL/cl_layer.h>

#define EXPORTED __attribute__((visibility("default")))

/* The driver's functions, or the next layer's. */
extern const cl_icd_dispatch *target;

typedef enum object_kind {
    KIND_DEVICE,
    KIND_CONTEXT,
    KIND_QUEUE,
    KIND_BUFFER,
    KIND_PROGRAM,
    KIND_KERNEL,
    KIND_EVENT,
    KIND_MAPPING,
    KIND_COUNT
} object_kind;

void count_created(object_kind kind);
void count_retained(object_kind kind);
void count_released(object_kind kind);
void report_at_exit(void);

/* What the call of this name should return at once; CL_SUCCESS: nothing, go on. */
cl_int fault(const char *function);

/* CL_SUCCESS, or why the device that is played would refuse. */
cl_int limit_buffer(cl_context context, size_t size);
cl_int limit_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *global,
                    const size_t *local);
cl_int limit_argument(cl_kernel kernel, size_t size, const void *value);

/* What each part replaces in the table. */
void install_objects(cl_icd_dispatch *table);
void install_enqueues(cl_icd_dispatch *table);
void install_queries(cl_icd_dispatch *table);
void install_platforms(cl_icd_dispatch *table);

/* The environment: OCLATTN_LAYER_<name>. */
const char *setting(const char *name);
bool number_setting(const char *name, unsigned long long *value);

/* The answer to a query, by its rules. */
cl_int answer(size_t size, void *value, size_t *size_returned, const void *data, size_t length);
cl_int answer_text(size_t size, void *value, size_t *size_returned, const char *text);

/* Whether the platform's real name holds `part`; "" fits all. */
bool platform_matches(cl_platform_id platform, const char *part);

/* Whether OCLATTN_LAYER_ON includes this platform or device. */
bool platform_is_changed(cl_platform_id platform);
bool device_is_changed(cl_device_id device);

#endif
