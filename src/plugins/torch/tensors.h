/* PyTorch's tensors as oclattn's descriptors want them. */
#ifndef OCLATTN_TORCH_TENSORS_H
#define OCLATTN_TORCH_TENSORS_H

#include "torch_api.h"

typedef struct torch_tensor {
    torch_tensor_handle handle; /* owned; NULL: an optional one that was not given */
    const char *name;
    void *data;
    int64_t dim;
    const int64_t *sizes, *strides;
    int32_t dtype;
} torch_tensor;

/* Fills everything from tensor->handle, where there is one. */
oclattn_status tensor_read(const torch_api *api, torch_tensor *tensor, oclattn_error *error);

/* Makes the last dimension contiguous, by a copy where it is not. */
oclattn_status tensor_make_rows_contiguous(const torch_api *api, torch_tensor *tensor, oclattn_error *error);

/* A new contiguous tensor on the CPU. */
oclattn_status tensor_new(const torch_api *api, const int64_t sizes[4], int32_t dtype, torch_tensor *tensor,
                          oclattn_error *error);

oclattn_status tensor_float_type(const torch_api *api, const torch_tensor *tensor, oclattn_type *type,
                                 oclattn_error *error);

/* Refuses all but [size], contiguous, of that dtype, which is called `type_name`. */
oclattn_status tensor_check_vector(const torch_tensor *tensor, int64_t size, int32_t dtype, const char *type_name,
                                   oclattn_error *error);

/* Strides that repeat the tensor over `wanted`, [batch, heads, queries, keys], as broadcasting does. */
oclattn_status tensor_broadcast(const torch_tensor *tensor, const int64_t wanted[4], int64_t strides[4],
                                oclattn_error *error);

void tensor_release(const torch_api *api, torch_tensor *tensor);

#endif
