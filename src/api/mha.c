#include "entry.h"
#include "score_options.h"

void oclattn_mha_desc_init(oclattn_mha_desc *desc) {
    *desc = (oclattn_mha_desc){.struct_size = sizeof(*desc),
                               .x_type = OCLATTN_F32,
                               .w_type = OCLATTN_F32,
                               .y_type = OCLATTN_F32,
                               .kv_len = -1,
                               .x_strides = {OCLATTN_STRIDE_AUTO, OCLATTN_STRIDE_AUTO},
                               .kv_strides = {OCLATTN_STRIDE_AUTO, OCLATTN_STRIDE_AUTO},
                               .y_strides = {OCLATTN_STRIDE_AUTO, OCLATTN_STRIDE_AUTO}};
    score_options_init(&desc->score);
}

void oclattn_mha_weights_args_init(oclattn_mha_weights_args *args) {
    *args = (oclattn_mha_weights_args){.struct_size = sizeof(*args)};
}

void oclattn_mha_args_init(oclattn_mha_args *args) {
    *args = (oclattn_mha_args){.struct_size = sizeof(*args)};
}

static oclattn_status resolve(oclattn_context *context, const oclattn_mha_desc *desc, oclattn_plan **plan,
                              oclattn_error *error) {
    RETURN_IF_ERROR(entry_plan(context, desc, sizeof(*desc), "oclattn_mha_desc", plan, error));
    return mha_resolve(context, desc, plan, error);
}

oclattn_status oclattn_mha_check(oclattn_context *context, const oclattn_mha_desc *desc, oclattn_error *error) {
    oclattn_plan *plan = NULL;
    const oclattn_status status = resolve(context, desc, &plan, error);
    oclattn_plan_destroy(plan);
    return status;
}

oclattn_status oclattn_mha_plan(oclattn_context *context, const oclattn_mha_desc *desc, oclattn_plan **plan,
                                oclattn_error *error) {
    return entry_compile(resolve(context, desc, plan, error), plan, error);
}

oclattn_status oclattn_mha_weights(const oclattn_plan *plan, cl_command_queue queue,
                                   const oclattn_mha_weights_args *args, oclattn_weights **weights,
                                   oclattn_error *error) {
    if (weights == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "weights is NULL: there is no place for the result");
    }
    *weights = NULL;
    RETURN_IF_ERROR(plan_check(plan, PLAN_MHA, error));
    RETURN_IF_ERROR(struct_check(args, sizeof(*args), "oclattn_mha_weights_args", error));
    return mha_weights_make(plan, queue, args, weights, error);
}

oclattn_status oclattn_mha_enqueue(const oclattn_plan *plan, cl_command_queue queue, const oclattn_mha_args *args,
                                   cl_uint wait_count, const cl_event *wait_list, cl_event *event,
                                   oclattn_error *error) {
    const entry_call call = {plan,  PLAN_MHA,   args,      sizeof(*args), "oclattn_mha_args",
                             queue, wait_count, wait_list, event};
    launch_list list;
    RETURN_IF_ERROR(entry_begin(&call, &list, error));
    RETURN_IF_ERROR(workspace_check(plan, args->workspace, error));
    return entry_end(&call, &list, mha_launch(plan, &list, args, error), error);
}
