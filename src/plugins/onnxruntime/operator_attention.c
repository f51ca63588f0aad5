/* ONNX's Attention, versions 23 to 25. */
#include <math.h>

#include "cache.h"

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

/* float32 is what the softmax is computed in; less is asked for by ORT_FLOAT16 and ORT_BFLOAT16. */
static oclattn_status check_precision(const attribute_list *attributes, oclattn_error *error) {
    const int64_t precision = attributes_integer(attributes, "softmax_precision", ORT_FLOAT);
    if (precision == ORT_FLOAT || precision == ORT_FLOAT16 || precision == ORT_BFLOAT16) {
        return OCLATTN_OK;
    }
    return refuse(error, OCLATTN_UNSUPPORTED, "softmax_precision %lld is more than float32", (long long)precision);
}

static oclattn_status read_options(const attribute_list *attributes, attention_options *options, oclattn_error *error) {
    RETURN_IF_ERROR(check_precision(attributes, error));
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
    const bool past = tensor_given(&inputs[PAST_KEY]);
    if (past != tensor_given(&inputs[PAST_VALUE])) {
        return refuse(error, OCLATTN_UNSUPPORTED, "past_key and past_value are not given together");
    }
    if (past && tensor_given(&inputs[NONPAD_KV_SEQLEN])) {
        return refuse(error, OCLATTN_UNSUPPORTED, "nonpad_kv_seqlen is given beside past_key");
    }
    if (past && (inputs[PAST_KEY].element != inputs[K].element || inputs[PAST_VALUE].element != inputs[V].element)) {
        return refuse(error, OCLATTN_UNSUPPORTED, "past_key or past_value has another type than K or V");
    }
    if (inputs[Q].rank == 3 && (problem->node->options.q_heads <= 0 || problem->node->options.kv_heads <= 0)) {
        return refuse(error, OCLATTN_UNSUPPORTED, "Q has 3 dimensions, but q_num_heads or kv_num_heads is not set");
    }
    for (int i = K; i <= V; ++i) {
        if (inputs[i].rank != 0 && inputs[Q].rank != 0 && inputs[i].rank != inputs[Q].rank) {
            return refuse(error, OCLATTN_UNSUPPORTED, "Q has %zu dimensions and %s has %zu", inputs[Q].rank,
                          inputs[i].name, inputs[i].rank);
        }
    }
    return OCLATTN_OK;
}

static oclattn_status size_past(attention_problem *problem, oclattn_error *error) {
    attention_sizes *sizes = &problem->sizes;
    const host_tensor *inputs = problem->inputs;
    if (!tensor_given(&inputs[PAST_KEY])) {
        sizes->past_len = 0;
    }
    RETURN_IF_ERROR(
        size_rows(&inputs[PAST_KEY], &sizes->batch, &sizes->kv_heads, &sizes->past_len, &sizes->head_dim, error));
    RETURN_IF_ERROR(
        size_rows(&inputs[PAST_VALUE], &sizes->batch, &sizes->kv_heads, &sizes->past_len, &sizes->v_dim, error));
    if (sizes->past_len >= 0 && sizes->new_len >= 0) {
        sizes->kv_len = sizes->past_len + sizes->new_len;
    }
    return OCLATTN_OK;
}

/* The mask broadcasts over all dimensions but the last, which may be shorter than the keys. */
static oclattn_status check_mask(const attention_problem *problem, oclattn_error *error) {
    const host_tensor *mask = &problem->inputs[MASK];
    const attention_sizes *sizes = &problem->sizes;
    const int64_t wanted[4] = {sizes->batch, sizes->q_heads, sizes->q_len, sizes->kv_len};
    if (mask->rank > 4) {
        return refuse(error, OCLATTN_UNSUPPORTED, "attn_mask has %zu dimensions", mask->rank);
    }
    for (size_t i = 0; i < mask->rank; ++i) {
        const size_t at = 4 - mask->rank + i;
        const int64_t size = mask->dims[i];
        const bool fits =
            size < 0 || wanted[at] < 0 || size == wanted[at] || (at < 3 && size == 1) || (at == 3 && size < wanted[at]);
        if (!fits) {
            return refuse(error, OCLATTN_INVALID_ARGUMENT, "dimension %zu of attn_mask is %lld; %lld is needed", i,
                          (long long)size, (long long)wanted[at]);
        }
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
    RETURN_IF_ERROR(size_past(problem, error));
    RETURN_IF_ERROR(agree(&sizes->batch, "batch", &inputs[NONPAD_KV_SEQLEN], 0, error));
    return check_mask(problem, error);
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
    int32_t *kv_lens = NULL, *offsets = NULL, *past_rows = NULL;
    const size_t bytes = (size_t)sizes->batch * sizeof(int32_t);
    RETURN_IF_ERROR(lane_scratch(call->lane, SCRATCH_KV_LENS, bytes, (void **)&kv_lens, error));
    RETURN_IF_ERROR(lane_scratch(call->lane, SCRATCH_OFFSETS, bytes, (void **)&offsets, error));
    RETURN_IF_ERROR(lane_scratch(call->lane, SCRATCH_PAST_ROWS, bytes, (void **)&past_rows, error));
    for (int64_t b = 0; b < sizes->batch; ++b) {
        const int64_t length = lengths != NULL ? lengths[b] : sizes->kv_len;
        kv_lens[b] = (int32_t)(length < 0 ? 0 : length > sizes->kv_len ? sizes->kv_len : length);
        past_rows[b] = (int32_t)sizes->past_len;
        offsets[b] = (int32_t)(lengths != NULL ? kv_lens[b] - sizes->q_len : sizes->past_len);
    }
    if (call->problem.desc.score.flags & OCLATTN_KV_LENS) {
        call->operands[OPERAND_KV_LENS] = (operand_place){.memory = kv_lens, .bytes = bytes};
    }
    if (call->problem.desc.score.align == OCLATTN_ALIGN_OFFSET) {
        call->operands[OPERAND_OFFSETS] = (operand_place){.memory = offsets, .bytes = bytes};
    }
    return OCLATTN_OK;
}

static void bind_mask(attention_call *call) {
    const host_tensor *mask = &call->problem.inputs[MASK];
    operand_place *operand = &call->operands[mask->element == ORT_BOOL ? OPERAND_MASK : OPERAND_BIAS];
    int64_t stride = 1;
    if (!tensor_given(mask)) {
        return;
    }
    *operand = operand_of(mask);
    for (size_t i = 0; i < mask->rank; ++i) {
        const size_t at = mask->rank - 1 - i; /* from the last dimension on */
        operand->strides[3 - i] = mask->dims[at] == 1 && i > 0 ? 0 : stride;
        stride *= mask->dims[at];
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

/* Which tensors make up the keys, or the values. */
typedef struct kv_role {
    int fresh, past, present;
    scratch_slot scratch;
    operand_role operand;
} kv_role;

static const kv_role key_role = {K, PAST_KEY, PRESENT_KEY, SCRATCH_KEYS, OPERAND_K};
static const kv_role value_role = {V, PAST_VALUE, PRESENT_VALUE, SCRATCH_VALUES, OPERAND_V};

static cache_append append_of(const attention_call *call, const kv_role *role, const operand_place *fresh,
                              int64_t width, void *present) {
    const attention_sizes *sizes = &call->problem.sizes;
    const int64_t bytes = (int64_t)element_bytes(call->problem.inputs[role->fresh].element);
    return (cache_append){
        .batch = sizes->batch,
        .heads = sizes->kv_heads,
        .row_bytes = (size_t)(width * bytes),
        .past = call->problem.inputs[role->past].data,
        .past_capacity = sizes->past_len,
        .past_rows = call->lane->scratch[SCRATCH_PAST_ROWS].memory,
        .fresh = fresh->memory,
        .fresh_rows = sizes->new_len,
        .fresh_strides = {fresh->strides[0] * bytes, fresh->strides[1] * bytes, fresh->strides[2] * bytes},
        .present = present,
        .capacity = sizes->kv_len,
    };
}

/* The output that holds all of them, or scratch memory where there are past ones that nobody asks for. */
static oclattn_status make_present(attention_call *call, const kv_role *role, const int64_t dims[4], size_t bytes,
                                   void **present, oclattn_error *error) {
    const attention_node *node = call->problem.node;
    if (node->outputs[role->present]) {
        return tensor_output(call->host, call->context, node->output_at[role->present], dims, 4, present, error);
    }
    return lane_scratch(call->lane, role->scratch, bytes, present, error);
}

static oclattn_status bind_kv(attention_call *call, const kv_role *role, int64_t width, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *fresh = &call->problem.inputs[role->fresh];
    const int64_t dims[] = {sizes->batch, sizes->kv_heads, sizes->kv_len, width};
    operand_place *operand = &call->operands[role->operand];
    void *present = NULL;
    *operand = operand_of(fresh);
    set_strides(operand, fresh->rank, sizes->kv_heads, sizes->new_len, width);
    const bool past = sizes->past_len > 0;
    if (!past && !call->problem.node->outputs[role->present]) {
        return OCLATTN_OK;
    }
    const size_t bytes = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]) * element_bytes(fresh->element);
    RETURN_IF_ERROR(make_present(call, role, dims, bytes, &present, error));
    const cache_append append = append_of(call, role, operand, width, present);
    cache_append_run(&append);
    operand->memory = present;
    operand->bytes = bytes;
    set_strides(operand, 4, sizes->kv_heads, sizes->kv_len, width);
    return OCLATTN_OK;
}

static oclattn_status bind_output(attention_call *call, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const size_t rank = call->problem.inputs[Q].rank;
    const int64_t as_rows[] = {sizes->batch, sizes->q_len, sizes->q_heads * sizes->v_dim};
    const int64_t as_heads[] = {sizes->batch, sizes->q_heads, sizes->q_len, sizes->v_dim};
    operand_place *operand = &call->operands[OPERAND_O];
    operand->bytes = (size_t)(as_rows[0] * as_rows[1] * as_rows[2]) * element_bytes(call->problem.inputs[Q].element);
    set_strides(operand, rank, sizes->q_heads, sizes->q_len, sizes->v_dim);
    return tensor_output(call->host, call->context, call->problem.node->output_at[Y], rank == 3 ? as_rows : as_heads,
                         rank, &operand->memory, error);
}

static oclattn_status bind(attention_call *call, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *q = &call->problem.inputs[Q];
    call->operands[OPERAND_Q] = operand_of(q);
    set_strides(&call->operands[OPERAND_Q], q->rank, sizes->q_heads, sizes->q_len, sizes->head_dim);
    bind_mask(call);
    RETURN_IF_ERROR(bind_lengths(call, error));
    RETURN_IF_ERROR(bind_kv(call, &key_role, sizes->head_dim, error));
    RETURN_IF_ERROR(bind_kv(call, &value_role, sizes->v_dim, error));
    RETURN_IF_ERROR(bind_output(call, error));
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
