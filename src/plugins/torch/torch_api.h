/* The functions of PyTorch's stable C interface that the operator needs, declared in our own words and looked up in the
 * libtorch_cpu.so of the process, so that nothing of PyTorch is needed to build this.
 *
 * Functions return 0 on success. A value on an operator's stack is 64 bits wide: a number or a bool lies in its lowest
 * bytes, a tensor is a handle that the receiver owns, and an optional is 0 or the address of a value on the heap. */
#ifndef OCLATTN_TORCH_API_H
#define OCLATTN_TORCH_API_H

#include <stdbool.h>
#include <stdint.h>

#include <oclattn/oclattn.h>

typedef struct torch_tensor_object *torch_tensor_handle;
typedef struct torch_library_object *torch_library_handle;
typedef uint64_t torch_value;
/* Takes its inputs from the stack and leaves its outputs there. */
typedef void (*torch_kernel)(torch_value *stack, uint64_t inputs, uint64_t outputs);

typedef struct torch_api {
    int32_t (*aoti_torch_library_init_fragment)(const char *name_space, const char *file, uint32_t line,
                                                torch_library_handle *library);
    int32_t (*aoti_torch_library_init_impl)(const char *name_space, const char *dispatch_key, const char *file,
                                            uint32_t line, torch_library_handle *library);
    int32_t (*aoti_torch_library_def)(torch_library_handle library, const char *schema);
    int32_t (*aoti_torch_library_impl)(torch_library_handle library, const char *name, torch_kernel kernel);
    int32_t (*aoti_torch_get_data_ptr)(torch_tensor_handle tensor, void **data);
    int32_t (*aoti_torch_get_dim)(torch_tensor_handle tensor, int64_t *dim);
    int32_t (*aoti_torch_get_sizes)(torch_tensor_handle tensor, int64_t **sizes); /* the tensor's own */
    int32_t (*aoti_torch_get_strides)(torch_tensor_handle tensor,
                                      int64_t **strides); /* in elements, the tensor's own */
    int32_t (*aoti_torch_get_dtype)(torch_tensor_handle tensor, int32_t *dtype);
    int32_t (*aoti_torch_empty_strided)(int64_t dim, const int64_t *sizes, const int64_t *strides, int32_t dtype,
                                        int32_t device_type, int32_t device_index, torch_tensor_handle *tensor);
    int32_t (*aoti_torch_copy_)(torch_tensor_handle to, torch_tensor_handle from, int32_t non_blocking);
    int32_t (*aoti_torch_delete_tensor_object)(torch_tensor_handle tensor);
    int32_t (*torch_delete_stable_ivalue)(torch_value *value);
    /* Throws a C++ exception with the message when the condition is false. */
    void (*aoti_torch_check)(bool condition, const char *function, const char *file, uint32_t line,
                             const char *message);
    int32_t (*aoti_torch_device_type_cpu)(void);
    int32_t (*aoti_torch_dtype_float32)(void);
    int32_t (*aoti_torch_dtype_float16)(void);
    int32_t (*aoti_torch_dtype_bfloat16)(void);
    int32_t (*aoti_torch_dtype_bool)(void);
    int32_t (*aoti_torch_dtype_uint8)(void);
    int32_t (*aoti_torch_dtype_int32)(void);
} torch_api;

/* Fills *api from the libtorch_cpu.so that the process has loaded. */
oclattn_status torch_api_load(torch_api *api, oclattn_error *error);

#define RETURN_IF_ERROR(call)                                                                                          \
    do {                                                                                                               \
        oclattn_status status_of_call_ = (call);                                                                       \
        if (status_of_call_ != OCLATTN_OK) {                                                                           \
            return status_of_call_;                                                                                    \
        }                                                                                                              \
    } while (0)

/* Fills *error and returns its status. */
oclattn_status refuse(oclattn_error *error, oclattn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
