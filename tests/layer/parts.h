/* How the parts of the layer see each other. */
#ifndef OCLATTN_TESTS_LAYER_PARTS_H
#define OCLATTN_TESTS_LAYER_PARTS_H

#include <stdbool.h>
#include <stdio.h>

#include <CL/cl_layer.h>

#define EXPORTED __attribute__((visibility("default")))
#define UNPACK(...) __VA_ARGS__

/* Puts the layer's function into `table`, unless an older loader has no place for it. */
#define REPLACE(name)                                                                                                  \
    do {                                                                                                               \
        if (table->name != NULL) {                                                                                     \
            table->name = layer_##name;                                                                                \
        }                                                                                                              \
    } while (0)

/* A call that only may be told to fail. */
#define MAY_FAIL(name, parameters, arguments)                                                                          \
    static cl_int CL_API_CALL layer_##name(UNPACK parameters) {                                                        \
        const cl_int code = fault(CALL_##name);                                                                        \
        return code != CL_SUCCESS ? code : target->name(UNPACK arguments);                                             \
    }

#define WORK(name) CALL_##name,
#define OTHER(name) CALL_##name,
#define NEWER(name) CALL_##name,
typedef enum entry_point {
#include "entry_points.inc"
    CALL_COUNT
} entry_point;
#undef WORK
#undef OTHER
#undef NEWER

/* The driver's functions, or the next layer's. */
extern const cl_icd_dispatch *target;

typedef enum object_kind {
    KIND_DEVICE,
    KIND_CONTEXT,
    KIND_QUEUE,
    KIND_BUFFER,
    KIND_SAMPLER,
    KIND_PROGRAM,
    KIND_KERNEL,
    KIND_EVENT,
    KIND_MAPPING,
    KIND_SHARED, /* SVM allocations */
    KIND_COUNT
} object_kind;

void count_created(object_kind kind);
void count_retained(object_kind kind);
void count_released(object_kind kind);
void report_at_exit(void);

/* Counts a call. Returns what it should return at once; CL_SUCCESS: nothing, go on. */
cl_int fault(entry_point call);

/* CL_SUCCESS, or why the device that is played would refuse. */
cl_int limit_buffer(cl_context context, size_t size);
cl_int limit_sub_buffer(cl_mem buffer, cl_buffer_create_type type, const void *info);
cl_int limit_queue(cl_device_id device, cl_command_queue_properties properties);
cl_int limit_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *global,
                    const size_t *local);
cl_int limit_argument(cl_kernel kernel, size_t size, const void *value);
cl_int limit_build(cl_uint device_count, const cl_device_id *devices, const char *options);

/* The work-group limit that KERNEL_WORK_GROUP names for this kernel. False: none. */
bool kernel_limit(cl_kernel kernel, unsigned long long *limit);
cl_device_id device_of_context(cl_context context);
cl_device_id device_of_kernel(cl_kernel kernel);

/* Whether the device that is played is one of OpenCL 1.x. */
bool is_old(void);

/* Whether the layer hides an extension. */
bool is_hidden(const char *word, size_t length);
/* The device's extensions without those; free it. NULL: the driver does not say. */
char *visible_extensions(cl_device_id device);
/* Lines that take the macros of hidden extensions, and the device's version, away from a source; free it. NULL: there
 * are none. */
char *hiding_lines(cl_device_id device);

/* A command that starts late, by DELAY: its wait list, with one more event. */
typedef struct late_start {
    cl_event gate; /* NULL: it starts at once */
    cl_event *events;
} late_start;

/* Before and after the driver's own call; `count` and `wait_list` are those it is to be given. */
cl_int late_begin(cl_command_queue queue, cl_uint *count, const cl_event **wait_list, late_start *late);
void late_end(late_start *late);

typedef void(CL_CALLBACK *event_callback)(cl_event, cl_int, void *);
cl_int set_late_callback(cl_event event, cl_int type, event_callback notify, void *user);

/* What each part replaces in the table. */
void install_objects(cl_icd_dispatch *table);
void install_programs(cl_icd_dispatch *table);
void install_enqueues(cl_icd_dispatch *table);
void install_images(cl_icd_dispatch *table);
void install_shared(cl_icd_dispatch *table);
void install_queries(cl_icd_dispatch *table);
void install_kernel_queries(cl_icd_dispatch *table);
void install_passed_on(cl_icd_dispatch *table);
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
