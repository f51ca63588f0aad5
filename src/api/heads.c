#include "entry.h"

void oclattn_heads_desc_init(oclattn_heads_desc *desc) {
    *desc = (oclattn_heads_desc){.struct_size = sizeof(*desc),
                                 .packed_type = OCLATTN_F32,
                                 .heads_type = OCLATTN_F32,
                                 .packed_strides = {OCLATTN_STRIDE_AUTO, OCLATTN_STRIDE_AUTO},
                                 .heads_strides = {OCLATTN_STRIDE_AUTO, OCLATTN_STRIDE_AUTO, OCLATTN_STRIDE_AUTO}};
}

void oclattn_heads_args_init(oclattn_heads_args *args) {
    *args = (oclattn_heads_args){.struct_size = sizeof(*args)};
}

static oclattn_status resolve(oclattn_context *context, plan_kind kind, const oclattn_heads_desc *desc,
                              oclattn_plan **plan, oclattn_error *error) {
    RETURN_IF_ERROR(entry_plan(context, desc, sizeof(*desc), "oclattn_heads_desc", plan, error));
    return heads_resolve(context, kind, desc, plan, error);
}

static oclattn_status check(oclattn_context *context, plan_kind kind, const oclattn_heads_desc *desc,
                            oclattn_error *error) {
    oclattn_plan *plan = NULL;
    const oclattn_status status = resolve(context, kind, desc, &plan, error);
    oclattn_plan_destroy(plan);
    return status;
}

static oclattn_status enqueue(const entry_call *call, oclattn_error *error) {
    launch_list list;
    RETURN_IF_ERROR(entry_begin(call, &list, error));
    return entry_end(call, &list, heads_launch(call->plan, &list, call->args, error), error);
}

oclattn_status oclattn_split_check(oclattn_context *context, const oclattn_heads_desc *desc, oclattn_error *error) {
    return check(context, PLAN_SPLIT, desc, error);
}

oclattn_status oclattn_split_plan(oclattn_context *context, const oclattn_heads_desc *desc, oclattn_plan **plan,
                                  oclattn_error *error) {
    return entry_compile(resolve(context, PLAN_SPLIT, desc, plan, error), plan, error);
}

oclattn_status oclattn_split_enqueue(const oclattn_plan *plan, cl_command_queue queue, const oclattn_heads_args *args,
                                     cl_uint wait_count, const cl_event *wait_list, cl_event *event,
                                     oclattn_error *error) {
    const entry_call call = {plan,  PLAN_SPLIT, args,      sizeof(*args), "oclattn_heads_args",
                             queue, wait_count, wait_list, event};
    return enqueue(&call, error);
}

oclattn_status oclattn_merge_check(oclattn_context *context, const oclattn_heads_desc *desc, oclattn_error *error) {
    return check(context, PLAN_MERGE, desc, error);
}

oclattn_status oclattn_merge_plan(oclattn_context *context, const oclattn_heads_desc *desc, oclattn_plan **plan,
                                  oclattn_error *error) {
    return entry_compile(resolve(context, PLAN_MERGE, desc, plan, error), plan, error);
}

oclattn_status oclattn_merge_enqueue(const oclattn_plan *plan, cl_command_queue queue, const oclattn_heads_args *args,
                                     cl_uint wait_count, const cl_event *wait_list, cl_event *event,
                                     oclattn_error *error) {
    const entry_call call = {plan,  PLAN_MERGE, args,      sizeof(*args), "oclattn_heads_args",
                             queue, wait_count, wait_list, event};
    return enqueue(&call, error);
}
