/* Putting commands on the caller's queue, in order even where the queue is not. */
#ifndef OCLATTN_PLAN_LAUNCH_H
#define OCLATTN_PLAN_LAUNCH_H

#include "plan.h"

/* A kernel with the work-group size that fits it and the device. */
typedef struct planned_kernel {
    cl_kernel kernel;
    size_t local;
    const char *name; /* static */
} planned_kernel;

/* What to build. Every kernel of cl/ takes one struct by value and then buffers only. */
typedef struct kernel_source {
    const char *file, *options, *name; /* name: static */
    size_t params_bytes;
    size_t preferred_local;
    size_t exact_local; /* not 0: the work-group's size that the kernel is written for, instead of the preferred one */
    int64_t most_items; /* of the plan's launches */
} kernel_source;

/* Builds the kernel, settles its work-group size (the preferred one, or less where the device or the kernel asks for
 * it; or exactly one, which is OCLATTN_UNSUPPORTED where the kernel as it was built cannot have it, or takes more local
 * memory than there is), and launches it once without work: some drivers compile for a work-group size and a size class
 * of the launch, or upload, at the first one, which must not happen in an enqueue. */
oclattn_status planned_kernel_make(oclattn_context *context, const kernel_source *source, planned_kernel *kernel,
                                   oclattn_error *error);
void planned_kernel_clear(planned_kernel *kernel);

/* Work-items of the kernel's sub-groups, in groups of the settled size; 0: the driver does not say. */
size_t planned_kernel_sub_group_size(const oclattn_context *context, const planned_kernel *kernel);

/* Whether a command has a work-item for each of so many: if not, a kernel has to loop over them. */
bool launch_covers(int64_t items);

/* The commands of one enqueue call: each waits for the one before. */
typedef struct launch_list {
    cl_command_queue queue;
    bool in_order;
    bool want_events;
    cl_uint wait_count; /* what the next command must wait for */
    const cl_event *wait_list;
    cl_event last; /* the last command, where events are wanted */
} launch_list;

/* Checks that the queue belongs to the plan's context and device, and the wait list's form. */
oclattn_status launch_begin(launch_list *list, const oclattn_context *context, cl_command_queue queue,
                            cl_uint wait_count, const cl_event *wait_list, bool want_event, oclattn_error *error);

/* Enqueues `items` work-items (kernels loop where the device cannot count as far). 0 items: nothing. */
oclattn_status launch_kernel(launch_list *list, const planned_kernel *kernel, int64_t items, oclattn_error *error);

/* Before and after commands that another library puts on the queue and that take no wait list: what follows waits for
 * the list's commands, and the list's next command for all that the queue holds. */
oclattn_status launch_fence(launch_list *list, oclattn_error *error);
oclattn_status launch_fence_all(launch_list *list, oclattn_error *error);

/* Hands out the event of the last command (`event` may be NULL) and lets go of the rest. */
oclattn_status launch_end(launch_list *list, cl_event *event, oclattn_error *error);

/* After an error. */
void launch_abandon(launch_list *list);

/* One kernel argument; `index` is increased. */
oclattn_status set_argument(const planned_kernel *kernel, cl_uint *index, size_t bytes, const void *value,
                            oclattn_error *error);
oclattn_status set_buffer(const planned_kernel *kernel, cl_uint *index, cl_mem buffer, oclattn_error *error);

#endif
