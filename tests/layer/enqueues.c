/* Commands on buffers and kernels: their events and mappings are counted, they can be late, and any of them can be made
 * to fail. */
#include "enqueue.h"

ENQUEUES(clEnqueueReadBuffer, (cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *host),
         (buffer, blocking, offset, size, host))
ENQUEUES(clEnqueueWriteBuffer, (cl_mem buffer, cl_bool blocking, size_t offset, size_t size, const void *host),
         (buffer, blocking, offset, size, host))
ENQUEUES(clEnqueueReadBufferRect,
         (cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin, const size_t *region,
          size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice, void *host),
         (buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row, host_slice, host))
ENQUEUES(clEnqueueWriteBufferRect,
         (cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin, const size_t *region,
          size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice, const void *host),
         (buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row, host_slice, host))
ENQUEUES(clEnqueueCopyBuffer, (cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size),
         (from, to, from_offset, to_offset, size))
ENQUEUES(clEnqueueCopyBufferRect,
         (cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region,
          size_t from_row, size_t from_slice, size_t to_row, size_t to_slice),
         (from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice))
ENQUEUES(clEnqueueFillBuffer, (cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size),
         (buffer, pattern, pattern_size, offset, size))
ENQUEUES(clEnqueueMigrateMemObjects, (cl_uint object_count, const cl_mem *objects, cl_mem_migration_flags flags),
         (object_count, objects, flags))
ENQUEUES(clEnqueueTask, (cl_kernel kernel), (kernel))
ENQUEUES_MARK(clEnqueueMarkerWithWaitList)
ENQUEUES_MARK(clEnqueueBarrierWithWaitList)
MAY_FAIL(clEnqueueBarrier, (cl_command_queue queue), (queue))
MAY_FAIL(clEnqueueWaitForEvents, (cl_command_queue queue, cl_uint count, const cl_event *events),
         (queue, count, events))

static cl_int CL_API_CALL layer_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                                       const size_t *offset, const size_t *global, const size_t *local,
                                                       cl_uint count, const cl_event *wait_list, cl_event *event) {
    late_start late;
    cl_int code = fault(CALL_clEnqueueNDRangeKernel);
    if (code == CL_SUCCESS) {
        code = limit_launch(queue, kernel, dimensions, global, local);
    }
    if (code == CL_SUCCESS) {
        code = late_begin(queue, &count, &wait_list, &late);
    }
    if (code != CL_SUCCESS) {
        return code;
    }
    code = target->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, wait_list, event);
    late_end(&late);
    return count_event(code, event);
}

static cl_int CL_API_CALL layer_clEnqueueMarker(cl_command_queue queue, cl_event *event) {
    const cl_int code = fault(CALL_clEnqueueMarker);
    return code != CL_SUCCESS ? code : count_event(target->clEnqueueMarker(queue, event), event);
}

static void *map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                        size_t size, cl_uint count, const cl_event *wait_list, cl_event *event, cl_int *code) {
    late_start late;
    *code = late_begin(queue, &count, &wait_list, &late);
    if (*code != CL_SUCCESS) {
        return NULL;
    }
    void *mapped =
        target->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, wait_list, event, code);
    late_end(&late);
    return mapped;
}

static void *CL_API_CALL layer_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                                  cl_map_flags flags, size_t offset, size_t size, cl_uint count,
                                                  const cl_event *wait_list, cl_event *event, cl_int *error_code) {
    cl_int code = fault(CALL_clEnqueueMapBuffer);
    void *mapped = NULL;
    if (code == CL_SUCCESS) {
        mapped = map_buffer(queue, buffer, blocking, flags, offset, size, count, wait_list, event, &code);
    }
    return count_mapping(mapped, code, event, error_code);
}

/* One that is told to fail has ended the mapping all the same: its caller can do no more about it. */
static cl_int CL_API_CALL layer_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem object, void *mapped,
                                                        cl_uint count, const cl_event *wait_list, cl_event *event) {
    late_start late;
    const cl_int ordered = fault(CALL_clEnqueueUnmapMemObject);
    cl_int code = late_begin(queue, &count, &wait_list, &late);
    if (code != CL_SUCCESS) {
        return code;
    }
    code =
        target->clEnqueueUnmapMemObject(queue, object, mapped, count, wait_list, ordered == CL_SUCCESS ? event : NULL);
    late_end(&late);
    if (code == CL_SUCCESS) {
        count_released(KIND_MAPPING);
    }
    return ordered != CL_SUCCESS ? ordered : count_event(code, event);
}

void install_enqueues(cl_icd_dispatch *table) {
    REPLACE(clEnqueueReadBuffer);
    REPLACE(clEnqueueWriteBuffer);
    REPLACE(clEnqueueReadBufferRect);
    REPLACE(clEnqueueWriteBufferRect);
    REPLACE(clEnqueueCopyBuffer);
    REPLACE(clEnqueueCopyBufferRect);
    REPLACE(clEnqueueFillBuffer);
    REPLACE(clEnqueueMigrateMemObjects);
    REPLACE(clEnqueueTask);
    REPLACE(clEnqueueNDRangeKernel);
    REPLACE(clEnqueueMarkerWithWaitList);
    REPLACE(clEnqueueBarrierWithWaitList);
    REPLACE(clEnqueueBarrier);
    REPLACE(clEnqueueWaitForEvents);
    REPLACE(clEnqueueMarker);
    REPLACE(clEnqueueMapBuffer);
    REPLACE(clEnqueueUnmapMemObject);
}
