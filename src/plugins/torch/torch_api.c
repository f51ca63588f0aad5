#include "torch_api.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

oclattn_status refuse(oclattn_error *error, oclattn_status status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    *error = (oclattn_error){.status = status};
    vsnprintf(error->message, sizeof(error->message), format, values);
    va_end(values);
    return status;
}

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that the bytes are the same. */
static oclattn_status find(void *library, const char *name, void *function, oclattn_error *error) {
    void *address = dlsym(library, name);
    if (address == NULL) {
        return refuse(error, OCLATTN_UNSUPPORTED, "this PyTorch has no %s: the operator needs PyTorch 2.13 or newer",
                      name);
    }
    memcpy(function, &address, sizeof(address));
    return OCLATTN_OK;
}

#define FIND(name) RETURN_IF_ERROR(find(library, #name, &api->name, error))

static oclattn_status find_all(torch_api *api, void *library, oclattn_error *error) {
    FIND(aoti_torch_library_init_fragment);
    FIND(aoti_torch_library_init_impl);
    FIND(aoti_torch_library_def);
    FIND(aoti_torch_library_impl);
    FIND(aoti_torch_get_data_ptr);
    FIND(aoti_torch_get_dim);
    FIND(aoti_torch_get_sizes);
    FIND(aoti_torch_get_strides);
    FIND(aoti_torch_get_dtype);
    FIND(aoti_torch_empty_strided);
    FIND(aoti_torch_copy_);
    FIND(aoti_torch_delete_tensor_object);
    FIND(torch_delete_stable_ivalue);
    FIND(aoti_torch_check);
    FIND(aoti_torch_device_type_cpu);
    FIND(aoti_torch_dtype_float32);
    FIND(aoti_torch_dtype_float16);
    FIND(aoti_torch_dtype_bfloat16);
    FIND(aoti_torch_dtype_bool);
    FIND(aoti_torch_dtype_uint8);
    FIND(aoti_torch_dtype_int32);
    return OCLATTN_OK;
}

oclattn_status torch_api_load(torch_api *api, oclattn_error *error) {
    void *library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        return refuse(error, OCLATTN_UNSUPPORTED, "libtorch_cpu.so is not loaded in this process: import torch first");
    }
    const oclattn_status status = find_all(api, library, error);
    dlclose(library); /* torch itself keeps it loaded */
    return status;
}
