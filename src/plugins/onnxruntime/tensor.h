/* Tensors of ONNX Runtime: what a node declares of them, and what they are when it runs. */
#ifndef OCLATTN_ORT_TENSOR_H
#define OCLATTN_ORT_TENSOR_H

#include "host.h"

enum { MOST_DIMENSIONS = 5 };

typedef struct host_tensor {
    const char *name;              /* as the operator calls it; static */
    ort_element element;           /* ORT_UNDEFINED: an optional one that was not given */
    size_t rank;                   /* 0: a single number, or not declared */
    int64_t dims[MOST_DIMENSIONS]; /* -1: not declared */
    void *data;                    /* NULL unless the node runs; the host's */
} host_tensor;

/* From a declaration. NULL, or one without a name, is a tensor that was not given. */
oclattn_status tensor_declared(const ort_host *host, const ort_value_info *info, const char *name, host_tensor *tensor,
                               oclattn_error *error);

/* Input `index` of a node that runs. */
oclattn_status tensor_input(const ort_host *host, const ort_context *context, size_t index, const char *name,
                            host_tensor *tensor, oclattn_error *error);

/* Has the host make output `index`. */
oclattn_status tensor_output(const ort_host *host, ort_context *context, size_t index, const int64_t *dims, size_t rank,
                             void **data, oclattn_error *error);

bool tensor_given(const host_tensor *tensor);
int64_t tensor_elements(const host_tensor *tensor);

/* f32, f16 and bf16; everything else is refused. */
oclattn_status tensor_float_type(const host_tensor *tensor, oclattn_type *type, oclattn_error *error);

oclattn_status tensor_expect(const host_tensor *tensor, ort_element element, const char *element_name,
                             oclattn_error *error);

size_t element_bytes(ort_element element);

/* Settles *size, which is -1 while unknown, by dimension `dimension` of a tensor: it may be unknown, but not another.
 */
oclattn_status agree(int64_t *size, const char *size_name, const host_tensor *tensor, size_t dimension,
                     oclattn_error *error);

/* The same for a dimension that holds `parts` rows of *size. */
oclattn_status agree_parts(int64_t *size, const char *size_name, const host_tensor *tensor, size_t dimension,
                           int64_t parts, oclattn_error *error);

#endif
