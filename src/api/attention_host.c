#include "../plan/params.h"
#include "entry.h"
#include "host_buffers.h"

void oclattn_attention_host_args_init(oclattn_attention_host_args *args) {
    *args = (oclattn_attention_host_args){.struct_size = sizeof(*args)};
}

static oclattn_status add_buffers(host_buffers *buffers, const oclattn_plan *plan,
                                  const oclattn_attention_host_args *host, oclattn_attention_args *args,
                                  oclattn_error *error) {
    const tensor_spec *specs = attention_specs(plan);
    RETURN_IF_ERROR(host_buffers_add(buffers, &specs[ATTENTION_Q], host->q, &args->q, error));
    RETURN_IF_ERROR(host_buffers_add(buffers, &specs[ATTENTION_K], host->k, &args->k, error));
    RETURN_IF_ERROR(host_buffers_add(buffers, &specs[ATTENTION_V], host->v, &args->v, error));
    RETURN_IF_ERROR(host_buffers_add(buffers, &specs[ATTENTION_O], host->o, &args->o, error));
    RETURN_IF_ERROR(host_buffers_add(buffers, &specs[ATTENTION_LSE], host->lse, &args->lse, error));
    RETURN_IF_ERROR(host_buffers_add(buffers, &specs[ATTENTION_SCORES], host->scores, &args->scores, error));
    RETURN_IF_ERROR(host_buffers_add_score(buffers, specs, &host->score, &args->score, error));
    RETURN_IF_ERROR(host_buffers_add_workspace(buffers, oclattn_plan_workspace_bytes(plan), error));
    args->workspace = buffers->workspace;
    return OCLATTN_OK;
}

static oclattn_status run(host_buffers *buffers, const oclattn_plan *plan, const oclattn_attention_host_args *host,
                          oclattn_error *error) {
    oclattn_attention_args args;
    oclattn_attention_args_init(&args);
    RETURN_IF_ERROR(add_buffers(buffers, plan, host, &args, error));
    RETURN_IF_ERROR(oclattn_attention_enqueue(plan, buffers->queue, &args, 0, NULL, NULL, error));
    return host_buffers_finish(buffers, error);
}

oclattn_status oclattn_attention_host(oclattn_context *context, const oclattn_attention_desc *desc,
                                      const oclattn_attention_host_args *args, oclattn_error *error) {
    oclattn_plan *plan = NULL;
    host_buffers buffers;
    RETURN_IF_ERROR(struct_check(args, sizeof(*args), "oclattn_attention_host_args", error));
    RETURN_IF_ERROR(oclattn_attention_plan(context, desc, &plan, error));
    oclattn_status status = host_buffers_open(&buffers, context, error);
    if (status == OCLATTN_OK) {
        status = run(&buffers, plan, args, error);
    }
    host_buffers_close(&buffers);
    oclattn_plan_destroy(plan);
    return status;
}
