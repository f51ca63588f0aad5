#include "tensors.h"

#include <stddef.h>

enum { MOST_DIMENSIONS = 4 };

oclattn_status tensor_read(const torch_api *api, torch_tensor *tensor, oclattn_error *error) {
    int64_t *sizes = NULL, *strides = NULL;
    if (tensor->handle == NULL) {
        return OCLATTN_OK;
    }
    if (api->aoti_torch_get_data_ptr(tensor->handle, &tensor->data) != 0 ||
        api->aoti_torch_get_dim(tensor->handle, &tensor->dim) != 0 ||
        api->aoti_torch_get_sizes(tensor->handle, &sizes) != 0 ||
        api->aoti_torch_get_strides(tensor->handle, &strides) != 0 ||
        api->aoti_torch_get_dtype(tensor->handle, &tensor->dtype) != 0) {
        return refuse(error, OCLATTN_INVALID_ARGUMENT, "%s is not a plain tensor in memory", tensor->name);
    }
    tensor->sizes = sizes;
    tensor->strides = strides;
    return OCLATTN_OK;
}

static oclattn_status new_contiguous(const torch_api *api, int64_t dim, const int64_t *sizes, int32_t dtype,
                                     torch_tensor_handle *handle, oclattn_error *error) {
    int64_t strides[MOST_DIMENSIONS], next = 1;
    for (int64_t i = dim - 1; i >= 0; --i) {
        strides[i] = next;
        next *= sizes[i] > 0 ? sizes[i] : 1;
    }
    if (api->aoti_torch_empty_strided(dim, sizes, strides, dtype, api->aoti_torch_device_type_cpu(), 0, handle) != 0) {
        return refuse(error, OCLATTN_OUT_OF_MEMORY, "PyTorch could not make a tensor of %lld elements",
                      (long long)next);
    }
    return OCLATTN_OK;
}

oclattn_status tensor_make_rows_contiguous(const torch_api *api, torch_tensor *tensor, oclattn_error *error) {
    const int64_t last = tensor->dim - 1;
    if (tensor->sizes[last] <= 1 || tensor->strides[last] == 1) {
        return OCLATTN_OK;
    }
    torch_tensor copy = {.name = tensor->name};
    RETURN_IF_ERROR(new_contiguous(api, tensor->dim, tensor->sizes, tensor->dtype, &copy.handle, error));
    const bool copied = api->aoti_torch_copy_(copy.handle, tensor->handle, 0) == 0;
    tensor_release(api, tensor);
    *tensor = copy;
    return copied ? tensor_read(api, tensor, error)
                  : refuse(error, OCLATTN_OUT_OF_MEMORY, "PyTorch could not copy %s", tensor->name);
}

oclattn_status tensor_new(const torch_api *api, const int64_t sizes[4], int32_t dtype, torch_tensor *tensor,
                          oclattn_error *error) {
    RETURN_IF_ERROR(new_contiguous(api, 4, sizes, dtype, &tensor->handle, error));
    return tensor_read(api, tensor, error);
}

oclattn_status tensor_float_type(const torch_api *api, const torch_tensor *tensor, oclattn_type *type,
                                 oclattn_error *error) {
    if (tensor->dtype == api->aoti_torch_dtype_float32()) {
        *type = OCLATTN_F32;
    } else if (tensor->dtype == api->aoti_torch_dtype_float16()) {
        *type = OCLATTN_F16;
    } else if (tensor->dtype == api->aoti_torch_dtype_bfloat16()) {
        *type = OCLATTN_BF16;
    } else {
        return refuse(error, OCLATTN_INVALID_ARGUMENT, "%s must be float32, float16 or bfloat16: pass %s.float()",
                      tensor->name, tensor->name);
    }
    return OCLATTN_OK;
}

oclattn_status tensor_check_vector(const torch_tensor *tensor, int64_t size, int32_t dtype, const char *type_name,
                                   oclattn_error *error) {
    if (tensor->dim == 1 && tensor->sizes[0] == size && tensor->dtype == dtype &&
        (size <= 1 || tensor->strides[0] == 1)) {
        return OCLATTN_OK;
    }
    return refuse(error, OCLATTN_INVALID_ARGUMENT, "%s must be contiguous, %s, with %lld elements", tensor->name,
                  type_name, (long long)size);
}

oclattn_status tensor_broadcast(const torch_tensor *tensor, const int64_t wanted[4], int64_t strides[4],
                                oclattn_error *error) {
    const int64_t missing = 4 - tensor->dim;
    for (int64_t i = 0; i < 4; ++i) {
        const int64_t size = missing >= 0 && i >= missing ? tensor->sizes[i - missing] : 1;
        if (missing < 0 || (size != 1 && size != wanted[i])) {
            return refuse(error, OCLATTN_INVALID_ARGUMENT,
                          "%s does not broadcast to [batch, heads, queries, keys] = [%lld, %lld, %lld, %lld]",
                          tensor->name, (long long)wanted[0], (long long)wanted[1], (long long)wanted[2],
                          (long long)wanted[3]);
        }
        strides[i] = size == 1 ? 0 : tensor->strides[i - missing];
    }
    return OCLATTN_OK;
}

void tensor_release(const torch_api *api, torch_tensor *tensor) {
    if (tensor->handle != NULL) {
        api->aoti_torch_delete_tensor_object(tensor->handle);
        tensor->handle = NULL;
    }
}
