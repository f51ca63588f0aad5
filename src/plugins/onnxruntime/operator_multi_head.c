/* MultiHeadAttention of com.microsoft. */
#include "common.h"
#include "prepare.h"

enum {
    QUERY,
    KEY,
    VALUE,
    BIAS,
    KEY_PADDING_MASK,
    ATTENTION_BIAS,
    PAST_KEY,
    PAST_VALUE,
    PAST_SEQUENCE_LENGTH,
    CACHE_INDIRECTION
};
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, QK };

static const char *const input_names[] = {"query",
                                          "key",
                                          "value",
                                          "bias",
                                          "key_padding_mask",
                                          "attention_bias",
                                          "past_key",
                                          "past_value",
                                          "past_sequence_length",
                                          "cache_indirection",
                                          NULL};
static const char *const output_names[] = {"output", "present_key", "present_value", "qk", NULL};
static const char *const attribute_names[] = {"num_heads", "scale", "unidirectional", "mask_filter_value", NULL};

/* The operator hides padded keys by a large negative number; here, they are hidden. */
static oclattn_status check_filter(const attribute_list *attributes, oclattn_error *error) {
    const float filter = attributes_number(attributes, "mask_filter_value", -10000.0f);
    if (filter <= -1000.0f) {
        return OCLATTN_OK;
    }
    return refuse(error, OCLATTN_UNSUPPORTED, "mask_filter_value %g does not hide keys", (double)filter);
}

static oclattn_status read_options(const attribute_list *attributes, attention_options *options, oclattn_error *error) {
    RETURN_IF_ERROR(check_filter(attributes, error));
    options->q_heads = options->kv_heads = attributes_integer(attributes, "num_heads", 0);
    options->causal = attributes_integer(attributes, "unidirectional", 0) != 0;
    options->scale = attributes_number(attributes, "scale", 0.0f);
    options->has_scale = options->scale != 0.0f;
    if (options->q_heads <= 0) {
        return refuse(error, OCLATTN_UNSUPPORTED, "num_heads is not set");
    }
    return OCLATTN_OK;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

/* The three may be packed: query [batch, rows, heads, 3, width], or key [batch, rows, heads, 2, width]. */
static bool all_packed(const host_tensor *inputs) {
    return !tensor_given(&inputs[KEY]);
}

static bool kv_packed(const host_tensor *inputs) {
    return tensor_given(&inputs[KEY]) && !tensor_given(&inputs[VALUE]);
}

static oclattn_status size_packed(const host_tensor *tensor, int64_t parts, attention_sizes *sizes, int64_t *rows,
                                  oclattn_error *error) {
    int64_t found = parts;
    if (tensor->rank != 0 && tensor->rank != 5) {
        return refuse(error, OCLATTN_UNSUPPORTED, "%s has %zu dimensions, not the 5 of %lld packed tensors",
                      tensor->name, tensor->rank, (long long)parts);
    }
    RETURN_IF_ERROR(agree(&sizes->batch, "batch", tensor, 0, error));
    RETURN_IF_ERROR(agree(rows, "the length", tensor, 1, error));
    RETURN_IF_ERROR(agree(&sizes->q_heads, "the number of heads", tensor, 2, error));
    RETURN_IF_ERROR(agree(&found, "the number of packed tensors", tensor, 3, error));
    RETURN_IF_ERROR(agree(&sizes->head_dim, "the width of a head", tensor, 4, error));
    return agree(&sizes->v_dim, "the width of a head", tensor, 4, error);
}

static oclattn_status size_query(attention_problem *problem, oclattn_error *error) {
    attention_sizes *sizes = &problem->sizes;
    const host_tensor *query = &problem->inputs[QUERY];
    if (all_packed(problem->inputs)) {
        RETURN_IF_ERROR(size_packed(query, 3, sizes, &sizes->q_len, error));
        sizes->new_len = sizes->q_len;
        return OCLATTN_OK;
    }
    if (query->rank != 0 && query->rank != 3) {
        return refuse(error, OCLATTN_UNSUPPORTED, "query has %zu dimensions, not 3", query->rank);
    }
    return size_rows(query, &sizes->batch, &sizes->q_heads, &sizes->q_len, &sizes->head_dim, error);
}

static oclattn_status size_key_value(attention_problem *problem, oclattn_error *error) {
    attention_sizes *sizes = &problem->sizes;
    const host_tensor *key = &problem->inputs[KEY], *value = &problem->inputs[VALUE];
    if (all_packed(problem->inputs)) {
        return refuse_given(value, error);
    }
    if (kv_packed(problem->inputs)) {
        return size_packed(key, 2, sizes, &sizes->new_len, error);
    }
    RETURN_IF_ERROR(size_rows(key, &sizes->batch, &sizes->kv_heads, &sizes->new_len, &sizes->head_dim, error));
    return size_rows(value, &sizes->batch, &sizes->kv_heads, &sizes->new_len, &sizes->v_dim, error);
}

/* What keys and values are made of, and so the types of the past. */
static const host_tensor *key_of(const host_tensor *inputs) {
    return all_packed(inputs) ? &inputs[QUERY] : &inputs[KEY];
}

static const host_tensor *value_of(const host_tensor *inputs) {
    return tensor_given(&inputs[VALUE]) ? &inputs[VALUE] : key_of(inputs);
}

static oclattn_status check_bias(const attention_problem *problem, oclattn_error *error) {
    const attention_sizes *sizes = &problem->sizes;
    const host_tensor *bias = &problem->inputs[BIAS];
    const bool known = sizes->q_heads >= 0 && sizes->head_dim >= 0 && sizes->v_dim >= 0;
    int64_t length = known ? sizes->q_heads * (2 * sizes->head_dim + sizes->v_dim) : -1;
    if (bias->rank > 1) {
        return refuse(error, OCLATTN_UNSUPPORTED, "bias has %zu dimensions, not 1", bias->rank);
    }
    return agree(&length, "the length of the bias", bias, 0, error);
}

/* [batch] or [3 * batch + 2], beginning with the number of keys of each entry; [batch, keys]; [batch, queries, keys].
 */
static oclattn_status check_padding(const attention_problem *problem, oclattn_error *error) {
    attention_sizes sizes = problem->sizes;
    const host_tensor *mask = &problem->inputs[KEY_PADDING_MASK];
    const int64_t length = mask->rank == 1 ? mask->dims[0] : -1;
    if (length >= 0 && sizes.batch >= 0 && length != sizes.batch && length != 3 * sizes.batch + 2) {
        return refuse(error, OCLATTN_INVALID_ARGUMENT, "key_padding_mask has %lld lengths for a batch of %lld",
                      (long long)length, (long long)sizes.batch);
    }
    if (mask->rank < 2) {
        return OCLATTN_OK;
    }
    if (mask->rank > 3) {
        return refuse(error, OCLATTN_UNSUPPORTED, "key_padding_mask has %zu dimensions", mask->rank);
    }
    RETURN_IF_ERROR(agree(&sizes.batch, "batch", mask, 0, error));
    if (mask->rank == 3) {
        RETURN_IF_ERROR(agree(&sizes.q_len, "the number of queries", mask, 1, error));
    }
    return agree(&sizes.kv_len, "the number of keys", mask, mask->rank - 1, error);
}

static oclattn_status check_outputs(const attention_problem *problem, oclattn_error *error) {
    RETURN_IF_ERROR(refuse_given(&problem->inputs[PAST_SEQUENCE_LENGTH], error));
    RETURN_IF_ERROR(refuse_given(&problem->inputs[CACHE_INDIRECTION], error));
    return problem->node->outputs[QK] ? refuse(error, OCLATTN_UNSUPPORTED, "output qk is not built") : OCLATTN_OK;
}

static oclattn_status size(attention_problem *problem, oclattn_error *error) {
    attention_sizes *sizes = &problem->sizes;
    const host_tensor *inputs = problem->inputs;
    RETURN_IF_ERROR(check_outputs(problem, error));
    RETURN_IF_ERROR(size_query(problem, error));
    RETURN_IF_ERROR(size_key_value(problem, error));
    RETURN_IF_ERROR(size_past(&inputs[PAST_KEY], &inputs[PAST_VALUE], key_of(inputs), value_of(inputs), sizes,
                              &sizes->past_len, error));
    if (sizes->past_len >= 0 && sizes->new_len >= 0) {
        sizes->kv_len = sizes->past_len + sizes->new_len;
    }
    RETURN_IF_ERROR(check_bias(problem, error));
    RETURN_IF_ERROR(check_padding(problem, error));
    return check_broadcast(&inputs[ATTENTION_BIAS], sizes, false, error);
}

/* ---- description ------------------------------------------------------------------------------------------------ */

static oclattn_status describe_padding(attention_problem *problem, oclattn_error *error) {
    const host_tensor *mask = &problem->inputs[KEY_PADDING_MASK];
    if (!tensor_given(mask)) {
        return OCLATTN_OK;
    }
    problem->desc.score.flags |= mask->rank == 1 ? OCLATTN_KV_LENS : OCLATTN_MASK;
    return tensor_expect(mask, ORT_INT32, "int32", error);
}

static oclattn_status describe(attention_problem *problem, oclattn_error *error) {
    const host_tensor *inputs = problem->inputs;
    oclattn_score_options *score = &problem->desc.score;
    RETURN_IF_ERROR(describe_types(problem, &inputs[QUERY], key_of(inputs), value_of(inputs), error));
    describe_options(problem);
    if (problem->node->options.causal) {
        score->align = tensor_given(&inputs[PAST_KEY]) ? OCLATTN_ALIGN_OFFSET : OCLATTN_ALIGN_TOP_LEFT;
    }
    if (tensor_given(&inputs[ATTENTION_BIAS])) {
        score->flags |= OCLATTN_BIAS;
        RETURN_IF_ERROR(tensor_float_type(&inputs[ATTENTION_BIAS], &score->bias_type, error));
    }
    if (tensor_given(&inputs[BIAS])) {
        RETURN_IF_ERROR(tensor_expect(&inputs[BIAS], inputs[QUERY].element, "of the query's type", error));
    }
    return describe_padding(problem, error);
}

/* ---- binding ---------------------------------------------------------------------------------------------------- */

static oclattn_status bind_padding(attention_call *call, oclattn_error *error) {
    const host_tensor *mask = &call->problem.inputs[KEY_PADDING_MASK];
    const attention_sizes *sizes = &call->problem.sizes;
    operand_place *operand = &call->operands[OPERAND_MASK];
    if (!tensor_given(mask)) {
        return OCLATTN_OK;
    }
    if (mask->rank == 1) {
        call->operands[OPERAND_KV_LENS] =
            (operand_place){.memory = mask->data, .bytes = (size_t)sizes->batch * sizeof(int32_t)};
        return OCLATTN_OK;
    }
    operand->bytes = (size_t)tensor_elements(mask);
    RETURN_IF_ERROR(lane_scratch(call->lane, SCRATCH_MASK, operand->bytes, &operand->memory, error));
    prepare_mask(mask->data, tensor_elements(mask), operand->memory);
    operand->strides[0] = (mask->rank == 3 ? sizes->q_len : 1) * sizes->kv_len;
    operand->strides[2] = mask->rank == 3 ? sizes->kv_len : 0;
    operand->strides[3] = 1;
    return OCLATTN_OK;
}

/* Part `index` of `parts` packed ones: [batch, rows, heads, parts, width]. */
static operand_place packed_part(const host_tensor *tensor, int64_t heads, int64_t rows, int64_t width, int64_t parts,
                                 int64_t index) {
    operand_place operand = operand_of(tensor);
    operand.offset = index * width;
    operand.strides[0] = rows * heads * parts * width;
    operand.strides[1] = parts * width;
    operand.strides[2] = heads * parts * width;
    return operand;
}

/* Where query, key or value lies. */
static operand_place place_of(const attention_call *call, int input) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    const int64_t width = input == VALUE ? sizes->v_dim : sizes->head_dim;
    const int64_t rows = input == QUERY ? sizes->q_len : sizes->new_len;
    if (all_packed(inputs)) {
        return packed_part(&inputs[QUERY], sizes->q_heads, rows, width, 3, input);
    }
    if (kv_packed(inputs) && input != QUERY) {
        return packed_part(&inputs[KEY], sizes->q_heads, rows, width, 2, input - KEY);
    }
    operand_place operand = operand_of(&inputs[input]);
    set_strides(&operand, inputs[input].rank, sizes->q_heads, rows, width);
    return operand;
}

/* The bias of query, key and value lies in one row. Keys given as heads come from a cache, which has it already. */
static oclattn_status add_bias(attention_call *call, int input, operand_place *place, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    static const scratch_slot slots[] = {SCRATCH_QUERY, SCRATCH_KEY, SCRATCH_VALUE};
    const bool cached = inputs[input].rank == 4;
    if (!tensor_given(&inputs[BIAS]) || cached) {
        return OCLATTN_OK;
    }
    const prepared_rows rows = {.element = inputs[QUERY].element,
                                .batch = sizes->batch,
                                .heads = sizes->q_heads,
                                .rows = input == QUERY ? sizes->q_len : sizes->new_len,
                                .width = input == VALUE ? sizes->v_dim : sizes->head_dim};
    return prepare_biased(call, &rows, inputs[BIAS].data, input * sizes->q_heads * sizes->head_dim, slots[input], place,
                          error);
}

static oclattn_status bind_kv_part(attention_call *call, int input, const int32_t *past_rows, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    const bool key = input == KEY;
    kv_part part = {.role = key ? OPERAND_K : OPERAND_V,
                    .fresh = place_of(call, input),
                    .element = (key ? key_of(inputs) : value_of(inputs))->element,
                    .width = key ? sizes->head_dim : sizes->v_dim,
                    .past = &inputs[key ? PAST_KEY : PAST_VALUE],
                    .past_capacity = sizes->past_len,
                    .past_rows = past_rows,
                    .present = key ? PRESENT_KEY : PRESENT_VALUE,
                    .capacity = sizes->kv_len,
                    .scratch = key ? SCRATCH_KEYS : SCRATCH_VALUES};
    RETURN_IF_ERROR(add_bias(call, input, &part.fresh, error));
    return bind_kv(call, &part, error);
}

static oclattn_status bind(attention_call *call, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    operand_place unused;
    const bool offset = call->problem.desc.score.align == OCLATTN_ALIGN_OFFSET;
    int32_t *offsets = NULL;
    RETURN_IF_ERROR(bind_integers(call, SCRATCH_OFFSETS, sizes->batch,
                                  offset ? &call->operands[OPERAND_OFFSETS] : &unused, &offsets, error));
    for (int64_t b = 0; b < sizes->batch; ++b) {
        offsets[b] = (int32_t)sizes->past_len;
    }
    call->operands[OPERAND_Q] = place_of(call, QUERY);
    RETURN_IF_ERROR(add_bias(call, QUERY, &call->operands[OPERAND_Q], error));
    RETURN_IF_ERROR(bind_kv_part(call, KEY, offsets, error));
    RETURN_IF_ERROR(bind_kv_part(call, VALUE, offsets, error));
    RETURN_IF_ERROR(bind_padding(call, error));
    if (tensor_given(&inputs[ATTENTION_BIAS])) {
        call->operands[OPERAND_BIAS] = operand_broadcast(&inputs[ATTENTION_BIAS]);
    }
    return bind_output(call, OUTPUT, 3, inputs[QUERY].element, error);
}

const attention_operator operator_multi_head = {.domain = "com.microsoft",
                                                .type = "MultiHeadAttention",
                                                .oldest = 1,
                                                .newest = 1,
                                                .inputs = input_names,
                                                .outputs = output_names,
                                                .attributes = attribute_names,
                                                .options = read_options,
                                                .size = size,
                                                .describe = describe,
                                                .bind = bind};
