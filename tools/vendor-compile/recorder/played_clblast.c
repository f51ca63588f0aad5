/* CLBlast, whose kernels are not ours: it does nothing, so that planning goes on to those that are. */
#include <clblast_c.h>

#include "played_opencl.h"

CLBlastStatusCode CLBlastSGemmTempBufferSize(const CLBlastLayout layout, const CLBlastTranspose a_transpose,
                                             const CLBlastTranspose b_transpose, const size_t m, const size_t n,
                                             const size_t k, const size_t a_offset, const size_t a_ld,
                                             const size_t b_offset, const size_t b_ld, const size_t c_offset,
                                             const size_t c_ld, cl_command_queue *on, size_t *bytes) {
    (void)layout, (void)a_transpose, (void)b_transpose, (void)m, (void)n, (void)k, (void)a_offset, (void)a_ld;
    (void)b_offset, (void)b_ld, (void)c_offset, (void)c_ld, (void)on;
    *bytes = 0;
    return CLBlastSuccess;
}

CLBlastStatusCode CLBlastSgemmWithTempBuffer(const CLBlastLayout layout, const CLBlastTranspose a_transpose,
                                             const CLBlastTranspose b_transpose, const size_t m, const size_t n,
                                             const size_t k, const float alpha, const cl_mem a, const size_t a_offset,
                                             const size_t a_ld, const cl_mem b, const size_t b_offset,
                                             const size_t b_ld, const float beta, cl_mem c, const size_t c_offset,
                                             const size_t c_ld, cl_command_queue *on, cl_event *event,
                                             cl_mem temporary) {
    (void)layout, (void)a_transpose, (void)b_transpose, (void)m, (void)n, (void)k, (void)alpha, (void)a;
    (void)a_offset, (void)a_ld, (void)b, (void)b_offset, (void)b_ld, (void)beta, (void)c, (void)c_offset, (void)c_ld;
    (void)on, (void)event, (void)temporary;
    return CLBlastSuccess;
}

CLBlastStatusCode CLBlastOverrideParameters(const cl_device_id on, const char *kernel, const CLBlastPrecision precision,
                                            const size_t count, const char **names, const size_t *values) {
    (void)on, (void)kernel, (void)precision, (void)count, (void)names, (void)values;
    return CLBlastSuccess;
}
