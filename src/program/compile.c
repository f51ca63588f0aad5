#include "compile.h"

#include <stdlib.h>
#include <string.h>

/* Reading the binary of an executable makes PoCL generate code for a work-group size that nobody asked for, which takes
 * several times as long as the build. The binary of what is compiled and not yet linked costs nothing, and linking it
 * later is quick. Every build goes the same way, kept or not, so that results cannot depend on the cache. */
static bool compiles_and_links(const oclattn_context *context) {
    return strcmp(context->caps.platform_name, "Portable Computing Language") == 0 &&
           (context->caps.type & CL_DEVICE_TYPE_CPU);
}

/* Where our device stands among those of a program; count where it is not there. */
static cl_uint device_position(cl_program program, cl_device_id device, cl_uint count) {
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
static void read_binary_at(cl_program program, cl_uint count, cl_uint position, compiled *made) {
    size_t *sizes = calloc(count, sizeof *sizes);
    unsigned char **binaries = calloc(count, sizeof *binaries);
    if (!sizes || !binaries ||
        clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof *sizes, sizes, NULL) != CL_SUCCESS ||
        sizes[position] == 0) {
        goto done;
    }
    made->size = sizes[position];
    made->binary = malloc(made->size);
    binaries[position] = made->binary; /* NULL for the others: not copied */
    if (made->binary &&
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *binaries, binaries, NULL) != CL_SUCCESS) {
        free(made->binary);
        made->binary = NULL;
    }

done:
    free(sizes);
    free(binaries);
}

static void read_binary(cl_program program, cl_device_id device, compiled *made) {
    cl_uint count = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, NULL) != CL_SUCCESS || count == 0) {
        return;
    }
    const cl_uint position = device_position(program, device, count);
    if (position < count) {
        read_binary_at(program, count, position, made);
    }
}

/* *linked may hold the log of a failure. */
static cl_int link_object(const oclattn_context *context, cl_program object, cl_program *linked) {
    cl_int code;
    *linked = clLinkProgram(context->cl, 1, &context->device, NULL, 1, &object, NULL, NULL, &code);
    return code;
}

static cl_int compile_and_link(const oclattn_context *context, const char *options, bool want_binary,
                               compiled *made) {
    cl_program object = made->program;
    cl_int code = clCompileProgram(object, 1, &context->device, options, 0, NULL, NULL, NULL, NULL);
    if (code != CL_SUCCESS) {
        return code;
    }
    if (want_binary) {
        read_binary(object, context->device, made);
    }
    code = link_object(context, object, &made->program);
    clReleaseProgram(object);
    return code;
}

static cl_int build(const oclattn_context *context, const char *options, bool want_binary, compiled *made) {
    const cl_int code = clBuildProgram(made->program, 1, &context->device, options, NULL, NULL);
    if (code == CL_SUCCESS && want_binary) {
        read_binary(made->program, context->device, made);
    }
    return code;
}

cl_int compile_source(const oclattn_context *context, const text *source, const char *options, bool want_binary,
                      compiled *made) {
    const char *const lines = source->data;
    const size_t length = source->length;
    cl_int code;
    *made = (compiled){0};
    made->program = clCreateProgramWithSource(context->cl, 1, (const char **)&lines, &length, &code);
    if (!made->program) {
        return code;
    }
    return compiles_and_links(context) ? compile_and_link(context, options, want_binary, made)
                                       : build(context, options, want_binary, made);
}

static cl_program link_binary(const oclattn_context *context, cl_program object) {
    cl_program linked;
    const cl_int code = link_object(context, object, &linked);
    clReleaseProgram(object);
    if (code != CL_SUCCESS && linked) {
        clReleaseProgram(linked);
    }
    return code == CL_SUCCESS ? linked : NULL;
}

cl_program compile_binary(const oclattn_context *context, const unsigned char *binary, size_t size,
                          const char *options) {
    cl_int binary_code, code;
    cl_program made = clCreateProgramWithBinary(context->cl, 1, &context->device, &size, &binary, &binary_code, &code);
    if (made && compiles_and_links(context)) {
        return link_binary(context, made);
    }
    if (made && clBuildProgram(made, 1, &context->device, options, NULL, NULL) != CL_SUCCESS) {
        clReleaseProgram(made);
        made = NULL;
    }
    return made;
}

void compiled_clear(compiled *made) {
    if (made->program) {
        clReleaseProgram(made->program);
    }
    free(made->binary);
    *made = (compiled){0};
}
