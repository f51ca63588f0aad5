/* Shapes and strides: what a tensor must look like, and where a caller's one lies. */
#ifndef OCLATTN_PLAN_TENSOR_H
#define OCLATTN_PLAN_TENSOR_H

#include <stdbool.h>

#include "../device/device.h"

enum { TENSOR_MAX_RANK = 4 };

/* No tensor's extent may exceed this: it keeps every sum of two of them within 64 bits. */
#define TENSOR_LARGEST ((int64_t)1 << 61)

/* A tensor with `rank` strided dimensions and `width` contiguous elements at each of their points. */
typedef struct tensor_spec {
    const char *name; /* static */
    bool used, output;
    size_t element_bytes;
    int rank;
    int64_t dims[TENSOR_MAX_RANK], strides[TENSOR_MAX_RANK];
    int64_t width;
} tensor_spec;

/* Takes over strides (NULL: all AUTO), fills in AUTO ones, and checks them: none negative, no overflow, and an output
 * that overlaps itself nowhere. The dims must be there. */
oclattn_status tensor_spec_set_strides(tensor_spec *spec, const int64_t *strides, oclattn_error *error);

/* Whether it has no element. */
bool tensor_is_empty(const tensor_spec *spec);

/* Elements from the first to the last one, both included; 0 if empty. Only after tensor_spec_set_strides. */
int64_t tensor_extent(const tensor_spec *spec);

/* Checks what a caller passes for the tensor: NULL only if empty or unused, a buffer of this context that is large
 * enough. Run-time strides go into the spec. */
oclattn_status tensor_bind(tensor_spec *spec, cl_context cl, const oclattn_tensor *tensor, oclattn_error *error);

/* Whether every row of a bound tensor certainly begins at a multiple of `elements` elements in the device's memory. */
bool tensor_rows_are_aligned(const tensor_spec *spec, const oclattn_tensor *tensor, const device_caps *caps,
                             int64_t elements);

/* Whether two bound tensors certainly share memory: they begin at the same place, or reach into each other without
 * gaps. */
bool tensors_overlap(const tensor_spec *a, const oclattn_tensor *at_a, const tensor_spec *b,
                     const oclattn_tensor *at_b);

/* a * b for sizes; INT64_MAX when it overflows. Neither may be negative. */
int64_t multiply_sizes(int64_t a, int64_t b);
int64_t add_sizes(int64_t a, int64_t b);

#endif
