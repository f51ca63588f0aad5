/* Kernels with known faults, for proving that a checker sees them. Usage: planted_faults clean|race|read|write */
#include <stdio.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

enum { ITEMS = 16 };

static const char *const source =
    "kernel void clean(global const int *in, global int *out)\n"
    "{ local int part[16]; size_t i = get_local_id(0); part[i] = in[i]; barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  out[i] = part[15 - i]; }\n"
    "kernel void race(global const int *in, global int *out)\n"
    "{ local int part[16]; size_t i = get_local_id(0); part[i] = in[i]; out[i] = part[15 - i]; }\n"
    "kernel void read(global const int *in, global int *out) { size_t i = get_local_id(0); out[i] = in[i + 1]; }\n"
    "kernel void write(global const int *in, global int *out) { size_t i = get_local_id(0); out[i + 1] = in[i]; }\n";

static cl_int run_kernel(cl_context context, cl_device_id device, const char *name) {
    int values[ITEMS] = {0};
    cl_int code = CL_SUCCESS;
    const cl_program program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &code);
    code |= clBuildProgram(program, 1, &device, "", NULL, NULL);
    const cl_kernel kernel = clCreateKernel(program, name, &code);
    if (code != CL_SUCCESS) {
        return code;
    }
    const cl_mem in = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof values, values, &code);
    const cl_mem out = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof values, values, &code);
    const cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    const size_t items = ITEMS;
    code |= clSetKernelArg(kernel, 0, sizeof in, &in);
    code |= clSetKernelArg(kernel, 1, sizeof out, &out);
    code |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL);
    code |= clFinish(queue);
    clReleaseCommandQueue(queue);
    clReleaseMemObject(out);
    clReleaseMemObject(in);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return code;
}

int main(int argc, char **argv) {
    if (argc != 2 || strstr("clean race read write", argv[1]) == NULL) {
        fprintf(stderr, "usage: planted_faults clean|race|read|write\n");
        return 2;
    }
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_int code = clGetPlatformIDs(1, &platform, NULL);
    code |= clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    const cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (code != CL_SUCCESS || run_kernel(context, device, argv[1]) != CL_SUCCESS) {
        fprintf(stderr, "OpenCL failed\n");
        return 4;
    }
    clReleaseContext(context);
    return 0;
}
