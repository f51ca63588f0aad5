#include "entry.h"
#include "host_buffers.h"

void oclattn_mha_host_args_init(oclattn_mha_host_args *args) {
    *args = (oclattn_mha_host_args){.struct_size = sizeof(*args)};
}

static oclattn_status add_weights(host_buffers *buffers, const mha_specs *specs, const oclattn_mha_host_args *host,
                                  oclattn_mha_weights_args *weights, oclattn_error *error) {
    const void *const w_memory[4] = {host->w_q, host->w_k, host->w_v, host->w_head};
    const void *const b_memory[4] = {host->b_q, host->b_k, host->b_v, host->b_head};
    oclattn_tensor *const w[4] = {&weights->w_q, &weights->w_k, &weights->w_v, &weights->w_head};
    oclattn_tensor *const b[4] = {&weights->b_q, &weights->b_k, &weights->b_v, &weights->b_head};
    for (int i = 0; i < 4; ++i) {
        RETURN_IF_ERROR(host_buffers_add(buffers, &specs->w[i], w_memory[i], w[i], error));
        RETURN_IF_ERROR(host_buffers_add(buffers, &specs->b[i], b_memory[i], b[i], error));
    }
    return OCLATTN_OK;
}

static oclattn_status add_buffers(host_buffers *buffers, const oclattn_plan *plan, const mha_specs *specs,
                                  const oclattn_mha_host_args *host, oclattn_mha_args *args, oclattn_error *error) {
    RETURN_IF_ERROR(host_buffers_add(buffers, &specs->x, host->x, &args->x, error));
    RETURN_IF_ERROR(host_buffers_add(buffers, &specs->kv, host->kv, &args->kv, error));
    RETURN_IF_ERROR(host_buffers_add(buffers, &specs->y, host->y, &args->y, error));
    RETURN_IF_ERROR(
        host_buffers_add_score(buffers, attention_specs(specs->attention), &host->score, &args->score, error));
    RETURN_IF_ERROR(host_buffers_add_workspace(buffers, oclattn_plan_workspace_bytes(plan), error));
    args->workspace = buffers->workspace;
    return OCLATTN_OK;
}

static oclattn_status run(host_buffers *buffers, const oclattn_plan *plan, const oclattn_mha_host_args *host,
                          oclattn_error *error) {
    mha_specs specs;
    oclattn_mha_args args;
    oclattn_mha_weights_args weights_args;
    oclattn_weights *weights = NULL;
    mha_read_specs(plan, &specs);
    oclattn_mha_args_init(&args);
    oclattn_mha_weights_args_init(&weights_args);
    RETURN_IF_ERROR(add_weights(buffers, &specs, host, &weights_args, error));
    RETURN_IF_ERROR(add_buffers(buffers, plan, &specs, host, &args, error));
    RETURN_IF_ERROR(oclattn_mha_weights(plan, buffers->queue, &weights_args, &weights, error));
    args.weights = weights;
    oclattn_status status = oclattn_mha_enqueue(plan, buffers->queue, &args, 0, NULL, NULL, error);
    if (status == OCLATTN_OK) {
        status = host_buffers_finish(buffers, error);
    }
    oclattn_weights_destroy(weights);
    return status;
}

oclattn_status oclattn_mha_host(oclattn_context *context, const oclattn_mha_desc *desc,
                                const oclattn_mha_host_args *args, oclattn_error *error) {
    oclattn_plan *plan = NULL;
    host_buffers buffers;
    RETURN_IF_ERROR(struct_check(args, sizeof(*args), "oclattn_mha_host_args", error));
    RETURN_IF_ERROR(oclattn_mha_plan(context, desc, &plan, error));
    oclattn_status status = host_buffers_open(&buffers, context, error);
    if (status == OCLATTN_OK) {
        status = run(&buffers, plan, args, error);
    }
    host_buffers_close(&buffers);
    oclattn_plan_destroy(plan);
    return status;
}
