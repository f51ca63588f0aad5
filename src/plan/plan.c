#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "../program/program.h"

enum { WORKSPACE_ALIGNMENT = 256 };

static const char *const kind_names[] = {"attention", "merge_states", "split", "merge", "projection", "mha"};

oclattn_status plan_new(const plan_type *type, oclattn_context *context, oclattn_plan **plan, oclattn_error *error) {
    oclattn_plan *made = calloc(1, type->bytes);
    if (made == NULL) {
        return error_no_memory(error);
    }
    if (mtx_init(&made->lock, mtx_plain) != thrd_success) {
        free(made);
        return error_no_memory(error);
    }
    made->type = type;
    made->context = context;
    context_retain(context);
    *plan = made;
    return OCLATTN_OK;
}

oclattn_status plan_hand_over(oclattn_plan *made, oclattn_status status, oclattn_plan **plan) {
    if (status == OCLATTN_OK) {
        *plan = made;
    } else {
        oclattn_plan_destroy(made);
    }
    return status;
}

oclattn_status plan_compile(oclattn_plan *plan, oclattn_error *error) {
    program_parts parts = {0};
    plan->type->add_parts(plan, &parts);
    program_join(plan->context, &parts);
    RETURN_IF_ERROR(plan->type->compile(plan, error));
    plan->type->describe(plan, "", &plan->description);
    return plan->description.failed ? error_no_memory(error) : OCLATTN_OK;
}

void oclattn_plan_destroy(oclattn_plan *plan) {
    if (plan == NULL) {
        return;
    }
    if (context_check_process(plan->context, NULL) == OCLATTN_OK) {
        plan->type->clear(plan);
    }
    mtx_destroy(&plan->lock);
    text_clear(&plan->description);
    context_release(plan->context);
    free(plan);
}

oclattn_status plan_check(const oclattn_plan *plan, plan_kind kind, oclattn_error *error) {
    if (plan == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "plan is NULL");
    }
    if (plan->type->kind != kind) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "plan was made for %s, not for %s",
                         kind_names[plan->type->kind], kind_names[kind]);
    }
    return context_check_process(plan->context, error);
}

void plan_lock(const oclattn_plan *plan) {
    mtx_lock((mtx_t *)&plan->lock);
}

void plan_unlock(const oclattn_plan *plan) {
    mtx_unlock((mtx_t *)&plan->lock);
}

size_t oclattn_plan_workspace_bytes(const oclattn_plan *plan) {
    return plan == NULL ? 0 : plan->workspace_bytes;
}

const char *oclattn_plan_variant(const oclattn_plan *plan) {
    return plan == NULL ? "" : plan->variant;
}

size_t oclattn_plan_describe(const oclattn_plan *plan, char *buffer, size_t size) {
    const size_t length = plan == NULL ? 0 : plan->description.length;
    if (buffer == NULL || size == 0) {
        return length;
    }
    const size_t copied = length < size ? length : size - 1;
    if (copied > 0) {
        memcpy(buffer, plan->description.data, copied);
    }
    buffer[copied] = '\0';
    return length;
}

size_t workspace_reserve(size_t *total, size_t bytes) {
    if (*total > SIZE_MAX - WORKSPACE_ALIGNMENT) {
        return SIZE_MAX;
    }
    const size_t begin = (*total + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
    *total = bytes > SIZE_MAX - begin ? SIZE_MAX : begin + bytes;
    return begin;
}

oclattn_status workspace_check(const oclattn_plan *plan, cl_mem workspace, oclattn_error *error) {
    if (plan->workspace_bytes == 0) {
        return OCLATTN_OK;
    }
    if (workspace == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "workspace is NULL; this plan needs %zu bytes",
                         plan->workspace_bytes);
    }
    size_t bytes = 0;
    const cl_int code = clGetMemObjectInfo(workspace, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
    if (code != CL_SUCCESS) {
        return error_from_cl(error, code, "clGetMemObjectInfo of the workspace");
    }
    if (bytes < plan->workspace_bytes) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "workspace has %zu bytes; this plan needs %zu", bytes,
                         plan->workspace_bytes);
    }
    return OCLATTN_OK;
}

oclattn_status struct_check(const void *theirs, size_t our_size, const char *what, oclattn_error *error) {
    if (theirs == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "%s is NULL", what);
    }
    size_t size;
    memcpy(&size, theirs, sizeof(size));
    if (size == our_size) {
        return OCLATTN_OK;
    }
    if (size > our_size) {
        return error_set(
            error, OCLATTN_INVALID_ARGUMENT,
            "%s has struct_size %zu, this library knows %zu bytes of it: the header is newer than the library", what,
            size, our_size);
    }
    return error_set(error, OCLATTN_INVALID_ARGUMENT, "%s has struct_size %zu instead of %zu: call %s_init first", what,
                     size, our_size, what);
}
