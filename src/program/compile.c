#include "compile.h"

#include <stdlib.h>

/* Where our device stands among those of a program; count where it is not there. */
static cl_uint device_position(cl_program program, cl_device_id device, cl_uint count) {
    if (count == 1) {
        return 0; /* PoCL names the whole device where ours is a part of it. */
    }
    cl_device_id *devices = calloc(count, sizeof *devices);
    cl_uint position = count;
    if (devices &&
        clGetProgramInfo(program, CL_PROGRAM_DEVICES, count * sizeof *devices, devices, NULL) == CL_SUCCESS) {
        position = 0;
        while (position < count && devices[position] != device) {
            position++;
        }
    }
    free(devices);
    return position;
}

/* Reads the binary of the device at `position` of `count`. */
static unsigned char *read_binary_at(cl_program program, cl_uint count, cl_uint position, size_t *size) {
    unsigned char *binary = NULL;
    size_t *sizes = calloc(count, sizeof *sizes);
    unsigned char **binaries = calloc(count, sizeof *binaries);
    if (!sizes || !binaries ||
        clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof *sizes, sizes, NULL) != CL_SUCCESS ||
        sizes[position] == 0) {
        goto done;
    }
    *size = sizes[position];
    binary = malloc(*size);
    binaries[position] = binary; /* NULL for the others: not copied */
    if (binary &&
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *binaries, binaries, NULL) != CL_SUCCESS) {
        free(binary);
        binary = NULL;
    }

done:
    free(sizes);
    free(binaries);
    return binary;
}

unsigned char *compile_read_binary(const oclattn_context *context, cl_program program, size_t *size) {
    cl_uint count = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, NULL) != CL_SUCCESS || count == 0) {
        return NULL;
    }
    const cl_uint position = device_position(program, context->device, count);
    return position < count ? read_binary_at(program, count, position, size) : NULL;
}

cl_int compile_source(const oclattn_context *context, const text *source, const char *options, cl_program *program) {
    const char *const lines = source->data;
    const size_t length = source->length;
    cl_int code;
    *program = clCreateProgramWithSource(context->cl, 1, (const char **)&lines, &length, &code);
    return *program ? clBuildProgram(*program, 1, &context->device, options, NULL, NULL) : code;
}

/* Some binaries load but hold nothing: object code that was not linked, for one. */
static bool has_kernels(cl_program program) {
    size_t count = 0;
    return clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, NULL) == CL_SUCCESS && count > 0;
}

cl_program compile_binary(const oclattn_context *context, const unsigned char *binary, size_t size,
                          const char *options) {
    cl_int binary_code, code;
    cl_program made = clCreateProgramWithBinary(context->cl, 1, &context->device, &size, &binary, &binary_code, &code);
    if (made && (clBuildProgram(made, 1, &context->device, options, NULL, NULL) != CL_SUCCESS || !has_kernels(made))) {
        clReleaseProgram(made);
        made = NULL;
    }
    return made;
}
