/* The OpenCL that the library meets in this program, continued: objects, which are empty, and commands, which do
 * nothing. The first launch of a kernel is recorded. */
#include <stdlib.h>
#include <string.h>

#include "played_opencl.h"
#include "recording.h"

struct _cl_program {
    char *source, *options;
    size_t length;
};

struct _cl_kernel {
    const struct _cl_program *program;
    char *name;
    size_t local_arguments;
};

static struct _cl_context context;
static struct _cl_command_queue queue;
static struct _cl_mem memory;

static void set_code(cl_int *code) {
    if (code != NULL) {
        *code = CL_SUCCESS;
    }
}

static void *must_allocate(size_t bytes) {
    void *made = calloc(1, bytes);
    if (made == NULL) {
        abort();
    }
    return made;
}

static char *copy_bytes(const char *bytes, size_t length) {
    return memcpy(must_allocate(length + 1), bytes, length);
}

/* ---- contexts, queues, memory ----------------------------------------------------------------------------------- */

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
                           cl_int *code) {
    (void)properties, (void)count, (void)devices, (void)notify, (void)user;
    set_code(code);
    return &context;
}

cl_int clGetContextInfo(cl_context of, cl_context_info what, size_t size, void *to, size_t *returned) {
    (void)of;
    switch (what) {
    case CL_CONTEXT_DEVICES:
        return answer_pointer(&played_device_id, size, to, returned);
    case CL_CONTEXT_NUM_DEVICES:
        return answer_uint(1, size, to, returned);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int clRetainContext(cl_context of) {
    (void)of;
    return CL_SUCCESS;
}

cl_int clReleaseContext(cl_context of) {
    (void)of;
    return CL_SUCCESS;
}

cl_int clRetainDevice(cl_device_id of) {
    (void)of;
    return CL_SUCCESS;
}

cl_int clReleaseDevice(cl_device_id of) {
    (void)of;
    return CL_SUCCESS;
}

cl_command_queue clCreateCommandQueue(cl_context in, cl_device_id on, cl_command_queue_properties properties,
                                      cl_int *code) {
    (void)in, (void)on, (void)properties;
    set_code(code);
    return &queue;
}

cl_int clGetCommandQueueInfo(cl_command_queue of, cl_command_queue_info what, size_t size, void *to, size_t *returned) {
    (void)of;
    switch (what) {
    case CL_QUEUE_CONTEXT:
        return answer_pointer(&context, size, to, returned);
    case CL_QUEUE_DEVICE:
        return answer_pointer(&played_device_id, size, to, returned);
    case CL_QUEUE_PROPERTIES:
        return answer_ulong(0, size, to, returned);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int clReleaseCommandQueue(cl_command_queue of) {
    (void)of;
    return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue of) {
    (void)of;
    return CL_SUCCESS;
}

cl_mem clCreateBuffer(cl_context in, cl_mem_flags flags, size_t size, void *host, cl_int *code) {
    (void)in, (void)flags, (void)size, (void)host;
    set_code(code);
    return &memory;
}

cl_int clReleaseMemObject(cl_mem of) {
    (void)of;
    return CL_SUCCESS;
}

cl_int clReleaseEvent(cl_event of) {
    (void)of;
    return CL_SUCCESS;
}

/* ---- programs and kernels --------------------------------------------------------------------------------------- */

cl_program clCreateProgramWithSource(cl_context in, cl_uint count, const char **strings, const size_t *lengths,
                                     cl_int *code) {
    (void)in, (void)count; /* the library passes one string */
    cl_program made = must_allocate(sizeof *made);
    made->source = copy_bytes(strings[0], lengths[0]);
    made->length = lengths[0];
    set_code(code);
    return made;
}

/* The library keeps no binaries here, so it brings none. */
cl_program clCreateProgramWithBinary(cl_context in, cl_uint count, const cl_device_id *devices, const size_t *lengths,
                                     const unsigned char **binaries, cl_int *status, cl_int *code) {
    (void)in, (void)count, (void)devices, (void)lengths, (void)binaries, (void)status;
    if (code != NULL) {
        *code = CL_INVALID_BINARY;
    }
    return NULL;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    (void)count, (void)devices, (void)notify, (void)user;
    program->options = copy_bytes(options, strlen(options));
    return CL_SUCCESS;
}

cl_int clGetProgramInfo(cl_program of, cl_program_info what, size_t size, void *to, size_t *returned) {
    (void)of, (void)what, (void)size, (void)to, (void)returned;
    return CL_INVALID_VALUE;
}

cl_int clGetProgramBuildInfo(cl_program of, cl_device_id on, cl_program_build_info what, size_t size, void *to,
                             size_t *returned) {
    (void)of, (void)on;
    return what == CL_PROGRAM_BUILD_LOG ? answer_text("", size, to, returned) : CL_INVALID_VALUE;
}

cl_int clReleaseProgram(cl_program program) {
    free(program->source);
    free(program->options);
    free(program);
    return CL_SUCCESS;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *code) {
    cl_kernel made = must_allocate(sizeof *made);
    made->program = program;
    made->name = copy_bytes(name, strlen(name));
    set_code(code);
    return made;
}

/* One argument, the parameters: planning then sets no buffers. */
cl_int clGetKernelInfo(cl_kernel of, cl_kernel_info what, size_t size, void *to, size_t *returned) {
    (void)of;
    return what == CL_KERNEL_NUM_ARGS ? answer_uint(1, size, to, returned) : CL_INVALID_VALUE;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel of, cl_device_id on, cl_kernel_work_group_info what, size_t size, void *to,
                                size_t *returned) {
    (void)of, (void)on;
    switch (what) {
    case CL_KERNEL_WORK_GROUP_SIZE:
        return answer_size(played->max_work_group_size, size, to, returned);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
        return answer_size(played->sub_group_sizes[0], size, to, returned);
    case CL_KERNEL_LOCAL_MEM_SIZE:
    case CL_KERNEL_PRIVATE_MEM_SIZE:
        return answer_ulong(0, size, to, returned);
    default:
        return CL_INVALID_VALUE;
    }
}

/* What options ask of Intel's compiler, else what kernels get first. */
static size_t sub_group_size(const struct _cl_kernel *kernel) {
    static const char wish[] = "-DSUB_GROUP_SIZE=";
    const char *wished = strstr(kernel->program->options, wish);
    const size_t size = wished == NULL ? 0 : strtoul(wished + strlen(wish), NULL, 10);
    return size > 0 ? size : played->sub_group_sizes[0];
}

static cl_int CL_API_CALL get_kernel_sub_group_info(cl_kernel of, cl_device_id on, cl_uint what, size_t input_size,
                                                    const void *input, size_t size, void *to, size_t *returned) {
    enum { MAX_SUB_GROUP_SIZE_FOR_NDRANGE = 0x2033 };
    (void)on, (void)input_size, (void)input;
    return what == MAX_SUB_GROUP_SIZE_FOR_NDRANGE ? answer_size(sub_group_size(of), size, to, returned)
                                                  : CL_INVALID_VALUE;
}

void *clGetExtensionFunctionAddressForPlatform(cl_platform_id of, const char *name) {
    (void)of;
    union {
        cl_int(CL_API_CALL *call)(cl_kernel, cl_device_id, cl_uint, size_t, const void *, size_t, void *, size_t *);
        void *address;
    } function = {get_kernel_sub_group_info};
    return strcmp(name, "clGetKernelSubGroupInfoKHR") == 0 ? function.address : NULL;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    (void)index;
    if (value == NULL) {
        kernel->local_arguments += size;
    }
    return CL_SUCCESS;
}

cl_int clReleaseKernel(cl_kernel kernel) {
    free(kernel->name);
    free(kernel);
    return CL_SUCCESS;
}

/* ---- commands --------------------------------------------------------------------------------------------------- */

cl_int clEnqueueNDRangeKernel(cl_command_queue on, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, cl_uint wait_count, const cl_event *wait_list,
                              cl_event *event) {
    (void)on, (void)offset, (void)global, (void)wait_count, (void)wait_list, (void)event;
    size_t group = 1;
    for (cl_uint i = 0; i < dimensions; ++i) {
        group *= local[i];
    }
    recording_add(kernel->name, kernel->program->source, kernel->program->length, kernel->program->options, group,
                  kernel->local_arguments);
    return CL_SUCCESS;
}

/* ---- what planning does not call -------------------------------------------------------------------------------- */

cl_int clGetMemObjectInfo(cl_mem of, cl_mem_info what, size_t size, void *to, size_t *returned) {
    (void)of, (void)what, (void)size, (void)to, (void)returned;
    return CL_INVALID_OPERATION;
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue on, cl_uint wait_count, const cl_event *wait_list,
                                    cl_event *event) {
    (void)on, (void)wait_count, (void)wait_list, (void)event;
    return CL_INVALID_OPERATION;
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue on, cl_uint wait_count, const cl_event *wait_list,
                                   cl_event *event) {
    (void)on, (void)wait_count, (void)wait_list, (void)event;
    return CL_INVALID_OPERATION;
}
