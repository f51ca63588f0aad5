#include "launch.h"

#include <stdio.h>

#include "../program/program.h"

/* Work-items of one command; kernels loop over the rest. It keeps sizes within what 32-bit devices and drivers that
 * count work-groups in 32 bits can take. */
#define MOST_WORK_ITEMS ((size_t)1 << 30)

/* From this many work-groups on, PoCL compiles a kernel anew, without 16-bit group numbers. */
enum { LARGE_LAUNCH_GROUPS = 1 << 16 };

enum { LARGEST_PARAMS = 1024 };

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* clGetKernelSubGroupInfoKHR, which the 1.2 headers do not name. */
#define KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE 0x2033
typedef cl_int(CL_API_CALL *get_kernel_sub_group_info)(cl_kernel, cl_device_id, cl_uint, size_t, const void *, size_t,
                                                       void *, size_t *);

static oclattn_status check_kernel_info(const oclattn_context *context, const planned_kernel *kernel,
                                        cl_kernel_work_group_info what, size_t bytes, void *value,
                                        oclattn_error *error) {
    const cl_int code = clGetKernelWorkGroupInfo(kernel->kernel, context->device, what, bytes, value, NULL);
    return code == CL_SUCCESS ? OCLATTN_OK : error_from_cl(error, code, "clGetKernelWorkGroupInfo");
}

static oclattn_status largest_local_size(const oclattn_context *context, const planned_kernel *kernel, size_t *most,
                                         oclattn_error *error) {
    *most = 0;
    RETURN_IF_ERROR(check_kernel_info(context, kernel, CL_KERNEL_WORK_GROUP_SIZE, sizeof(*most), most, error));
    if (context->caps.max_work_group_size > 0) {
        *most = smaller(*most, context->caps.max_work_group_size);
    }
    if (context->caps.max_work_item_sizes[0] > 0) {
        *most = smaller(*most, context->caps.max_work_item_sizes[0]);
    }
    *most = *most == 0 ? 1 : *most;
    return OCLATTN_OK;
}

static oclattn_status settle_exact_size(const oclattn_context *context, size_t exact, size_t most,
                                        planned_kernel *kernel, oclattn_error *error) {
    cl_ulong local_bytes = 0;
    if (most < exact) {
        return error_set(error, OCLATTN_UNSUPPORTED, "%s, as it was built, runs in work-groups of at most %zu, not %zu",
                         kernel->name, most, exact);
    }
    RETURN_IF_ERROR(
        check_kernel_info(context, kernel, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(local_bytes), &local_bytes, error));
    if (local_bytes > context->caps.local_memory_bytes) {
        return error_set(error, OCLATTN_UNSUPPORTED,
                         "%s, as it was built, takes %llu bytes of local memory; the device has %llu", kernel->name,
                         (unsigned long long)local_bytes, (unsigned long long)context->caps.local_memory_bytes);
    }
    kernel->local = exact;
    return OCLATTN_OK;
}

static oclattn_status settle_local_size(const oclattn_context *context, const kernel_source *source,
                                        planned_kernel *kernel, oclattn_error *error) {
    size_t most;
    RETURN_IF_ERROR(largest_local_size(context, kernel, &most, error));
    if (source->exact_local > 0) {
        return settle_exact_size(context, source->exact_local, most, kernel, error);
    }
    kernel->local = smaller(source->preferred_local, most);
    return OCLATTN_OK;
}

size_t planned_kernel_sub_group_size(const oclattn_context *context, const planned_kernel *kernel) {
    static const char name[] = "clGetKernelSubGroupInfoKHR";
    cl_platform_id platform = NULL;
    size_t size = 0;
    size_t returned = 0;
    if (clGetDeviceInfo(context->device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) != CL_SUCCESS) {
        return 0;
    }
    union { /* C has no cast from a pointer to data to one to a function */
        void *address;
        get_kernel_sub_group_info call;
    } query = {clGetExtensionFunctionAddressForPlatform(platform, name)};
    if (query.address == NULL ||
        query.call(kernel->kernel, context->device, KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof(kernel->local),
                   &kernel->local, sizeof(size), &size, &returned) != CL_SUCCESS) {
        return 0;
    }
    return returned == sizeof(size) ? size : 0;
}

bool launch_covers(int64_t items) {
    return (uint64_t)items <= MOST_WORK_ITEMS;
}

static size_t global_size(const planned_kernel *kernel, int64_t items) {
    const size_t wanted = launch_covers(items) ? (size_t)items : MOST_WORK_ITEMS;
    return (wanted + kernel->local - 1) / kernel->local * kernel->local;
}

/* All-zero parameters describe an empty problem, for which no kernel touches a buffer. */
static oclattn_status set_empty_problem(const planned_kernel *kernel, size_t params_bytes, cl_mem buffer,
                                        oclattn_error *error) {
    unsigned char params[LARGEST_PARAMS] = {0};
    cl_uint count = 0;
    cl_uint index = 0;
    const cl_int code = clGetKernelInfo(kernel->kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL);
    if (code != CL_SUCCESS) {
        return error_from_cl(error, code, "clGetKernelInfo");
    }
    RETURN_IF_ERROR(set_argument(kernel, &index, params_bytes, params, error));
    while (index < count) {
        RETURN_IF_ERROR(set_buffer(kernel, &index, buffer, error));
    }
    return OCLATTN_OK;
}

static oclattn_status launch_and_wait(const planned_kernel *kernel, cl_command_queue queue, size_t items,
                                      oclattn_error *error) {
    const size_t global = global_size(kernel, (int64_t)items);
    cl_int code = clEnqueueNDRangeKernel(queue, kernel->kernel, 1, NULL, &global, &kernel->local, 0, NULL, NULL);
    if (code == CL_SUCCESS) {
        code = clFinish(queue);
    }
    if (code == CL_SUCCESS) {
        return OCLATTN_OK;
    }
    char what[96];
    snprintf(what, sizeof(what), "launching kernel %s without work", kernel->name);
    return error_from_cl(error, code, what);
}

static oclattn_status warm_with(const kernel_source *source, const planned_kernel *kernel, cl_command_queue queue,
                                cl_mem buffer, oclattn_error *error) {
    RETURN_IF_ERROR(set_empty_problem(kernel, source->params_bytes, buffer, error));
    RETURN_IF_ERROR(launch_and_wait(kernel, queue, 1, error));
    const size_t large = LARGE_LAUNCH_GROUPS * kernel->local;
    return source->most_items > (int64_t)large - 1 ? launch_and_wait(kernel, queue, large, error) : OCLATTN_OK;
}

static oclattn_status warm(const oclattn_context *context, const kernel_source *source, const planned_kernel *kernel,
                           oclattn_error *error) {
    cl_int code = CL_SUCCESS;
    cl_command_queue queue = clCreateCommandQueue(context->cl, context->device, 0, &code);
    if (code != CL_SUCCESS) {
        return error_from_cl(error, code, "clCreateCommandQueue for planning");
    }
    oclattn_status status = OCLATTN_OK;
    cl_mem buffer = clCreateBuffer(context->cl, CL_MEM_READ_WRITE, sizeof(cl_ulong), NULL, &code);
    if (code != CL_SUCCESS) {
        status = error_from_cl(error, code, "clCreateBuffer for planning");
    } else {
        status = warm_with(source, kernel, queue, buffer, error);
        clReleaseMemObject(buffer);
    }
    clReleaseCommandQueue(queue);
    return status;
}

oclattn_status planned_kernel_make(oclattn_context *context, const kernel_source *source, planned_kernel *kernel,
                                   oclattn_error *error) {
    RETURN_IF_ERROR(program_kernel(context, source->file, source->options, source->name, &kernel->kernel, error));
    kernel->name = source->name;
    RETURN_IF_ERROR(settle_local_size(context, source, kernel, error));
    return warm(context, source, kernel, error);
}

void planned_kernel_clear(planned_kernel *kernel) {
    if (kernel->kernel != NULL) {
        clReleaseKernel(kernel->kernel);
        kernel->kernel = NULL;
    }
}

static oclattn_status check_queue_info(cl_command_queue queue, cl_command_queue_info what, size_t bytes, void *value,
                                       oclattn_error *error) {
    const cl_int code = clGetCommandQueueInfo(queue, what, bytes, value, NULL);
    return code == CL_SUCCESS ? OCLATTN_OK : error_from_cl(error, code, "clGetCommandQueueInfo of the queue");
}

oclattn_status launch_begin(launch_list *list, const oclattn_context *context, cl_command_queue queue,
                            cl_uint wait_count, const cl_event *wait_list, bool want_event, oclattn_error *error) {
    if (queue == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "queue is NULL");
    }
    if ((wait_count == 0) != (wait_list == NULL)) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "wait_count is %u but wait_list is %s: give both or neither",
                         (unsigned)wait_count, wait_list == NULL ? "NULL" : "not NULL");
    }
    for (cl_uint i = 0; i < wait_count; ++i) {
        if (wait_list[i] == NULL) {
            return error_set(error, OCLATTN_INVALID_ARGUMENT, "wait_list[%u] is NULL", (unsigned)i);
        }
    }
    cl_context cl = NULL;
    cl_device_id device = NULL;
    cl_command_queue_properties properties = 0;
    RETURN_IF_ERROR(check_queue_info(queue, CL_QUEUE_CONTEXT, sizeof(cl), &cl, error));
    RETURN_IF_ERROR(check_queue_info(queue, CL_QUEUE_DEVICE, sizeof(device), &device, error));
    RETURN_IF_ERROR(check_queue_info(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, error));
    if (cl != context->cl || device != context->device) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT,
                         "queue belongs to another cl_context or device than the plan");
    }
    const bool in_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    *list = (launch_list){.queue = queue,
                          .in_order = in_order,
                          .want_events = want_event || !in_order,
                          .wait_count = wait_count,
                          .wait_list = wait_list};
    return OCLATTN_OK;
}

/* The command just enqueued becomes what the next one waits for. */
static void follow(launch_list *list, cl_event event) {
    if (list->last != NULL) {
        clReleaseEvent(list->last);
    }
    list->last = event;
    const bool must_wait = !list->in_order && event != NULL;
    list->wait_count = must_wait ? 1 : 0;
    list->wait_list = must_wait ? &list->last : NULL;
}

oclattn_status launch_kernel(launch_list *list, const planned_kernel *kernel, int64_t items, oclattn_error *error) {
    if (items <= 0) {
        return OCLATTN_OK;
    }
    const size_t global = global_size(kernel, items);
    cl_event event = NULL;
    const cl_int code = clEnqueueNDRangeKernel(list->queue, kernel->kernel, 1, NULL, &global, &kernel->local,
                                               list->wait_count, list->wait_list, list->want_events ? &event : NULL);
    if (code != CL_SUCCESS) {
        char what[96];
        snprintf(what, sizeof(what), "enqueueing kernel %s", kernel->name);
        return error_from_cl(error, code, what);
    }
    follow(list, event);
    return OCLATTN_OK;
}

oclattn_status launch_fence(launch_list *list, oclattn_error *error) {
    cl_event event = NULL;
    const cl_int code =
        clEnqueueBarrierWithWaitList(list->queue, list->wait_count, list->wait_list, list->want_events ? &event : NULL);
    if (code != CL_SUCCESS) {
        return error_from_cl(error, code, "clEnqueueBarrierWithWaitList");
    }
    follow(list, event);
    return OCLATTN_OK;
}

oclattn_status launch_fence_all(launch_list *list, oclattn_error *error) {
    list->wait_count = 0;
    list->wait_list = NULL;
    return launch_fence(list, error);
}

oclattn_status launch_end(launch_list *list, cl_event *event, oclattn_error *error) {
    if (event == NULL) {
        launch_abandon(list);
        return OCLATTN_OK;
    }
    if (list->last == NULL) {
        const cl_int code = clEnqueueMarkerWithWaitList(list->queue, list->wait_count, list->wait_list, &list->last);
        if (code != CL_SUCCESS) {
            return error_from_cl(error, code, "clEnqueueMarkerWithWaitList");
        }
    }
    *event = list->last;
    list->last = NULL;
    return OCLATTN_OK;
}

void launch_abandon(launch_list *list) {
    if (list->last != NULL) {
        clReleaseEvent(list->last);
        list->last = NULL;
    }
}

oclattn_status set_argument(const planned_kernel *kernel, cl_uint *index, size_t bytes, const void *value,
                            oclattn_error *error) {
    const cl_int code = clSetKernelArg(kernel->kernel, *index, bytes, value);
    if (code != CL_SUCCESS) {
        char what[96];
        snprintf(what, sizeof(what), "argument %u of kernel %s", (unsigned)*index, kernel->name);
        return error_from_cl(error, code, what);
    }
    ++*index;
    return OCLATTN_OK;
}

oclattn_status set_buffer(const planned_kernel *kernel, cl_uint *index, cl_mem buffer, oclattn_error *error) {
    return set_argument(kernel, index, sizeof(buffer), &buffer, error);
}
