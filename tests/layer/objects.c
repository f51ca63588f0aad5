/* Creating, retaining and releasing objects, counted; those of programs are in programs.c. */
#include "create.h"

/* A release that is to fail has released all the same: its caller can do no more about it. */
#define RETAINS_AND_RELEASES(kind, type, retain, release)                                                              \
    static cl_int CL_API_CALL layer_##retain(type object) {                                                            \
        const cl_int ordered = fault(CALL_##retain);                                                                   \
        if (ordered != CL_SUCCESS) {                                                                                   \
            return ordered;                                                                                            \
        }                                                                                                              \
        const cl_int code = target->retain(object);                                                                    \
        if (code == CL_SUCCESS) {                                                                                      \
            count_retained(kind);                                                                                      \
        }                                                                                                              \
        return code;                                                                                                   \
    }                                                                                                                  \
    static cl_int CL_API_CALL layer_##release(type object) {                                                           \
        const cl_int ordered = fault(CALL_##release);                                                                  \
        const cl_int code = target->release(object);                                                                   \
        if (code == CL_SUCCESS) {                                                                                      \
            count_released(kind);                                                                                      \
        }                                                                                                              \
        return ordered != CL_SUCCESS ? ordered : code;                                                                 \
    }

RETAINS_AND_RELEASES(KIND_DEVICE, cl_device_id, clRetainDevice, clReleaseDevice)
RETAINS_AND_RELEASES(KIND_CONTEXT, cl_context, clRetainContext, clReleaseContext)
RETAINS_AND_RELEASES(KIND_QUEUE, cl_command_queue, clRetainCommandQueue, clReleaseCommandQueue)
RETAINS_AND_RELEASES(KIND_BUFFER, cl_mem, clRetainMemObject, clReleaseMemObject)
RETAINS_AND_RELEASES(KIND_SAMPLER, cl_sampler, clRetainSampler, clReleaseSampler)
RETAINS_AND_RELEASES(KIND_PROGRAM, cl_program, clRetainProgram, clReleaseProgram)
RETAINS_AND_RELEASES(KIND_KERNEL, cl_kernel, clRetainKernel, clReleaseKernel)
RETAINS_AND_RELEASES(KIND_EVENT, cl_event, clRetainEvent, clReleaseEvent)

typedef void(CL_CALLBACK *context_notify)(const char *, const void *, size_t, void *);

CREATES(KIND_CONTEXT, cl_context, clCreateContext,
        (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices, context_notify notify,
         void *user, cl_int *error_code),
        (properties, count, devices, notify, user, error_code))
CREATES(KIND_CONTEXT, cl_context, clCreateContextFromType,
        (const cl_context_properties *properties, cl_device_type device_type, context_notify notify, void *user,
         cl_int *error_code),
        (properties, device_type, notify, user, error_code))
CREATES_WITHIN(limit_queue(device, properties), KIND_QUEUE, cl_command_queue, clCreateCommandQueue,
               (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *error_code),
               (context, device, properties, error_code))
CREATES(KIND_QUEUE, cl_command_queue, clCreateCommandQueueWithProperties,
        (cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *error_code),
        (context, device, properties, error_code))
CREATES_WITHIN(limit_buffer(context, size), KIND_BUFFER, cl_mem, clCreateBuffer,
               (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error_code),
               (context, flags, size, host, error_code))
CREATES_WITHIN(limit_buffer(context, size), KIND_BUFFER, cl_mem, clCreateBufferWithProperties,
               (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t size, void *host,
                cl_int *error_code),
               (context, properties, flags, size, host, error_code))
CREATES_WITHIN(limit_sub_buffer(buffer, create_type, info), KIND_BUFFER, cl_mem, clCreateSubBuffer,
               (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type create_type, const void *info,
                cl_int *error_code),
               (buffer, flags, create_type, info, error_code))
CREATES(KIND_BUFFER, cl_mem, clCreateImage,
        (cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc, void *host,
         cl_int *error_code),
        (context, flags, format, desc, host, error_code))
CREATES(KIND_BUFFER, cl_mem, clCreatePipe,
        (cl_context context, cl_mem_flags flags, cl_uint packet_size, cl_uint packets,
         const cl_pipe_properties *properties, cl_int *error_code),
        (context, flags, packet_size, packets, properties, error_code))
CREATES(KIND_SAMPLER, cl_sampler, clCreateSampler,
        (cl_context context, cl_bool normalized, cl_addressing_mode addressing, cl_filter_mode filter,
         cl_int *error_code),
        (context, normalized, addressing, filter, error_code))
CREATES(KIND_SAMPLER, cl_sampler, clCreateSamplerWithProperties,
        (cl_context context, const cl_sampler_properties *properties, cl_int *error_code),
        (context, properties, error_code))
CREATES(KIND_EVENT, cl_event, clCreateUserEvent, (cl_context context, cl_int *error_code), (context, error_code))

static cl_int CL_API_CALL layer_clCreateSubDevices(cl_device_id device, const cl_device_partition_property *properties,
                                                   cl_uint capacity, cl_device_id *devices, cl_uint *count) {
    cl_uint made = 0;
    cl_int code = fault(CALL_clCreateSubDevices);
    if (code == CL_SUCCESS) {
        code = target->clCreateSubDevices(device, properties, capacity, devices, &made);
    }
    for (cl_uint i = 0; code == CL_SUCCESS && devices != NULL && i < made; i++) {
        count_created(KIND_DEVICE);
    }
    if (count != NULL) {
        *count = made;
    }
    return code;
}

void install_objects(cl_icd_dispatch *table) {
    REPLACE(clRetainDevice);
    REPLACE(clReleaseDevice);
    REPLACE(clRetainContext);
    REPLACE(clReleaseContext);
    REPLACE(clRetainCommandQueue);
    REPLACE(clReleaseCommandQueue);
    REPLACE(clRetainMemObject);
    REPLACE(clReleaseMemObject);
    REPLACE(clRetainSampler);
    REPLACE(clReleaseSampler);
    REPLACE(clRetainProgram);
    REPLACE(clReleaseProgram);
    REPLACE(clRetainKernel);
    REPLACE(clReleaseKernel);
    REPLACE(clRetainEvent);
    REPLACE(clReleaseEvent);
    REPLACE(clCreateContext);
    REPLACE(clCreateContextFromType);
    REPLACE(clCreateCommandQueue);
    REPLACE(clCreateCommandQueueWithProperties);
    REPLACE(clCreateBuffer);
    REPLACE(clCreateBufferWithProperties);
    REPLACE(clCreateSubBuffer);
    REPLACE(clCreateImage);
    REPLACE(clCreatePipe);
    REPLACE(clCreateSampler);
    REPLACE(clCreateSamplerWithProperties);
    REPLACE(clCreateUserEvent);
    REPLACE(clCreateSubDevices);
}
