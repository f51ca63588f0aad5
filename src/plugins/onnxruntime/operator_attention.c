/* ONNX's Attention, versions 23 to 25. */
#include "common.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, NONPAD_KV_SEQLEN };
enum { Y, PRESENT_KEY, PRESENT_VALUE, QK };

static const char *const input_names[] = {"Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen",
                                          NULL};
static const char *const output_names[] = {"Y", "present_key", "present_value", "qk_matmul_output", NULL};
static const char *const attribute_names[] = {
    "is_causal",         "kv_num_heads",     "q_num_heads",       "scale", "softcap", "qk_matmul_output_mode",
    "softmax_precision", "left_window_size", "right_window_size", NULL};

/* In the order of qk_matmul_output_mode. */
static const oclattn_scores_kind scores_kinds[] = {OCLATTN_SCORES_SCALED, OCLATTN_SCORES_CAPPED, OCLATTN_SCORES_BIASED,
                                                   OCLATTN_PROBABILITIES};

/* softmax_precision is read by nobody: scores, softmax and sums are float32, whatever is asked for. */
static oclattn_status read_options(const attribute_list *attributes, attention_options *options, oclattn_error *error) {
    const int64_t mode = attributes_integer(attributes, "qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3) {
        return refuse(error, OCLATTN_UNSUPPORTED, "qk_matmul_output_mode %lld is not known", (long long)mode);
    }
    options->scores_kind = scores_kinds[mode];
    options->q_heads = attributes_integer(attributes, "q_num_heads", 0);
    options->kv_heads = attributes_integer(attributes, "kv_num_heads", 0);
    options->causal = attributes_integer(attributes, "is_causal", 0) != 0;
    options->has_scale = attributes_have(attributes, "scale");
    options->scale = attributes_number(attributes, "scale", 0.0f);
    options->softcap = attributes_number(attributes, "softcap", 0.0f);
    options->window_left = attributes_integer(attributes, "left_window_size", -1);
    options->window_right = attributes_integer(attributes, "right_window_size", -1);
    if (options->has_scale && options->scale < 0.0f) {
        return refuse(error, OCLATTN_UNSUPPORTED, "scale %g is negative, and its square root is asked for",
                      (double)options->scale);
    }
    return OCLATTN_OK;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

static oclattn_status check_inputs(const attention_problem *problem, oclattn_error *error) {
    const host_tensor *inputs = problem->inputs;
    const attention_node *node = problem->node;
    if (inputs[Q].rank == 3 && (node->options.q_heads <= 0 || node->options.kv_heads <= 0)) {
        return refuse(error, OCLATTN_UNSUPPORTED, "Q has 3 dimensions, but q_num_heads or kv_num_heads is not set");
    }
    for (int i = K; i <= V; ++i) {
        if (inputs[i].rank != 0 && inputs[Q].rank != 0 && inputs[i].rank != inputs[Q].rank) {
            return refuse(error, OCLATTN_UNSUPPORTED, "Q has %zu dimensions and %s has %zu", inputs[Q].rank,
                          inputs[i].name, inputs[i].rank);
        }
    }
    if (tensor_given(&inputs[NONPAD_KV_SEQLEN]) &&
        (tensor_given(&inputs[PAST_KEY]) || node->outputs[PRESENT_KEY] || node->outputs[PRESENT_VALUE])) {
        return refuse(error, OCLATTN_UNSUPPORTED, "nonpad_kv_seqlen is given beside past or present keys");
    }
    return OCLATTN_OK;
}

static oclattn_status size(attention_problem *problem, oclattn_error *error) {
    attention_sizes *sizes = &problem->sizes;
    const host_tensor *inputs = problem->inputs;
    RETURN_IF_ERROR(check_inputs(problem, error));
    RETURN_IF_ERROR(size_rows(&inputs[Q], &sizes->batch, &sizes->q_heads, &sizes->q_len, &sizes->head_dim, error));
    RETURN_IF_ERROR(size_rows(&inputs[K], &sizes->batch, &sizes->kv_heads, &sizes->new_len, &sizes->head_dim, error));
    RETURN_IF_ERROR(size_rows(&inputs[V], &sizes->batch, &sizes->kv_heads, &sizes->new_len, &sizes->v_dim, error));
    RETURN_IF_ERROR(
        size_past(&inputs[PAST_KEY], &inputs[PAST_VALUE], &inputs[K], &inputs[V], sizes, &sizes->past_len, error));
    RETURN_IF_ERROR(agree(&sizes->batch, "batch", &inputs[NONPAD_KV_SEQLEN], 0, error));
    if (sizes->past_len >= 0 && sizes->new_len >= 0) {
        sizes->kv_len = sizes->past_len + sizes->new_len;
    }
    return check_broadcast(&inputs[MASK], sizes, true, error);
}

/* ---- description ------------------------------------------------------------------------------------------------ */

static bool needs_positions(const attention_node *node) {
    return node->options.causal || node->options.window_left >= 0 || node->options.window_right >= 0;
}

/* Keys before the first query: those of the past, or nonpad_kv_seqlen - q_len; none otherwise. */
static void describe_positions(attention_problem *problem) {
    const bool offsets = tensor_given(&problem->inputs[PAST_KEY]) || tensor_given(&problem->inputs[NONPAD_KV_SEQLEN]);
    if (needs_positions(problem->node)) {
        problem->desc.score.align = offsets ? OCLATTN_ALIGN_OFFSET : OCLATTN_ALIGN_TOP_LEFT;
    }
}

static oclattn_status describe_mask(attention_problem *problem, oclattn_error *error) {
    const host_tensor *mask = &problem->inputs[MASK];
    oclattn_score_options *score = &problem->desc.score;
    const int64_t length = mask->rank > 0 ? mask->dims[mask->rank - 1] : -1;
    const int64_t shorter = length < problem->sizes.kv_len ? length : -1;
    if (!tensor_given(mask)) {
        return OCLATTN_OK;
    }
    if (mask->element == ORT_BOOL) {
        score->flags |= OCLATTN_MASK;
        score->mask_kv_len = shorter;
        return OCLATTN_OK;
    }
    score->flags |= OCLATTN_BIAS;
    score->bias_kv_len = shorter;
    return tensor_float_type(mask, &score->bias_type, error);
}

static oclattn_status describe(attention_problem *problem, oclattn_error *error) {
    const host_tensor *inputs = problem->inputs;
    RETURN_IF_ERROR(describe_types(problem, &inputs[Q], &inputs[K], &inputs[V], error));
    describe_options(problem);
    describe_positions(problem);
    if (tensor_given(&inputs[NONPAD_KV_SEQLEN])) {
        RETURN_IF_ERROR(tensor_expect(&inputs[NONPAD_KV_SEQLEN], ORT_INT64, "int64", error));
        problem->desc.score.flags |= OCLATTN_KV_LENS;
    }
    problem->desc.scores_kind = problem->node->outputs[QK] ? problem->node->options.scores_kind : OCLATTN_SCORES_NONE;
    return describe_mask(problem, error);
}

/* ---- binding ---------------------------------------------------------------------------------------------------- */

static oclattn_status bind_lengths(attention_call *call, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const int64_t *lengths = call->problem.inputs[NONPAD_KV_SEQLEN].data;
    operand_place unused;
    const bool offset = call->problem.desc.score.align == OCLATTN_ALIGN_OFFSET;
    int32_t *kv_lens = NULL, *offsets = NULL;
    RETURN_IF_ERROR(bind_integers(call, SCRATCH_KV_LENS, sizes->batch,
                                  lengths != NULL ? &call->operands[OPERAND_KV_LENS] : &unused, &kv_lens, error));
    RETURN_IF_ERROR(bind_integers(call, SCRATCH_OFFSETS, sizes->batch,
                                  offset ? &call->operands[OPERAND_OFFSETS] : &unused, &offsets, error));
    for (int64_t b = 0; b < sizes->batch; ++b) {
        const int64_t length = lengths != NULL ? lengths[b] : sizes->kv_len;
        kv_lens[b] = (int32_t)(length < 0 ? 0 : length > sizes->kv_len ? sizes->kv_len : length);
        offsets[b] = (int32_t)(lengths != NULL ? kv_lens[b] - sizes->q_len : sizes->past_len);
    }
    return OCLATTN_OK;
}

static void bind_mask(attention_call *call) {
    const host_tensor *mask = &call->problem.inputs[MASK];
    if (tensor_given(mask)) {
        call->operands[mask->element == ORT_BOOL ? OPERAND_MASK : OPERAND_BIAS] = operand_broadcast(mask);
    }
}

static oclattn_status bind_scores(attention_call *call, oclattn_error *error) {
    const attention_problem *problem = &call->problem;
    const attention_sizes *sizes = &problem->sizes;
    const int64_t dims[] = {sizes->batch, sizes->q_heads, sizes->q_len, sizes->kv_len};
    operand_place *operand = &call->operands[OPERAND_SCORES];
    if (!problem->node->outputs[QK]) {
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(
        tensor_output(call->host, call->context, problem->node->output_at[QK], dims, 4, &operand->memory, error));
    operand->bytes = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]) * sizeof(float);
    set_strides(operand, 4, sizes->q_heads, sizes->q_len, sizes->kv_len);
    if (problem->inputs[Q].element != ORT_FLOAT) {
        call->scores_output = operand->memory;
        return lane_scratch(call->lane, SCRATCH_SCORES, operand->bytes, &operand->memory, error);
    }
    return OCLATTN_OK;
}

static kv_part part_of(const attention_call *call, int fresh, int64_t width) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    kv_part part = {.role = fresh == K ? OPERAND_K : OPERAND_V,
                    .fresh = operand_of(&inputs[fresh]),
                    .element = inputs[fresh].element,
                    .width = width,
                    .past = &inputs[fresh == K ? PAST_KEY : PAST_VALUE],
                    .past_capacity = sizes->past_len,
                    .past_rows = call->lane->scratch[SCRATCH_OFFSETS].memory,
                    .present = fresh == K ? PRESENT_KEY : PRESENT_VALUE,
                    .capacity = sizes->kv_len,
                    .scratch = fresh == K ? SCRATCH_KEYS : SCRATCH_VALUES};
    set_strides(&part.fresh, inputs[fresh].rank, sizes->kv_heads, sizes->new_len, width);
    return part;
}

static oclattn_status bind(attention_call *call, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *q = &call->problem.inputs[Q];
    call->operands[OPERAND_Q] = operand_of(q);
    set_strides(&call->operands[OPERAND_Q], q->rank, sizes->q_heads, sizes->q_len, sizes->head_dim);
    bind_mask(call);
    RETURN_IF_ERROR(bind_lengths(call, error));
    const kv_part keys = part_of(call, K, sizes->head_dim), values = part_of(call, V, sizes->v_dim);
    RETURN_IF_ERROR(bind_kv(call, &keys, error));
    RETURN_IF_ERROR(bind_kv(call, &values, error));
    RETURN_IF_ERROR(bind_output(call, Y, q->rank, q->element, error));
    return bind_scores(call, error);
}

const attention_operator operator_attention = {.domain = "",
                                               .type = "Attention",
                                               .oldest = 23,
                                               .newest = 25,
                                               .inputs = input_names,
                                               .outputs = output_names,
                                               .attributes = attribute_names,
                                               .options = read_options,
                                               .size = size,
                                               .describe = describe,
                                               .bind = bind};
