#include "entry.h"

void oclattn_merge_states_desc_init(oclattn_merge_states_desc *desc) {
    *desc = (oclattn_merge_states_desc){.struct_size = sizeof(*desc)};
}

void oclattn_merge_states_args_init(oclattn_merge_states_args *args) {
    *args = (oclattn_merge_states_args){.struct_size = sizeof(*args)};
}

static oclattn_status resolve(oclattn_context *context, const oclattn_merge_states_desc *desc, oclattn_plan **plan,
                              oclattn_error *error) {
    RETURN_IF_ERROR(entry_plan(context, desc, sizeof(*desc), "oclattn_merge_states_desc", plan, error));
    return merge_states_resolve(context, desc, plan, error);
}

oclattn_status oclattn_merge_states_check(oclattn_context *context, const oclattn_merge_states_desc *desc,
                                          oclattn_error *error) {
    oclattn_plan *plan = NULL;
    const oclattn_status status = resolve(context, desc, &plan, error);
    oclattn_plan_destroy(plan);
    return status;
}

oclattn_status oclattn_merge_states_plan(oclattn_context *context, const oclattn_merge_states_desc *desc,
                                         oclattn_plan **plan, oclattn_error *error) {
    return entry_compile(resolve(context, desc, plan, error), plan, error);
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
