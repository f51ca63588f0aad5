/* Creating, retaining and releasing objects, counted. */
#include "parts.h"

#define UNPACK(...) __VA_ARGS__

/* clCreate...: a new object of `kind`, unless it is to fail. */
#define CREATES(kind, type, name, parameters, arguments)          \
    static type CL_API_CALL layer_##name(UNPACK parameters) {     \
        const cl_int code = fault(#name);                         \
        if (code != CL_SUCCESS) {                                 \
            if (error_code != NULL) {                             \
                *error_code = code;                               \
            }                                                     \
            return NULL;                                          \
        }                                                         \
        type object = target->name(UNPACK arguments);             \
        if (object != NULL) {                                     \
            count_created(kind);                                  \
        }                                                         \
        return object;                                            \
    }

#define RETAINS_AND_RELEASES(kind, type, retain, release)         \
    static cl_int CL_API_CALL layer_##retain(type object) {       \
        const cl_int code = target->retain(object);               \
        if (code == CL_SUCCESS) {                                 \
            count_retained(kind);                                 \
        }                                                         \
        return code;                                              \
    }                                                             \
    static cl_int CL_API_CALL layer_##release(type object) {      \
        const cl_int code = target->release(object);              \
        if (code == CL_SUCCESS) {                                 \
            count_released(kind);                                 \
        }                                                         \
        return code;                                              \
    }

/* Calls that only may be told to fail. */
#define MAY_FAIL(name, parameters, arguments)                     \
    static cl_int CL_API_CALL layer_##name(UNPACK parameters) {   \
        const cl_int code = fault(#name);                         \
        return code != CL_SUCCESS ? code : target->name(UNPACK arguments); \
    }

typedef void(CL_CALLBACK *context_notify)(const char *, const void *, size_t, void *);
typedef void(CL_CALLBACK *program_notify)(cl_program, void *);

RETAINS_AND_RELEASES(KIND_DEVICE, cl_device_id, clRetainDevice, clReleaseDevice)
RETAINS_AND_RELEASES(KIND_CONTEXT, cl_context, clRetainContext, clReleaseContext)
RETAINS_AND_RELEASES(KIND_QUEUE, cl_command_queue, clRetainCommandQueue, clReleaseCommandQueue)
RETAINS_AND_RELEASES(KIND_BUFFER, cl_mem, clRetainMemObject, clReleaseMemObject)
RETAINS_AND_RELEASES(KIND_PROGRAM, cl_program, clRetainProgram, clReleaseProgram)
RETAINS_AND_RELEASES(KIND_KERNEL, cl_kernel, clRetainKernel, clReleaseKernel)
RETAINS_AND_RELEASES(KIND_EVENT, cl_event, clRetainEvent, clReleaseEvent)

CREATES(KIND_CONTEXT, cl_context, clCreateContext,
        (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices, context_notify notify,
         void *user, cl_int *error_code),
        (properties, count, devices, notify, user, error_code))
CREATES(KIND_CONTEXT, cl_context, clCreateContextFromType,
        (const cl_context_properties *properties, cl_device_type device_type, context_notify notify, void *user,
         cl_int *error_code),
        (properties, device_type, notify, user, error_code))
CREATES(KIND_QUEUE, cl_command_queue, clCreateCommandQueue,
        (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *error_code),
        (context, device, properties, error_code))
CREATES(KIND_QUEUE, cl_command_queue, clCreateCommandQueueWithProperties,
        (cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *error_code),
        (context, device, properties, error_code))
CREATES(KIND_BUFFER, cl_mem, clCreateSubBuffer,
        (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type create_type, const void *info, cl_int *error_code),
        (buffer, flags, create_type, info, error_code))
CREATES(KIND_BUFFER, cl_mem, clCreateImage,
        (cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc,
         void *host, cl_int *error_code),
        (context, flags, format, desc, host, error_code))
CREATES(KIND_PROGRAM, cl_program, clCreateProgramWithSource,
        (cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *error_code),
        (context, count, texts, lengths, error_code))
CREATES(KIND_PROGRAM, cl_program, clCreateProgramWithBinary,
        (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
         const unsigned char **binaries, cl_int *status, cl_int *error_code),
        (context, count, devices, lengths, binaries, status, error_code))
CREATES(KIND_PROGRAM, cl_program, clCreateProgramWithIL,
        (cl_context context, const void *il, size_t length, cl_int *error_code), (context, il, length, error_code))
CREATES(KIND_PROGRAM, cl_program, clLinkProgram,
        (cl_context context, cl_uint device_count, const cl_device_id *devices, const char *options,
         cl_uint program_count, const cl_program *programs, program_notify notify, void *user, cl_int *error_code),
        (context, device_count, devices, options, program_count, programs, notify, user, error_code))
CREATES(KIND_KERNEL, cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *error_code),
        (program, name, error_code))
CREATES(KIND_KERNEL, cl_kernel, clCloneKernel, (cl_kernel kernel, cl_int *error_code), (kernel, error_code))
CREATES(KIND_EVENT, cl_event, clCreateUserEvent, (cl_context context, cl_int *error_code), (context, error_code))

MAY_FAIL(clBuildProgram,
         (cl_program program, cl_uint count, const cl_device_id *devices, const char *options, program_notify notify,
          void *user),
         (program, count, devices, options, notify, user))
MAY_FAIL(clFlush, (cl_command_queue queue), (queue))
MAY_FAIL(clFinish, (cl_command_queue queue), (queue))
MAY_FAIL(clWaitForEvents, (cl_uint count, const cl_event *events), (count, events))

static cl_mem refuse_buffer(cl_int code, cl_int *error_code) {
    if (error_code != NULL) {
        *error_code = code;
    }
    return NULL;
}

static cl_mem CL_API_CALL layer_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                                               cl_int *error_code) {
    cl_int code = fault("clCreateBuffer");
    if (code == CL_SUCCESS) {
        code = limit_buffer(context, size);
    }
    if (code != CL_SUCCESS) {
        return refuse_buffer(code, error_code);
    }
    cl_mem buffer = target->clCreateBuffer(context, flags, size, host, error_code);
    if (buffer != NULL) {
        count_created(KIND_BUFFER);
    }
    return buffer;
}

static cl_mem CL_API_CALL layer_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
                                                             cl_mem_flags flags, size_t size, void *host,
                                                             cl_int *error_code) {
    cl_int code = fault("clCreateBufferWithProperties");
    if (code == CL_SUCCESS) {
        code = limit_buffer(context, size);
    }
    if (code != CL_SUCCESS) {
        return refuse_buffer(code, error_code);
    }
    cl_mem buffer = target->clCreateBufferWithProperties(context, properties, flags, size, host, error_code);
    if (buffer != NULL) {
        count_created(KIND_BUFFER);
    }
    return buffer;
}

static cl_int CL_API_CALL layer_clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel *kernels,
                                                         cl_uint *count_returned) {
    cl_uint made = 0;
    cl_int code = fault("clCreateKernelsInProgram");
    if (code == CL_SUCCESS) {
        code = target->clCreateKernelsInProgram(program, count, kernels, &made);
    }
    for (cl_uint i = 0; code == CL_SUCCESS && kernels != NULL && i < made; i++) {
        count_created(KIND_KERNEL);
    }
    if (count_returned != NULL) {
        *count_returned = made;
    }
    return code;
}

static cl_int CL_API_CALL layer_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    cl_int code = fault("clSetKernelArg");
    if (code == CL_SUCCESS) {
        code = limit_argument(kernel, size, value);
    }
    return code != CL_SUCCESS ? code : target->clSetKernelArg(kernel, index, size, value);
}

#define REPLACE(name)                  \
    do {                               \
        if (table->name != NULL) {     \
            table->name = layer_##name; \
        }                              \
    } while (0)

void install_objects(cl_icd_dispatch *table) {
    REPLACE(clRetainDevice);
    REPLACE(clReleaseDevice);
    REPLACE(clRetainContext);
    REPLACE(clReleaseContext);
    REPLACE(clRetainCommandQueue);
    REPLACE(clReleaseCommandQueue);
    REPLACE(clRetainMemObject);
    REPLACE(clReleaseMemObject);
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
    REPLACE(clCreateProgramWithSource);
    REPLACE(clCreateProgramWithBinary);
    REPLACE(clCreateProgramWithIL);
    REPLACE(clLinkProgram);
    REPLACE(clCreateKernel);
    REPLACE(clCloneKernel);
    REPLACE(clCreateKernelsInProgram);
    REPLACE(clCreateUserEvent);
    REPLACE(clBuildProgram);
    REPLACE(clSetKernelArg);
    REPLACE(clFlush);
    REPLACE(clFinish);
    REPLACE(clWaitForEvents);
}
