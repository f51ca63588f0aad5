#include "blas.h"

#include <clblast_c.h>

bool blas_can_index(int64_t m, int64_t n, int64_t k, int64_t x_ld, int64_t y_ld) {
    /* CLBlast pads each dimension up to a tile, of at most 256. */
    const int64_t most = INT32_MAX;
    const int64_t padding = 256;
    return m <= most && n <= most && k <= most && x_ld <= most && y_ld <= most &&
           (m + padding) <= most / (x_ld + k + padding) && (m + padding) <= most / (y_ld + n + padding) &&
           (n + padding) <= most / (k + padding);
}

/* Its status codes that are OpenCL's keep their number; those of its own begin here. */
#define FIRST_OWN_CODE (-1007)

static oclattn_status error_from_blas(oclattn_error *error, CLBlastStatusCode code) {
    if (code == CLBlastSuccess) {
        return OCLATTN_OK;
    }
    return (int)code <= FIRST_OWN_CODE
               ? error_set(error, OCLATTN_OPENCL_ERROR, "CLBlast SGEMM failed with its own status %d", (int)code)
               : error_from_cl(error, (cl_int)code, "CLBlast SGEMM");
}

/* CLBlast asks for a queue where it wants to know the device. */
static oclattn_status make_queue(const oclattn_context *context, cl_command_queue *queue, oclattn_error *error) {
    cl_int code = CL_SUCCESS;
    *queue = clCreateCommandQueue(context->cl, context->device, 0, &code);
    return code == CL_SUCCESS ? OCLATTN_OK : error_from_cl(error, code, "clCreateCommandQueue for planning");
}

oclattn_status blas_temporary_bytes(const oclattn_context *context, const blas_product *product, size_t *bytes,
                                    oclattn_error *error) {
    cl_command_queue queue = NULL;
    RETURN_IF_ERROR(make_queue(context, &queue, error));
    /* Operands at offset 0 may need less, so the query uses 1. */
    const CLBlastStatusCode code = CLBlastSGemmTempBufferSize(
        CLBlastLayoutColMajor, CLBlastTransposeNo, CLBlastTransposeNo, product->n, product->m, product->k, 1,
        product->n, 1, product->x_ld, 1, product->y_ld, &queue, bytes);
    clReleaseCommandQueue(queue);
    return error_from_blas(error, code);
}

oclattn_status blas_load_parameters(const oclattn_context *context, oclattn_error *error) {
    const blas_product any = {.m = 1, .n = 1, .k = 1, .x_ld = 1, .y_ld = 1};
    size_t bytes;
    return blas_temporary_bytes(context, &any, &bytes, error);
}

/* As column-major matrices, which is how the rows of x, W and y look to it: y^T += W^T x^T. Of the three, its usual
 * kernel then has to transpose x only. */
static CLBlastStatusCode multiply(cl_command_queue queue, const blas_product *product, cl_mem x, size_t x_offset,
                                  cl_mem w, cl_mem y, size_t y_offset, cl_mem temporary, cl_event *event) {
    return CLBlastSgemmWithTempBuffer(CLBlastLayoutColMajor, CLBlastTransposeNo, CLBlastTransposeNo, product->n,
                                      product->m, product->k, 1.0f, w, 0, product->n, x, x_offset, product->x_ld, 1.0f,
                                      y, y_offset, product->y_ld, &queue, event, temporary);
}

static oclattn_status make_buffer(const oclattn_context *context, size_t bytes, cl_mem *buffer, oclattn_error *error) {
    cl_int code = CL_SUCCESS;
    *buffer = clCreateBuffer(context->cl, CL_MEM_READ_WRITE, bytes == 0 ? sizeof(float) : bytes, NULL, &code);
    return code == CL_SUCCESS ? OCLATTN_OK : error_from_cl(error, code, "clCreateBuffer for warming CLBlast");
}

enum { WARM_X, WARM_W, WARM_Y, WARM_TEMPORARY, WARM_BUFFERS };

static oclattn_status warm_with(const oclattn_context *context, cl_command_queue queue, const blas_product *product,
                                size_t temporary_bytes, cl_mem *buffers, oclattn_error *error) {
    RETURN_IF_ERROR(make_buffer(context, product->m * product->x_ld * sizeof(float), &buffers[WARM_X], error));
    RETURN_IF_ERROR(make_buffer(context, product->k * product->n * sizeof(float), &buffers[WARM_W], error));
    RETURN_IF_ERROR(make_buffer(context, product->m * product->y_ld * sizeof(float), &buffers[WARM_Y], error));
    RETURN_IF_ERROR(make_buffer(context, temporary_bytes, &buffers[WARM_TEMPORARY], error));
    RETURN_IF_ERROR(error_from_blas(error, multiply(queue, product, buffers[WARM_X], 0, buffers[WARM_W],
                                                    buffers[WARM_Y], 0, buffers[WARM_TEMPORARY], NULL)));
    const cl_int code = clFinish(queue);
    return code == CL_SUCCESS ? OCLATTN_OK : error_from_cl(error, code, "clFinish after warming CLBlast");
}

oclattn_status blas_warm(const oclattn_context *context, const blas_product *product, size_t temporary_bytes,
                         oclattn_error *error) {
    cl_mem buffers[WARM_BUFFERS] = {NULL};
    cl_command_queue queue = NULL;
    RETURN_IF_ERROR(make_queue(context, &queue, error));
    const oclattn_status status = warm_with(context, queue, product, temporary_bytes, buffers, error);
    for (int i = 0; i < WARM_BUFFERS; ++i) {
        if (buffers[i] != NULL) {
            clReleaseMemObject(buffers[i]);
        }
    }
    clReleaseCommandQueue(queue);
    return status;
}

oclattn_status blas_launch(launch_list *list, const blas_product *product, cl_mem x, int64_t x_offset, cl_mem w,
                           cl_mem y, int64_t y_offset, cl_mem temporary, oclattn_error *error) {
    RETURN_IF_ERROR(launch_fence(list, error));
    RETURN_IF_ERROR(error_from_blas(
        error, multiply(list->queue, product, x, (size_t)x_offset, w, y, (size_t)y_offset, temporary, NULL)));
    return launch_fence_all(list, error);
}
