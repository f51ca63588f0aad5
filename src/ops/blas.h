/* The one place, with blas_parameters.c, that calls CLBlast. */
#ifndef OCLATTN_OPS_BLAS_H
#define OCLATTN_OPS_BLAS_H

#include "../plan/launch.h"

/* y [m, n] += x [m, k] w [k, n], row-major, f32. Leading dimensions are in elements. */
typedef struct blas_product {
    size_t m, n, k;
    size_t x_ld, y_ld; /* that of w is n */
} blas_product;

/* Whether CLBlast can count as far; it works with 32-bit indexes. */
bool blas_can_index(int64_t m, int64_t n, int64_t k, int64_t x_ld, int64_t y_ld);

/* Makes CLBlast look up the parameters of its kernels for the device, without compiling: only then can they be
 * replaced. */
oclattn_status blas_load_parameters(const oclattn_context *context, oclattn_error *error);

/* Bytes of the temporary buffer that the product needs at any offset of x and y. */
oclattn_status blas_temporary_bytes(const oclattn_context *context, const blas_product *product, size_t *bytes,
                                    oclattn_error *error);

/* Compiles what the product needs, by running it once on memory of its own. */
oclattn_status blas_warm(const oclattn_context *context, const blas_product *product, size_t temporary_bytes,
                         oclattn_error *error);

/* Puts the product on the list's queue, after what the list holds. `temporary` is not used where the product needs
 * none. */
oclattn_status blas_launch(launch_list *list, const blas_product *product, cl_mem x, int64_t x_offset, cl_mem w,
                           cl_mem y, int64_t y_offset, cl_mem temporary, oclattn_error *error);

#endif
