#include "tensor.h"

bool tensor_given(const host_tensor *tensor) {
    return tensor->element != ORT_UNDEFINED;
}

int64_t tensor_elements(const host_tensor *tensor) {
    int64_t count = 1;
    for (size_t i = 0; i < tensor->rank; ++i) {
        count *= tensor->dims[i];
    }
    return count;
}

size_t element_bytes(ort_element element) {
    switch (element) {
    case ORT_INT64:
        return 8;
    case ORT_FLOAT:
    case ORT_INT32:
        return 4;
    case ORT_FLOAT16:
    case ORT_BFLOAT16:
        return 2;
    default:
        return 1;
    }
}

static oclattn_status read_info(const ort_host *host, const ort_tensor_info *info, host_tensor *tensor,
                                oclattn_error *error) {
    int element = ORT_UNDEFINED;
    RETURN_IF_ERROR(host_check(host, host->api->GetTensorElementType(info, &element), error));
    RETURN_IF_ERROR(host_check(host, host->api->GetDimensionsCount(info, &tensor->rank), error));
    tensor->element = (ort_element)element;
    if (tensor->rank > MOST_DIMENSIONS) {
        return refuse(error, OCLATTN_UNSUPPORTED, "%s has %zu dimensions", tensor->name, tensor->rank);
    }
    return host_check(host, host->api->GetDimensions(info, tensor->dims, tensor->rank), error);
}

oclattn_status tensor_declared(const ort_host *host, const ort_value_info *info, const char *name, host_tensor *tensor,
                               oclattn_error *error) {
    const char *value_name = "";
    const ort_type_info *type = NULL;
    const ort_tensor_info *tensor_info = NULL;
    tensor->name = name;
    if (info == NULL) {
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(host_check(host, host->api->GetValueInfoName(info, &value_name), error));
    if (value_name[0] == '\0') {
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(host_check(host, host->api->GetValueInfoTypeInfo(info, &type), error));
    if (type != NULL) {
        RETURN_IF_ERROR(host_check(host, host->api->CastTypeInfoToTensorInfo(type, &tensor_info), error));
    }
    if (tensor_info == NULL) {
        return refuse(error, OCLATTN_UNSUPPORTED, "%s is not declared as a tensor", name);
    }
    return read_info(host, tensor_info, tensor, error);
}

oclattn_status tensor_input(const ort_host *host, const ort_context *context, size_t index, const char *name,
                            host_tensor *tensor, oclattn_error *error) {
    const ort_value *value = NULL;
    ort_tensor_info *info = NULL;
    tensor->name = name;
    RETURN_IF_ERROR(host_check(host, host->api->KernelContext_GetInput(context, index, &value), error));
    if (value == NULL) {
        return refuse(error, OCLATTN_INVALID_ARGUMENT, "%s is missing", name);
    }
    RETURN_IF_ERROR(host_check(host, host->api->GetTensorTypeAndShape(value, &info), error));
    const oclattn_status status = read_info(host, info, tensor, error);
    host->api->ReleaseTensorTypeAndShapeInfo(info);
    RETURN_IF_ERROR(status);
    /* The host has one function for both; inputs are only read. */
    return host_check(host, host->api->GetTensorMutableData((ort_value *)(uintptr_t)value, &tensor->data), error);
}

oclattn_status tensor_output(const ort_host *host, ort_context *context, size_t index, const int64_t *dims, size_t rank,
                             void **data, oclattn_error *error) {
    ort_value *value = NULL;
    RETURN_IF_ERROR(host_check(host, host->api->KernelContext_GetOutput(context, index, dims, rank, &value), error));
    return host_check(host, host->api->GetTensorMutableData(value, data), error);
}

oclattn_status tensor_float_type(const host_tensor *tensor, oclattn_type *type, oclattn_error *error) {
    switch (tensor->element) {
    case ORT_FLOAT:
        *type = OCLATTN_F32;
        return OCLATTN_OK;
    case ORT_FLOAT16:
        *type = OCLATTN_F16;
        return OCLATTN_OK;
    case ORT_BFLOAT16:
        *type = OCLATTN_BF16;
        return OCLATTN_OK;
    case ORT_UNDEFINED:
        return refuse(error, OCLATTN_UNSUPPORTED, "%s is not given", tensor->name);
    default:
        return refuse(error, OCLATTN_UNSUPPORTED, "%s is neither float32, float16 nor bfloat16 (ONNX type %d)",
                      tensor->name, (int)tensor->element);
    }
}

oclattn_status tensor_expect(const host_tensor *tensor, ort_element element, const char *element_name,
                             oclattn_error *error) {
    if (tensor->element == element) {
        return OCLATTN_OK;
    }
    return refuse(error, OCLATTN_UNSUPPORTED, "%s is not %s (ONNX type %d)", tensor->name, element_name,
                  (int)tensor->element);
}

static oclattn_status settle(int64_t *size, const char *size_name, const host_tensor *tensor, size_t dimension,
                             int64_t found, oclattn_error *error) {
    if (*size >= 0 && *size != found) {
        return refuse(error, OCLATTN_INVALID_ARGUMENT, "dimension %zu of %s makes %s %lld, but it is %lld elsewhere",
                      dimension, tensor->name, size_name, (long long)found, (long long)*size);
    }
    *size = found;
    return OCLATTN_OK;
}

oclattn_status agree(int64_t *size, const char *size_name, const host_tensor *tensor, size_t dimension,
                     oclattn_error *error) {
    return agree_parts(size, size_name, tensor, dimension, 1, error);
}

oclattn_status agree_parts(int64_t *size, const char *size_name, const host_tensor *tensor, size_t dimension,
                           int64_t parts, oclattn_error *error) {
    if (dimension >= tensor->rank || tensor->dims[dimension] < 0 || parts < 0) {
        return OCLATTN_OK;
    }
    const int64_t whole = tensor->dims[dimension];
    if (parts == 0 || whole % parts != 0) {
        return refuse(error, OCLATTN_INVALID_ARGUMENT, "dimension %zu of %s is %lld, which is no multiple of %lld",
                      dimension, tensor->name, (long long)whole, (long long)parts);
    }
    return settle(size, size_name, tensor, dimension, whole / parts, error);
}
