#include "answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int answer_of(const oclattn_context *context, cl_kernel kernel) {
    const cl_context cl = oclattn_context_cl(context);
    cl_int code, value = -1;
    cl_command_queue queue = clCreateCommandQueue(cl, oclattn_context_device(context), 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_mem buffer = clCreateBuffer(cl, CL_MEM_READ_WRITE, sizeof value, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    const size_t one = 1;
    assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
    assert_int_equal(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL), CL_SUCCESS);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    return value;
}
