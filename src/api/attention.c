#include "entry.h"
#include "score_options.h"

static void set_auto(int64_t *strides, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        strides[i] = OCLATTN_STRIDE_AUTO;
    }
}

void score_options_init(oclattn_score_options *options) {
    *options = (oclattn_score_options){.flags = OCLATTN_DEFAULT_SCALE,
                                       .window_left = -1,
                                       .window_right = -1,
                                       .bias_type = OCLATTN_F32,
                                       .mask_kv_len = -1,
                                       .bias_kv_len = -1};
    set_auto(options->mask_strides, 4);
    set_auto(options->bias_strides, 4);
}

void oclattn_attention_desc_init(oclattn_attention_desc *desc) {
    *desc = (oclattn_attention_desc){.struct_size = sizeof(*desc),
                                     .q_type = OCLATTN_F32,
                                     .k_type = OCLATTN_F32,
                                     .v_type = OCLATTN_F32,
                                     .o_type = OCLATTN_F32};
    set_auto(desc->q_strides, 3);
    set_auto(desc->k_strides, 3);
    set_auto(desc->v_strides, 3);
    set_auto(desc->o_strides, 3);
    set_auto(desc->lse_strides, 3);
    set_auto(desc->scores_strides, 3);
    score_options_init(&desc->score);
}

void oclattn_attention_args_init(oclattn_attention_args *args) {
    *args = (oclattn_attention_args){.struct_size = sizeof(*args), .q_len = -1, .kv_len = -1};
}

static oclattn_status resolve(oclattn_context *context, const oclattn_attention_desc *desc, oclattn_plan **plan,
                              oclattn_error *error) {
    RETURN_IF_ERROR(entry_plan(context, desc, sizeof(*desc), "oclattn_attention_desc", plan, error));
    return attention_resolve(context, desc, plan, error);
}

oclattn_status oclattn_attention_check(oclattn_context *context, const oclattn_attention_desc *desc,
                                       oclattn_error *error) {
    oclattn_plan *plan = NULL;
    const oclattn_status status = resolve(context, desc, &plan, error);
    oclattn_plan_destroy(plan);
    return status;
}

oclattn_status oclattn_attention_plan(oclattn_context *context, const oclattn_attention_desc *desc, oclattn_plan **plan,
                                      oclattn_error *error) {
    return entry_compile(resolve(context, desc, plan, error), plan, error);
}

oclattn_status oclattn_attention_enqueue(const oclattn_plan *plan, cl_command_queue queue,
                                         const oclattn_attention_args *args, cl_uint wait_count,
                                         const cl_event *wait_list, cl_event *event, oclattn_error *error) {
    const entry_call call = {plan,  PLAN_ATTENTION, args,      sizeof(*args), "oclattn_attention_args",
                             queue, wait_count,     wait_list, event};
    launch_list list;
    RETURN_IF_ERROR(entry_begin(&call, &list, error));
    RETURN_IF_ERROR(workspace_check(plan, args->workspace, error));
    return entry_end(&call, &list, attention_launch(plan, &list, args, 0, error), error);
}
