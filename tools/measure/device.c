#include "device.h"

static bool call_failed(failure *f, const char *call, cl_int code) {
    return fail_with(f, EXIT_RUNTIME, "%s failed (OpenCL error %d)", call, (int)code);
}

static size_t group_size(const measure_device *d, const oclattn_device_info *info) {
    enum { WANTED = 64, MOST_DIMENSIONS = 16 };
    size_t sizes[MOST_DIMENSIONS] = {0}, group = WANTED;
    if (info->max_work_group_size < group) {
        group = (size_t)info->max_work_group_size;
    }
    const cl_int code = clGetDeviceInfo(d->device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
    if (code == CL_SUCCESS && sizes[0] > 0 && sizes[0] < group) {
        group = sizes[0];
    }
    return group > 0 ? group : 1;
}

/* Enough work-items to fill every unit several times over. */
static size_t item_count(bool is_cpu, uint32_t compute_units) {
    const size_t most = (size_t)1 << 20, units = compute_units > 0 ? compute_units : 1;
    const size_t items = units * (is_cpu ? 256 : 2048);
    return items < most ? items : most;
}

bool measure_device_init(measure_device *d, const oclattn_context *context, cl_command_queue queue, failure *f) {
    oclattn_error error = {0};
    oclattn_device_info info;
    oclattn_device_info_init(&info);
    if (oclattn_context_device_info(context, &info, &error) != OCLATTN_OK) {
        return fail_with(f, EXIT_RUNTIME, "%s", error.message);
    }
    *d = (measure_device){.cl = oclattn_context_cl(context),
                          .device = oclattn_context_device(context),
                          .queue = queue,
                          .is_cpu = (info.type & CL_DEVICE_TYPE_CPU) != 0,
                          .has_fp16 = info.has_fp16 != 0,
                          .has_fp64 = info.has_fp64 != 0,
                          .largest_buffer = info.max_allocation_bytes};
    d->work_group = group_size(d, &info);
    d->items = item_count(d->is_cpu, info.compute_units);
    cl_ulong cache = 0;
    if (clGetDeviceInfo(d->device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof cache, &cache, NULL) == CL_SUCCESS) {
        d->cache_bytes = cache;
    }
    return true;
}

cl_program measure_build(const measure_device *d, const char *source, const char *options, failure *f) {
    cl_int code = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(d->cl, 1, &source, NULL, &code);
    if (!program) {
        call_failed(f, "clCreateProgramWithSource", code);
        return NULL;
    }
    code = clBuildProgram(program, 1, &d->device, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        call_failed(f, "clBuildProgram", code);
        clReleaseProgram(program);
        return NULL;
    }
    return program;
}

cl_kernel measure_kernel(cl_program program, const char *name, failure *f) {
    cl_int code = CL_SUCCESS;
    cl_kernel kernel = clCreateKernel(program, name, &code);
    if (!kernel) {
        call_failed(f, "clCreateKernel", code);
    }
    return kernel;
}

cl_mem measure_buffer(const measure_device *d, size_t bytes, failure *f) {
    cl_int code = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(d->cl, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (!buffer) {
        call_failed(f, "clCreateBuffer", code);
    }
    return buffer;
}

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: its mixing of a counter. */
static const char noise_source[] = "__kernel void noise(__global uint *out, ulong count) {\n"
                                   "    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {\n"
                                   "        ulong z = i * 0x9E3779B97F4A7C15UL;\n"
                                   "        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9UL;\n"
                                   "        z = (z ^ (z >> 27)) * 0x94D049BB133111EBUL;\n"
                                   "        out[i] = 0x3F800000u | (uint)(z >> 41);\n"
                                   "    }\n"
                                   "}\n";

static bool fill_noise(const measure_device *d, cl_kernel kernel, cl_mem buffer, size_t bytes, failure *f) {
    const cl_ulong count = bytes / sizeof(cl_uint);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(kernel, 1, sizeof count, &count);
    if (!measure_launch(d, kernel, d->items, NULL, f)) {
        return false;
    }
    const cl_int code = clFinish(d->queue);
    return code == CL_SUCCESS || call_failed(f, "clFinish", code);
}

cl_mem measure_noise(const measure_device *d, size_t bytes, failure *f) {
    cl_mem buffer = measure_buffer(d, bytes, f);
    cl_program program = buffer ? measure_build(d, noise_source, "-cl-std=CL1.2", f) : NULL;
    cl_kernel kernel = program ? measure_kernel(program, "noise", f) : NULL;
    if (!kernel || !fill_noise(d, kernel, buffer, bytes, f)) {
        measure_release_buffer(buffer);
        buffer = NULL;
    }
    measure_release_kernel(kernel);
    measure_release_program(program);
    return buffer;
}

static size_t group_of(const measure_device *d, cl_kernel kernel) {
    size_t most = 0, group = d->work_group;
    const cl_int code =
        clGetKernelWorkGroupInfo(kernel, d->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    while (code == CL_SUCCESS && group > 1 && group > most) {
        group /= 2;
    }
    return group;
}

bool measure_launch(const measure_device *d, cl_kernel kernel, size_t items, cl_event *event, failure *f) {
    const size_t group = group_of(d, kernel);
    const size_t global = (items + group - 1) / group * group;
    const cl_int code = clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &global, &group, 0, NULL, event);
    return code == CL_SUCCESS || call_failed(f, "clEnqueueNDRangeKernel", code);
}

void measure_release_program(cl_program program) {
    if (program) {
        clReleaseProgram(program);
    }
}

void measure_release_kernel(cl_kernel kernel) {
    if (kernel) {
        clReleaseKernel(kernel);
    }
}

void measure_release_buffer(cl_mem buffer) {
    if (buffer) {
        clReleaseMemObject(buffer);
    }
}
