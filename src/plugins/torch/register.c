/* liboclattn_torch.so: torch.ops.oclattn.attention, on the public API of oclattn and the stable C interface of PyTorch.
 */
#include <stddef.h>

#include "attention.h"

#define EXPORT __attribute__((visibility("default")))

/* Registers the operator with the PyTorch of this process; to be called once, after torch was imported. */
EXPORT oclattn_status oclattn_torch_register(oclattn_error *error);

/* How many calls of the operator have been computed. */
EXPORT uint64_t oclattn_torch_calls(void);

/* The library objects live as long as the process, since their end would take the operator away. */
static oclattn_status register_operator(const torch_api *api, oclattn_error *error) {
    torch_library_handle definitions = NULL, kernels = NULL;
    if (api->aoti_torch_library_init_fragment("oclattn", __FILE__, __LINE__, &definitions) != 0 ||
        api->aoti_torch_library_def(definitions, ATTENTION_SCHEMA) != 0) {
        return refuse(error, OCLATTN_UNSUPPORTED, "PyTorch did not take the definition of oclattn::attention");
    }
    if (api->aoti_torch_library_init_impl("oclattn", "CPU", __FILE__, __LINE__, &kernels) != 0 ||
        api->aoti_torch_library_impl(kernels, "attention", attention_kernel) != 0) {
        return refuse(error, OCLATTN_UNSUPPORTED, "PyTorch did not take the kernel of oclattn::attention");
    }
    return OCLATTN_OK;
}

oclattn_status oclattn_torch_register(oclattn_error *error) {
    torch_api api;
    RETURN_IF_ERROR(torch_api_load(&api, error));
    attention_set_api(&api);
    return register_operator(&api, error);
}

uint64_t oclattn_torch_calls(void) {
    return attention_calls();
}
