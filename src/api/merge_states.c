#include "entry.h"

void oclattn_merge_states_desc_init(oclattn_merge_states_desc *desc) {
    *desc = (oclattn_merge_states_desc){.struct_size = sizeof(*desc)};
}

void oclattn_merge_states_args_init(oclattn_merge_states_args *args) {
    *args = (oclattn_merge_states_args){.struct_size = sizeof(*args)};
}

static oclattn_status begin_plan(const oclattn_context *context, const oclattn_merge_states_desc *desc,
                                 oclattn_error *error) {
    return entry_plan(context, desc, sizeof(*desc), "oclattn_merge_states_desc", error);
}

oclattn_status oclattn_merge_states_check(oclattn_context *context, const oclattn_merge_states_desc *desc,
                                          oclattn_error *error) {
    RETURN_IF_ERROR(begin_plan(context, desc, error));
    return merge_states_plan_make(context, desc, NULL, error);
}

oclattn_status oclattn_merge_states_plan(oclattn_context *context, const oclattn_merge_states_desc *desc,
                                         oclattn_plan **plan, oclattn_error *error) {
    RETURN_IF_ERROR(entry_result(plan, error));
    RETURN_IF_ERROR(begin_plan(context, desc, error));
    return merge_states_plan_make(context, desc, plan, error);
}

oclattn_status oclattn_merge_states_enqueue(const oclattn_plan *plan, cl_command_queue queue,
                                            const oclattn_merge_states_args *args, cl_uint wait_count,
                                            const cl_event *wait_list, cl_event *event, oclattn_error *error) {
    const entry_call call = {plan,  PLAN_MERGE_STATES, args,      sizeof(*args), "oclattn_merge_states_args",
                             queue, wait_count,        wait_list, event};
    launch_list list;
    RETURN_IF_ERROR(entry_begin(&call, &list, error));
    return entry_end(&call, &list, merge_states_launch(plan, &list, args, error), error);
}
