#include "compute.h"

#include "convert.h"
#include "run.h"

static const attention_sizes unknown_sizes = {-1, -1, -1, -1, -1, -1, -1, -1, -1};

static oclattn_status describe(attention_problem *problem, oclattn_error *error) {
    const attention_options *options = &problem->node->options;
    problem->sizes = unknown_sizes;
    problem->sizes.q_heads = options->q_heads > 0 ? options->q_heads : -1;
    problem->sizes.kv_heads = options->kv_heads > 0 ? options->kv_heads : -1;
    oclattn_attention_desc_init(&problem->desc);
    RETURN_IF_ERROR(problem->node->operator->size(problem, error));
    return problem->node->operator->describe(problem, error);
}

static void set_sizes(attention_problem *problem) {
    const attention_sizes *sizes = &problem->sizes;
    oclattn_attention_desc *desc = &problem->desc;
    desc->batch = sizes->batch;
    desc->q_heads = sizes->q_heads;
    desc->kv_heads = sizes->kv_heads;
    desc->q_len = sizes->q_len;
    desc->kv_len = sizes->kv_len;
    desc->head_dim = sizes->head_dim;
    desc->v_dim = sizes->v_dim;
}

static bool is_complete(const attention_sizes *sizes) {
    return sizes->batch >= 0 && sizes->q_heads >= 0 && sizes->kv_heads >= 0 && sizes->q_len >= 0 &&
           sizes->kv_len >= 0 && sizes->head_dim >= 0 && sizes->v_dim >= 0;
}

/* ---- claiming --------------------------------------------------------------------------------------------------- */

static int64_t known_or(int64_t size, int64_t otherwise) {
    return size >= 0 ? size : otherwise;
}

/* Sizes that the graph leaves open may become anything: the check goes by ordinary ones. */
static void assume_sizes(attention_sizes *sizes) {
    sizes->batch = known_or(sizes->batch, 1);
    sizes->kv_heads = known_or(sizes->kv_heads, known_or(sizes->q_heads, 1));
    sizes->q_heads = known_or(sizes->q_heads, sizes->kv_heads);
    sizes->q_len = known_or(sizes->q_len, 1);
    sizes->kv_len = known_or(sizes->kv_len, sizes->q_len);
    sizes->head_dim = known_or(sizes->head_dim, known_or(sizes->v_dim, 64));
    sizes->v_dim = known_or(sizes->v_dim, sizes->head_dim);
}

/* A length that is left open counts as long. */
static oclattn_status check_worth(const ep_provider *provider, const attention_sizes *sizes, oclattn_error *error) {
    if (sizes->q_len < 0 || sizes->kv_len < 0) {
        return OCLATTN_OK;
    }
    const int64_t scores = known_or(sizes->batch, 1) * known_or(sizes->q_heads, 1) * sizes->q_len * sizes->kv_len;
    if (scores >= provider->options.min_size) {
        return OCLATTN_OK;
    }
    return refuse(error, OCLATTN_UNSUPPORTED, "it has %lld scores, fewer than the option min_size, %lld",
                  (long long)scores, (long long)provider->options.min_size);
}

static oclattn_status describe_declared(const attention_node *node, attention_problem *problem, oclattn_error *error) {
    *problem = (attention_problem){.node = node};
    for (int i = 0; i < MOST_INPUTS; ++i) {
        problem->inputs[i] = node->inputs[i];
    }
    return describe(problem, error);
}

oclattn_status claim_node(const ep_provider *provider, const attention_node *node, oclattn_error *error) {
    attention_problem problem;
    RETURN_IF_ERROR(describe_declared(node, &problem, error));
    RETURN_IF_ERROR(check_worth(provider, &problem.sizes, error));
    assume_sizes(&problem.sizes);
    set_sizes(&problem);
    return oclattn_attention_check(provider->context, &problem.desc, error);
}

oclattn_status plan_node(ep_provider *provider, const attention_node *node, oclattn_error *error) {
    attention_problem problem;
    const oclattn_plan *plan = NULL;
    RETURN_IF_ERROR(describe_declared(node, &problem, error));
    if (!is_complete(&problem.sizes)) {
        return OCLATTN_OK;
    }
    set_sizes(&problem);
    return plans_find(&provider->plans, &problem.desc, &plan, error);
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

static oclattn_status read_inputs(attention_call *call, oclattn_error *error) {
    const attention_node *node = call->problem.node;
    for (int i = 0; i < MOST_INPUTS; ++i) {
        const host_tensor *declared = &node->inputs[i];
        host_tensor *input = &call->problem.inputs[i];
        input->name = declared->name;
        if (!tensor_given(declared)) {
            continue;
        }
        RETURN_IF_ERROR(tensor_input(call->host, call->context, node->input_at[i], declared->name, input, error));
    }
    return OCLATTN_OK;
}

static void convert_scores(const attention_call *call) {
    const operand_place *scores = &call->operands[OPERAND_SCORES];
    const int64_t count = (int64_t)(scores->bytes / sizeof(float));
    for (int64_t i = 0; call->scores_output != NULL && i < count; ++i) {
        store_float(call->scores_output, call->problem.inputs[0].element, i, ((const float *)scores->memory)[i]);
    }
}

static oclattn_status compute(ep_provider *provider, attention_call *call, oclattn_error *error) {
    const oclattn_plan *plan = NULL;
    RETURN_IF_ERROR(read_inputs(call, error));
    RETURN_IF_ERROR(describe(&call->problem, error));
    if (!is_complete(&call->problem.sizes)) {
        return refuse(error, OCLATTN_INVALID_ARGUMENT, "%s or another input has no dimensions",
                      call->problem.inputs[0].name);
    }
    set_sizes(&call->problem);
    RETURN_IF_ERROR(plans_find(&provider->plans, &call->problem.desc, &plan, error));
    RETURN_IF_ERROR(call->problem.node->operator->bind(call, error));
    RETURN_IF_ERROR(run_attention(call, plan, &provider->access, error));
    convert_scores(call);
    return OCLATTN_OK;
}

oclattn_status compute_node(ep_provider *provider, const attention_node *node, ort_context *context,
                            oclattn_error *error) {
    attention_call call = {.problem = {.node = node}, .host = &provider->host, .context = context};
    RETURN_IF_ERROR(lanes_take(&provider->lanes, &call.lane, error));
    const oclattn_status status = compute(provider, &call, error);
    lanes_give_back(&provider->lanes, call.lane, status != OCLATTN_OK);
    return status;
}
