#include "weights.h"

#include <stdlib.h>

oclattn_status weights_new(oclattn_context *context, size_t count, oclattn_weights **weights, oclattn_error *error) {
    oclattn_weights *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return error_no_memory(error);
    }
    made->context = context;
    made->count = count;
    context_retain(context);
    *weights = made;
    return OCLATTN_OK;
}

oclattn_status weights_check(const oclattn_weights *weights, const oclattn_context *context, size_t count,
                             oclattn_error *error) {
    if (weights == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "weights is NULL");
    }
    if (weights->count != count) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "weights hold %zu matrices, this plan needs %zu",
                         weights->count, count);
    }
    if (weights->context->cl != context->cl) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "weights belong to another cl_context than the plan");
    }
    return OCLATTN_OK;
}

static void release(cl_mem buffer) {
    if (buffer != NULL) {
        clReleaseMemObject(buffer);
    }
}

void oclattn_weights_destroy(oclattn_weights *weights) {
    if (weights == NULL) {
        return;
    }
    if (context_check_process(weights->context, NULL) == OCLATTN_OK) {
        for (size_t i = 0; i < weights->count; ++i) {
            release(weights->matrices[i].panels);
            release(weights->matrices[i].bias);
        }
    }
    context_release(weights->context);
    free(weights);
}
