/* Commands: their events and mappings are counted, and any of them can be made to fail. */
#include "parts.h"

#define UNPACK(...) __VA_ARGS__

static cl_int count_event(cl_int code, const cl_event *event) {
    if (code == CL_SUCCESS && event != NULL) {
        count_created(KIND_EVENT);
    }
    return code;
}

#define ENQUEUES(name, parameters, arguments)                                                                \
    static cl_int CL_API_CALL layer_##name(cl_command_queue queue, UNPACK parameters, cl_uint count,         \
                                           const cl_event *wait_list, cl_event *event) {                     \
        const cl_int code = fault(#name);                                                                    \
        return code != CL_SUCCESS                                                                            \
                   ? code                                                                                    \
                   : count_event(target->name(queue, UNPACK arguments, count, wait_list, event), event);     \
    }

ENQUEUES(clEnqueueReadBuffer, (cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *host),
         (buffer, blocking, offset, size, host))
ENQUEUES(clEnqueueWriteBuffer, (cl_mem buffer, cl_bool blocking, size_t offset, size_t size, const void *host),
         (buffer, blocking, offset, size, host))
ENQUEUES(clEnqueueReadBufferRect,
         (cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin,
          const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice, void *host),
         (buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row, host_slice, host))
ENQUEUES(clEnqueueWriteBufferRect,
         (cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin,
          const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice,
          const void *host),
         (buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row, host_slice, host))
ENQUEUES(clEnqueueCopyBuffer, (cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size),
         (from, to, from_offset, to_offset, size))
ENQUEUES(clEnqueueCopyBufferRect,
         (cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region,
          size_t from_row, size_t from_slice, size_t to_row, size_t to_slice),
         (from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice))
ENQUEUES(clEnqueueFillBuffer, (cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size),
         (buffer, pattern, pattern_size, offset, size))
ENQUEUES(clEnqueueMigrateMemObjects,
         (cl_uint object_count, const cl_mem *objects, cl_mem_migration_flags flags), (object_count, objects, flags))
ENQUEUES(clEnqueueTask, (cl_kernel kernel), (kernel))

static cl_int CL_API_CALL layer_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                                       const size_t *offset, const size_t *global,
                                                       const size_t *local, cl_uint count, const cl_event *wait_list,
                                                       cl_event *event) {
    cl_int code = fault("clEnqueueNDRangeKernel");
    if (code == CL_SUCCESS) {
        code = limit_launch(queue, kernel, dimensions, global, local);
    }
    if (code != CL_SUCCESS) {
        return code;
    }
    code = target->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, wait_list, event);
    return count_event(code, event);
}

static cl_int CL_API_CALL layer_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count,
                                                            const cl_event *wait_list, cl_event *event) {
    const cl_int code = fault("clEnqueueMarkerWithWaitList");
    return code != CL_SUCCESS
               ? code
               : count_event(target->clEnqueueMarkerWithWaitList(queue, count, wait_list, event), event);
}

static cl_int CL_API_CALL layer_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count,
                                                             const cl_event *wait_list, cl_event *event) {
    const cl_int code = fault("clEnqueueBarrierWithWaitList");
    return code != CL_SUCCESS
               ? code
               : count_event(target->clEnqueueBarrierWithWaitList(queue, count, wait_list, event), event);
}

static cl_int CL_API_CALL layer_clEnqueueMarker(cl_command_queue queue, cl_event *event) {
    const cl_int code = fault("clEnqueueMarker");
    return code != CL_SUCCESS ? code : count_event(target->clEnqueueMarker(queue, event), event);
}

static void *CL_API_CALL layer_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                                  cl_map_flags flags, size_t offset, size_t size, cl_uint count,
                                                  const cl_event *wait_list, cl_event *event, cl_int *error_code) {
    cl_int code = fault("clEnqueueMapBuffer");
    void *mapped = NULL;
    if (code == CL_SUCCESS) {
        mapped = target->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, wait_list, event,
                                            &code);
    }
    if (code == CL_SUCCESS) {
        count_created(KIND_MAPPING);
    }
    if (error_code != NULL) {
        *error_code = code;
    }
    count_event(code, event);
    return mapped;
}

static cl_int CL_API_CALL layer_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem object, void *mapped,
                                                        cl_uint count, const cl_event *wait_list, cl_event *event) {
    cl_int code = fault("clEnqueueUnmapMemObject");
    if (code == CL_SUCCESS) {
        code = target->clEnqueueUnmapMemObject(queue, object, mapped, count, wait_list, event);
    }
    if (code == CL_SUCCESS) {
        count_released(KIND_MAPPING);
    }
    return count_event(code, event);
}

void install_enqueues(cl_icd_dispatch *table) {
    table->clEnqueueReadBuffer = layer_clEnqueueReadBuffer;
    table->clEnqueueWriteBuffer = layer_clEnqueueWriteBuffer;
    table->clEnqueueReadBufferRect = layer_clEnqueueReadBufferRect;
    table->clEnqueueWriteBufferRect = layer_clEnqueueWriteBufferRect;
    table->clEnqueueCopyBuffer = layer_clEnqueueCopyBuffer;
    table->clEnqueueCopyBufferRect = layer_clEnqueueCopyBufferRect;
    table->clEnqueueFillBuffer = layer_clEnqueueFillBuffer;
    table->clEnqueueMigrateMemObjects = layer_clEnqueueMigrateMemObjects;
    table->clEnqueueTask = layer_clEnqueueTask;
    table->clEnqueueNDRangeKernel = layer_clEnqueueNDRangeKernel;
    table->clEnqueueMarkerWithWaitList = layer_clEnqueueMarkerWithWaitList;
    table->clEnqueueBarrierWithWaitList = layer_clEnqueueBarrierWithWaitList;
    table->clEnqueueMarker = layer_clEnqueueMarker;
    table->clEnqueueMapBuffer = layer_clEnqueueMapBuffer;
    table->clEnqueueUnmapMemObject = layer_clEnqueueUnmapMemObject;
}
