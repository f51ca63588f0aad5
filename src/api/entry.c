#include "entry.h"

oclattn_status entry_plan(const oclattn_context *context, const void *desc, size_t desc_size, const char *desc_name,
                          oclattn_plan **plan, oclattn_error *error) {
    if (plan == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "plan is NULL: there is no place for the result");
    }
    *plan = NULL;
    if (context == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "context is NULL");
    }
    RETURN_IF_ERROR(struct_check(desc, desc_size, desc_name, error));
    return context_check_process(context, error);
}

oclattn_status entry_compile(oclattn_status resolved, oclattn_plan **plan, oclattn_error *error) {
    RETURN_IF_ERROR(resolved);
    const oclattn_status status = plan_compile(*plan, error);
    if (status != OCLATTN_OK) {
        oclattn_plan_destroy(*plan);
        *plan = NULL;
    }
    return status;
}

oclattn_status entry_begin(const entry_call *call, launch_list *list, oclattn_error *error) {
    RETURN_IF_ERROR(plan_check(call->plan, call->kind, error));
    RETURN_IF_ERROR(struct_check(call->args, call->args_size, call->args_name, error));
    return launch_begin(list, call->plan->context, call->queue, call->wait_count, call->wait_list, call->event != NULL,
                        error);
}

oclattn_status entry_end(const entry_call *call, launch_list *list, oclattn_status status, oclattn_error *error) {
    if (status != OCLATTN_OK) {
        launch_abandon(list);
        return status;
    }
    return launch_end(list, call->event, error);
}
