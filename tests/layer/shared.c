/* Shared virtual memory: allocations are counted, and a device of OpenCL 1.2 has none. */
#include "enqueue.h"

static void *CL_API_CALL layer_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
    const bool refused = fault(CALL_clSVMAlloc) != CL_SUCCESS || limit_buffer(context, size) != CL_SUCCESS;
    void *memory = refused ? NULL : target->clSVMAlloc(context, flags, size, alignment);
    if (memory != NULL) {
        count_created(KIND_SHARED);
    }
    return memory;
}

static void CL_API_CALL layer_clSVMFree(cl_context context, void *memory) {
    fault(CALL_clSVMFree);
    target->clSVMFree(context, memory);
    if (memory != NULL) {
        count_released(KIND_SHARED);
    }
}

ENQUEUES(clEnqueueSVMMemcpy, (cl_bool blocking, void *to, const void *from, size_t size), (blocking, to, from, size))
ENQUEUES(clEnqueueSVMMemFill, (void *memory, const void *pattern, size_t pattern_size, size_t size),
         (memory, pattern, pattern_size, size))
ENQUEUES(clEnqueueSVMMap, (cl_bool blocking, cl_map_flags flags, void *memory, size_t size),
         (blocking, flags, memory, size))
ENQUEUES(clEnqueueSVMUnmap, (void *memory), (memory))
MAY_FAIL(clSetKernelArgSVMPointer, (cl_kernel kernel, cl_uint index, const void *value), (kernel, index, value))
MAY_FAIL(clSetKernelExecInfo, (cl_kernel kernel, cl_kernel_exec_info param, size_t size, const void *value),
         (kernel, param, size, value))

typedef void(CL_CALLBACK *free_callback)(cl_command_queue, cl_uint, void *[], void *);

static cl_int CL_API_CALL layer_clEnqueueSVMFree(cl_command_queue queue, cl_uint memory_count, void *memory[],
                                                 free_callback notify, void *user, cl_uint count,
                                                 const cl_event *wait_list, cl_event *event) {
    cl_int code = fault(CALL_clEnqueueSVMFree);
    if (code == CL_SUCCESS) {
        code = target->clEnqueueSVMFree(queue, memory_count, memory, notify, user, count, wait_list, event);
    }
    for (cl_uint i = 0; code == CL_SUCCESS && i < memory_count; i++) {
        count_released(KIND_SHARED);
    }
    return count_event(code, event);
}

void install_shared(cl_icd_dispatch *table) {
    REPLACE(clSVMAlloc);
    REPLACE(clSVMFree);
    REPLACE(clEnqueueSVMMemcpy);
    REPLACE(clEnqueueSVMMemFill);
    REPLACE(clEnqueueSVMMap);
    REPLACE(clEnqueueSVMUnmap);
    REPLACE(clSetKernelArgSVMPointer);
    REPLACE(clSetKernelExecInfo);
    REPLACE(clEnqueueSVMFree);
}
