/* Calls that are passed on as they are, unless they are to fail. */
#include "parts.h"

/* A query of an object, which a device of OpenCL 1.2 refuses from `last` to the end of its sixteen. */
#define ASKS(name, object_type, last)                                                                                  \
    static cl_int CL_API_CALL layer_##name(object_type object, cl_uint param, size_t size, void *value,                \
                                           size_t *size_returned) {                                                    \
        const cl_int code = fault(CALL_##name);                                                                        \
        if (code != CL_SUCCESS) {                                                                                      \
            return code;                                                                                               \
        }                                                                                                              \
        return is_old() && param > (last) && param <= ((last) | 0xF)                                                   \
                   ? CL_INVALID_VALUE                                                                                  \
                   : target->name(object, param, size, value, size_returned);                                          \
    }

ASKS(clGetContextInfo, cl_context, CL_CONTEXT_NUM_DEVICES)
ASKS(clGetCommandQueueInfo, cl_command_queue, CL_QUEUE_PROPERTIES)
ASKS(clGetMemObjectInfo, cl_mem, CL_MEM_OFFSET)
ASKS(clGetImageInfo, cl_mem, CL_IMAGE_NUM_SAMPLES)
ASKS(clGetSamplerInfo, cl_sampler, CL_SAMPLER_FILTER_MODE)
ASKS(clGetProgramInfo, cl_program, CL_PROGRAM_KERNEL_NAMES)
ASKS(clGetKernelInfo, cl_kernel, CL_KERNEL_ATTRIBUTES)
ASKS(clGetEventInfo, cl_event, CL_EVENT_CONTEXT)

MAY_FAIL(clGetKernelArgInfo,
         (cl_kernel kernel, cl_uint index, cl_kernel_arg_info param, size_t size, void *value, size_t *size_returned),
         (kernel, index, param, size, value, size_returned))
MAY_FAIL(clGetSupportedImageFormats,
         (cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint capacity, cl_image_format *formats,
          cl_uint *count),
         (context, flags, type, capacity, formats, count))
MAY_FAIL(clSetMemObjectDestructorCallback, (cl_mem object, void(CL_CALLBACK *notify)(cl_mem, void *), void *user),
         (object, notify, user))
MAY_FAIL(clSetUserEventStatus, (cl_event event, cl_int status), (event, status))
MAY_FAIL(clUnloadPlatformCompiler, (cl_platform_id platform), (platform))
MAY_FAIL(clFlush, (cl_command_queue queue), (queue))
MAY_FAIL(clFinish, (cl_command_queue queue), (queue))
MAY_FAIL(clWaitForEvents, (cl_uint count, const cl_event *events), (count, events))

static cl_int CL_API_CALL layer_clSetEventCallback(cl_event event, cl_int type, event_callback notify, void *user) {
    const cl_int code = fault(CALL_clSetEventCallback);
    return code != CL_SUCCESS ? code : set_late_callback(event, type, notify, user);
}

void install_passed_on(cl_icd_dispatch *table) {
    REPLACE(clGetContextInfo);
    REPLACE(clGetCommandQueueInfo);
    REPLACE(clGetMemObjectInfo);
    REPLACE(clGetImageInfo);
    REPLACE(clGetSamplerInfo);
    REPLACE(clGetProgramInfo);
    REPLACE(clGetKernelInfo);
    REPLACE(clGetEventInfo);
    REPLACE(clGetKernelArgInfo);
    REPLACE(clGetSupportedImageFormats);
    REPLACE(clSetMemObjectDestructorCallback);
    REPLACE(clSetUserEventStatus);
    REPLACE(clUnloadPlatformCompiler);
    REPLACE(clFlush);
    REPLACE(clFinish);
    REPLACE(clWaitForEvents);
    REPLACE(clSetEventCallback);
}
