/* GroupQueryAttention of com.microsoft. */
#include <string.h>

#include "common.h"
#include "group_query.h"

static const char *const input_names[] = {
    "query",     "key",       "value",        "past_key",       "past_value", "seqlens_k", "total_sequence_length",
    "cos_cache", "sin_cache", "position_ids", "attention_bias", "head_sink",  NULL};
static const char *const output_names[] = {"output", "present_key", "present_value", "output_qk", NULL};
/* Those of later versions must have values that change nothing. */
static const char *const attribute_names[] = {"num_heads",
                                              "kv_num_heads",
                                              "scale",
                                              "softcap",
                                              "local_window_size",
                                              "do_rotary",
                                              "rotary_interleaved",
                                              "smooth_softmax",
                                              "qk_output",
                                              "causal",
                                              "kv_cache_bit_width",
                                              "sliding_window_cache",
                                              "k_quant_type",
                                              "v_quant_type",
                                              "qk_norm_epsilon",
                                              "q_norm_epsilon",
                                              "k_norm_epsilon",
                                              NULL};

static oclattn_status check_attributes(const attribute_list *attributes, oclattn_error *error) {
    static const char *const zeros[] = {"qk_output", "kv_cache_bit_width", "sliding_window_cache"};
    static const char *const nones[] = {"k_quant_type", "v_quant_type"};
    for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); ++i) {
        if (attributes_integer(attributes, zeros[i], 0) != 0) {
            return refuse(error, OCLATTN_UNSUPPORTED, "attribute %s is %lld, which is not built", zeros[i],
                          (long long)attributes_integer(attributes, zeros[i], 0));
        }
    }
    for (size_t i = 0; i < sizeof(nones) / sizeof(nones[0]); ++i) {
        if (strcmp(attributes_text(attributes, nones[i], "NONE"), "NONE") != 0) {
            return refuse(error, OCLATTN_UNSUPPORTED, "attribute %s is %s, which is not built", nones[i],
                          attributes_text(attributes, nones[i], ""));
        }
    }
    return OCLATTN_OK;
}

/* A window of w keys ends with the query's own. */
static oclattn_status read_window(const attribute_list *attributes, attention_options *options, oclattn_error *error) {
    const int64_t window = attributes_integer(attributes, "local_window_size", -1);
    if (window == 0 || window < -1 || (window > 0 && !options->causal)) {
        return refuse(error, OCLATTN_UNSUPPORTED, "local_window_size %lld is not built%s", (long long)window,
                      options->causal ? "" : " without causal");
    }
    options->window_left = window > 0 ? window - 1 : -1;
    return OCLATTN_OK;
}

static oclattn_status read_options(const attribute_list *attributes, attention_options *options, oclattn_error *error) {
    RETURN_IF_ERROR(check_attributes(attributes, error));
    options->q_heads = attributes_integer(attributes, "num_heads", 0);
    options->kv_heads = attributes_integer(attributes, "kv_num_heads", 0);
    options->causal = attributes_integer(attributes, "causal", 1) != 0;
    options->scale = attributes_number(attributes, "scale", 0.0f);
    options->has_scale = options->scale != 0.0f;
    options->softcap = attributes_number(attributes, "softcap", 0.0f);
    options->rotary = attributes_integer(attributes, "do_rotary", 0) != 0;
    options->rotary_interleaved = attributes_integer(attributes, "rotary_interleaved", 0) != 0;
    options->smooth_softmax = attributes_integer(attributes, "smooth_softmax", 0) > 0;
    if (options->q_heads <= 0 || options->kv_heads <= 0) {
        return refuse(error, OCLATTN_UNSUPPORTED, "num_heads or kv_num_heads is not set");
    }
    return read_window(attributes, options, error);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

bool group_query_is_packed(const host_tensor *inputs) {
    return !tensor_given(&inputs[KEY]);
}

const host_tensor *group_query_kv(const host_tensor *inputs, int input) {
    return group_query_is_packed(inputs) ? &inputs[QUERY] : &inputs[input];
}

static oclattn_status check_inputs(const attention_problem *problem, oclattn_error *error) {
    const host_tensor *inputs = problem->inputs;
    RETURN_IF_ERROR(refuse_given(&inputs[POSITION_IDS], error));
    RETURN_IF_ERROR(tensor_expect(&inputs[SEQLENS_K], ORT_INT32, "int32", error));
    RETURN_IF_ERROR(tensor_expect(&inputs[TOTAL_SEQUENCE_LENGTH], ORT_INT32, "int32", error));
    if (problem->node->outputs[OUTPUT_QK]) {
        return refuse(error, OCLATTN_UNSUPPORTED, "output output_qk is not built");
    }
    if (tensor_given(&inputs[KEY]) != tensor_given(&inputs[VALUE])) {
        return refuse(error, OCLATTN_UNSUPPORTED, "key and value are not given together");
    }
    if (inputs[QUERY].rank != 0 && inputs[QUERY].rank != 3) {
        return refuse(error, OCLATTN_UNSUPPORTED, "query has %zu dimensions, not 3", inputs[QUERY].rank);
    }
    return OCLATTN_OK;
}

static oclattn_status size_fresh(attention_problem *problem, oclattn_error *error) {
    attention_sizes *sizes = &problem->sizes;
    const host_tensor *inputs = problem->inputs;
    int64_t heads = sizes->q_heads + (group_query_is_packed(inputs) ? 2 * sizes->kv_heads : 0);
    RETURN_IF_ERROR(size_rows(&inputs[QUERY], &sizes->batch, &heads, &sizes->q_len, &sizes->head_dim, error));
    RETURN_IF_ERROR(size_rows(&inputs[KEY], &sizes->batch, &sizes->kv_heads, &sizes->q_len, &sizes->head_dim, error));
    RETURN_IF_ERROR(size_rows(&inputs[VALUE], &sizes->batch, &sizes->kv_heads, &sizes->q_len, &sizes->head_dim, error));
    sizes->new_len = sizes->q_len;
    sizes->v_dim = sizes->head_dim;
    return OCLATTN_OK;
}

static oclattn_status check_rotary(const attention_problem *problem, oclattn_error *error) {
    const host_tensor *cosines = &problem->inputs[COS_CACHE], *sines = &problem->inputs[SIN_CACHE];
    int64_t positions = -1, pairs = -1;
    if (!problem->node->options.rotary) {
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(tensor_expect(cosines, problem->inputs[QUERY].element, "of the query's type", error));
    RETURN_IF_ERROR(tensor_expect(sines, problem->inputs[QUERY].element, "of the query's type", error));
    RETURN_IF_ERROR(agree(&positions, "the number of positions", cosines, 0, error));
    RETURN_IF_ERROR(agree(&positions, "the number of positions", sines, 0, error));
    RETURN_IF_ERROR(agree(&pairs, "the number of angles", cosines, 1, error));
    RETURN_IF_ERROR(agree(&pairs, "the number of angles", sines, 1, error));
    if (pairs >= 0 && problem->sizes.head_dim >= 0 && 2 * pairs > problem->sizes.head_dim) {
        return refuse(error, OCLATTN_INVALID_ARGUMENT, "%lld rotary angles are too many for head_dim %lld",
                      (long long)pairs, (long long)problem->sizes.head_dim);
    }
    return OCLATTN_OK;
}

/* The number of all keys is only known when the node runs. */
static oclattn_status size_total(attention_problem *problem, oclattn_error *error) {
    const host_tensor *total = &problem->inputs[TOTAL_SEQUENCE_LENGTH], *lens = &problem->inputs[SEQLENS_K];
    attention_sizes *sizes = &problem->sizes;
    if (total->data == NULL || lens->data == NULL) {
        return OCLATTN_OK;
    }
    if (tensor_elements(total) != 1 || tensor_elements(lens) != sizes->batch) {
        return refuse(error, OCLATTN_INVALID_ARGUMENT,
                      "total_sequence_length has %lld elements, not 1, or seqlens_k has %lld, not %lld",
                      (long long)tensor_elements(total), (long long)tensor_elements(lens), (long long)sizes->batch);
    }
    sizes->kv_len = *(const int32_t *)total->data;
    const bool grows = sizes->kv_len == sizes->past_len + sizes->new_len;
    if (sizes->kv_len < sizes->new_len || (!grows && sizes->kv_len > sizes->past_len)) {
        return refuse(error, OCLATTN_INVALID_ARGUMENT,
                      "total_sequence_length is %lld; with %lld new keys it must be %lld, or fit in a cache of %lld",
                      (long long)sizes->kv_len, (long long)sizes->new_len,
                      (long long)(sizes->past_len + sizes->new_len), (long long)sizes->past_len);
    }
    return OCLATTN_OK;
}

static oclattn_status size(attention_problem *problem, oclattn_error *error) {
    attention_sizes *sizes = &problem->sizes;
    const host_tensor *inputs = problem->inputs;
    RETURN_IF_ERROR(check_inputs(problem, error));
    RETURN_IF_ERROR(size_fresh(problem, error));
    RETURN_IF_ERROR(size_past(&inputs[PAST_KEY], &inputs[PAST_VALUE], group_query_kv(inputs, KEY),
                              group_query_kv(inputs, VALUE), sizes, &sizes->past_len, error));
    RETURN_IF_ERROR(check_rotary(problem, error));
    RETURN_IF_ERROR(size_total(problem, error));
    return check_broadcast(&inputs[ATTENTION_BIAS], sizes, false, error);
}

/* ---- description ------------------------------------------------------------------------------------------------ */

bool group_query_has_sinks(const attention_problem *problem) {
    return problem->node->options.smooth_softmax || tensor_given(&problem->inputs[HEAD_SINK]);
}

static oclattn_status describe_sinks(attention_problem *problem, oclattn_error *error) {
    oclattn_type type;
    if (!group_query_has_sinks(problem)) {
        return OCLATTN_OK;
    }
    problem->desc.score.flags |= OCLATTN_SINKS;
    RETURN_IF_ERROR(agree(&problem->sizes.q_heads, "the number of heads", &problem->inputs[HEAD_SINK], 0, error));
    return tensor_given(&problem->inputs[HEAD_SINK]) ? tensor_float_type(&problem->inputs[HEAD_SINK], &type, error)
                                                     : OCLATTN_OK;
}

static oclattn_status describe(attention_problem *problem, oclattn_error *error) {
    const host_tensor *inputs = problem->inputs;
    oclattn_score_options *score = &problem->desc.score;
    RETURN_IF_ERROR(
        describe_types(problem, &inputs[QUERY], group_query_kv(inputs, KEY), group_query_kv(inputs, VALUE), error));
    describe_options(problem);
    score->flags |= OCLATTN_KV_LENS;
    score->align = problem->node->options.causal ? OCLATTN_ALIGN_OFFSET : OCLATTN_ALIGN_UNSET;
    if (tensor_given(&inputs[ATTENTION_BIAS])) {
        score->flags |= OCLATTN_BIAS;
        RETURN_IF_ERROR(tensor_float_type(&inputs[ATTENTION_BIAS], &score->bias_type, error));
    }
    return describe_sinks(problem, error);
}

const attention_operator operator_group_query = {.domain = "com.microsoft",
                                                 .type = "GroupQueryAttention",
                                                 .oldest = 1,
                                                 .newest = 1,
                                                 .inputs = input_names,
                                                 .outputs = output_names,
                                                 .attributes = attribute_names,
                                                 .options = read_options,
                                                 .size = size,
                                                 .describe = describe,
                                                 .bind = group_query_bind};
