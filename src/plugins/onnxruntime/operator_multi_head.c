/* MultiHeadAttention of com.microsoft. */
#include "common.h"
#include "multi_head.h"

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

bool multi_head_all_packed(const host_tensor *inputs) {
    return !tensor_given(&inputs[KEY]);
}

bool multi_head_kv_packed(const host_tensor *inputs) {
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
    if (multi_head_all_packed(problem->inputs)) {
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
    if (multi_head_all_packed(problem->inputs)) {
        return refuse_given(value, error);
    }
    if (multi_head_kv_packed(problem->inputs)) {
        return size_packed(key, 2, sizes, &sizes->new_len, error);
    }
    RETURN_IF_ERROR(size_rows(key, &sizes->batch, &sizes->kv_heads, &sizes->new_len, &sizes->head_dim, error));
    return size_rows(value, &sizes->batch, &sizes->kv_heads, &sizes->new_len, &sizes->v_dim, error);
}

const host_tensor *multi_head_key(const host_tensor *inputs) {
    return multi_head_all_packed(inputs) ? &inputs[QUERY] : &inputs[KEY];
}

const host_tensor *multi_head_value(const host_tensor *inputs) {
    return tensor_given(&inputs[VALUE]) ? &inputs[VALUE] : multi_head_key(inputs);
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
    RETURN_IF_ERROR(size_past(&inputs[PAST_KEY], &inputs[PAST_VALUE], multi_head_key(inputs), multi_head_value(inputs),
                              sizes, &sizes->past_len, error));
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
    RETURN_IF_ERROR(describe_types(problem, &inputs[QUERY], multi_head_key(inputs), multi_head_value(inputs), error));
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
                                                .bind = multi_head_bind};
