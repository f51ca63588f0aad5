/* Programs and kernels: counted, and built as the device that is played would. */
#include "create.h"

#include <stdlib.h>
#include <string.h>

typedef void(CL_CALLBACK *program_notify)(cl_program, void *);

CREATES(KIND_PROGRAM, cl_program, clCreateProgramWithBinary,
        (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
         const unsigned char **binaries, cl_int *status, cl_int *error_code),
        (context, count, devices, lengths, binaries, status, error_code))
CREATES(KIND_PROGRAM, cl_program, clCreateProgramWithBuiltInKernels,
        (cl_context context, cl_uint count, const cl_device_id *devices, const char *names, cl_int *error_code),
        (context, count, devices, names, error_code))
CREATES(KIND_PROGRAM, cl_program, clCreateProgramWithIL,
        (cl_context context, const void *il, size_t length, cl_int *error_code), (context, il, length, error_code))
CREATES(KIND_PROGRAM, cl_program, clLinkProgram,
        (cl_context context, cl_uint device_count, const cl_device_id *devices, const char *options,
         cl_uint program_count, const cl_program *programs, program_notify notify, void *user, cl_int *error_code),
        (context, device_count, devices, options, program_count, programs, notify, user, error_code))
CREATES(KIND_KERNEL, cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *error_code),
        (program, name, error_code))
CREATES(KIND_KERNEL, cl_kernel, clCloneKernel, (cl_kernel kernel, cl_int *error_code), (kernel, error_code))

MAY_FAIL(clCompileProgram,
         (cl_program program, cl_uint count, const cl_device_id *devices, const char *options, cl_uint header_count,
          const cl_program *headers, const char **names, program_notify notify, void *user),
         (program, count, devices, options, header_count, headers, names, notify, user))

/* The texts with `first` before them. */
static cl_program create_with_first(const char *first, cl_context context, cl_uint count, const char **texts,
                                    const size_t *lengths, cl_int *error_code) {
    const char **all = calloc(count + 1, sizeof(*all));
    size_t *all_lengths = calloc(count + 1, sizeof(*all_lengths));
    cl_program program = NULL;
    if (all != NULL && all_lengths != NULL) {
        all[0] = first;
        memcpy(all + 1, texts, count * sizeof(*texts));
        if (lengths != NULL) {
            memcpy(all_lengths + 1, lengths, count * sizeof(*lengths));
        }
        program = target->clCreateProgramWithSource(context, count + 1, all, all_lengths, error_code);
    } else if (error_code != NULL) {
        *error_code = CL_OUT_OF_HOST_MEMORY;
    }
    free(all);
    free(all_lengths);
    return program;
}

static cl_program create_from_source(cl_context context, cl_uint count, const char **texts, const size_t *lengths,
                                     cl_int *error_code) {
    char *first = hiding_lines(device_of_context(context));
    cl_program program = first == NULL ? target->clCreateProgramWithSource(context, count, texts, lengths, error_code)
                                       : create_with_first(first, context, count, texts, lengths, error_code);
    free(first);
    return program;
}

static cl_program CL_API_CALL layer_clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                                              const size_t *lengths, cl_int *error_code) {
    const cl_int code = fault(CALL_clCreateProgramWithSource);
    if (code != CL_SUCCESS) {
        if (error_code != NULL) {
            *error_code = code;
        }
        return NULL;
    }
    cl_program program = create_from_source(context, count, texts, lengths, error_code);
    if (program != NULL) {
        count_created(KIND_PROGRAM);
    }
    return program;
}

static cl_int CL_API_CALL layer_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                                               const char *options, program_notify notify, void *user) {
    cl_int code = fault(CALL_clBuildProgram);
    if (code == CL_SUCCESS) {
        code = limit_build(count, devices, options);
    }
    return code != CL_SUCCESS ? code : target->clBuildProgram(program, count, devices, options, notify, user);
}

static cl_int CL_API_CALL layer_clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel *kernels,
                                                         cl_uint *count_returned) {
    cl_uint made = 0;
    cl_int code = fault(CALL_clCreateKernelsInProgram);
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
    cl_int code = fault(CALL_clSetKernelArg);
    if (code == CL_SUCCESS) {
        code = limit_argument(kernel, size, value);
    }
    return code != CL_SUCCESS ? code : target->clSetKernelArg(kernel, index, size, value);
}

void install_programs(cl_icd_dispatch *table) {
    REPLACE(clCreateProgramWithSource);
    REPLACE(clCreateProgramWithBinary);
    REPLACE(clCreateProgramWithBuiltInKernels);
    REPLACE(clCreateProgramWithIL);
    REPLACE(clBuildProgram);
    REPLACE(clCompileProgram);
    REPLACE(clLinkProgram);
    REPLACE(clCreateKernel);
    REPLACE(clCloneKernel);
    REPLACE(clCreateKernelsInProgram);
    REPLACE(clSetKernelArg);
}
