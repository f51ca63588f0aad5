#include "entry.h"

void oclattn_projection_desc_init(oclattn_projection_desc *desc) {
    *desc = (oclattn_projection_desc){.struct_size = sizeof(*desc),
                                      .x_type = OCLATTN_F32,
                                      .w_type = OCLATTN_F32,
                                      .y_type = OCLATTN_F32,
                                      .x_strides = {OCLATTN_STRIDE_AUTO, OCLATTN_STRIDE_AUTO},
                                      .y_strides = {OCLATTN_STRIDE_AUTO, OCLATTN_STRIDE_AUTO}};
}

void oclattn_projection_args_init(oclattn_projection_args *args) {
    *args = (oclattn_projection_args){.struct_size = sizeof(*args)};
}

static oclattn_status resolve(oclattn_context *context, const oclattn_projection_desc *desc, oclattn_plan **plan,
                              oclattn_error *error) {
    RETURN_IF_ERROR(entry_plan(context, desc, sizeof(*desc), "oclattn_projection_desc", plan, error));
    return projection_resolve(context, desc, plan, error);
}

oclattn_status oclattn_projection_check(oclattn_context *context, const oclattn_projection_desc *desc,
                                        oclattn_error *error) {
    oclattn_plan *plan = NULL;
    const oclattn_status status = resolve(context, desc, &plan, error);
    oclattn_plan_destroy(plan);
    return status;
}

oclattn_status oclattn_projection_plan(oclattn_context *context, const oclattn_projection_desc *desc,
                                       oclattn_plan **plan, oclattn_error *error) {
    return entry_compile(resolve(context, desc, plan, error), plan, error);
}

oclattn_status oclattn_projection_weights(const oclattn_plan *plan, cl_command_queue queue, const oclattn_tensor *w,
                                          const oclattn_tensor *b, oclattn_weights **weights, oclattn_error *error) {
    if (weights == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "weights is NULL: there is no place for the result");
    }
    *weights = NULL;
    RETURN_IF_ERROR(plan_check(plan, PLAN_PROJECTION, error));
    return projection_weights_make(plan, queue, w, b, weights, error);
}

/* The scratch memory follows the temporary buffer, as planned. */
static oclattn_status launch(const oclattn_plan *plan, launch_list *list, const oclattn_projection_args *args,
                             oclattn_error *error) {
    size_t total = projection_temporary_bytes(plan);
    const size_t scratch_offset = workspace_reserve(&total, 0);
    return projection_launch(plan, list, args, scratch_offset, error);
}

oclattn_status oclattn_projection_enqueue(const oclattn_plan *plan, cl_command_queue queue,
                                          const oclattn_projection_args *args, cl_uint wait_count,
                                          const cl_event *wait_list, cl_event *event, oclattn_error *error) {
    const entry_call call = {plan,  PLAN_PROJECTION, args,      sizeof(*args), "oclattn_projection_args",
                             queue, wait_count,      wait_list, event};
    launch_list list;
    RETURN_IF_ERROR(entry_begin(&call, &list, error));
    RETURN_IF_ERROR(workspace_check(plan, args->workspace, error));
    return entry_end(&call, &list, launch(plan, &list, args, error), error);
}
