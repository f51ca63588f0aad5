#include "common.h"

oclattn_status size_rows(const host_tensor *tensor, int64_t *batch, int64_t *heads, int64_t *rows, int64_t *width,
                         oclattn_error *error) {
    if (!tensor_given(tensor) || tensor->rank == 0) {
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(agree(batch, "batch", tensor, 0, error));
    if (tensor->rank == 3) {
        RETURN_IF_ERROR(agree(rows, "the length", tensor, 1, error));
        return agree_parts(width, "the width of a head", tensor, 2, *heads, error);
    }
    if (tensor->rank != 4) {
        return refuse(error, OCLATTN_UNSUPPORTED, "%s has %zu dimensions, not 3 or 4", tensor->name, tensor->rank);
    }
    RETURN_IF_ERROR(agree(heads, "the number of heads", tensor, 1, error));
    RETURN_IF_ERROR(agree(rows, "the length", tensor, 2, error));
    return agree(width, "the width of a head", tensor, 3, error);
}

static oclattn_status check_past(const host_tensor *past, const host_tensor *fresh, oclattn_error *error) {
    if (past->element != fresh->element) {
        return refuse(error, OCLATTN_UNSUPPORTED, "%s has another type than %s", past->name, fresh->name);
    }
    if (past->rank != 0 && past->rank != 4) {
        return refuse(error, OCLATTN_UNSUPPORTED, "%s has %zu dimensions, not 4", past->name, past->rank);
    }
    return OCLATTN_OK;
}

oclattn_status size_past(const host_tensor *past_key, const host_tensor *past_value, const host_tensor *key,
                         const host_tensor *value, attention_sizes *sizes, int64_t *rows, oclattn_error *error) {
    if (tensor_given(past_key) != tensor_given(past_value)) {
        return refuse(error, OCLATTN_UNSUPPORTED, "%s and %s are not given together", past_key->name, past_value->name);
    }
    if (!tensor_given(past_key)) {
        *rows = 0;
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(check_past(past_key, key, error));
    RETURN_IF_ERROR(check_past(past_value, value, error));
    RETURN_IF_ERROR(size_rows(past_key, &sizes->batch, &sizes->kv_heads, rows, &sizes->head_dim, error));
    return size_rows(past_value, &sizes->batch, &sizes->kv_heads, rows, &sizes->v_dim, error);
}

oclattn_status check_broadcast(const host_tensor *tensor, const attention_sizes *sizes, bool shorter_allowed,
                               oclattn_error *error) {
    const int64_t wanted[4] = {sizes->batch, sizes->q_heads, sizes->q_len, sizes->kv_len};
    if (tensor->rank > 4) {
        return refuse(error, OCLATTN_UNSUPPORTED, "%s has %zu dimensions", tensor->name, tensor->rank);
    }
    for (size_t i = 0; i < tensor->rank; ++i) {
        const size_t at = 4 - tensor->rank + i;
        const int64_t size = tensor->dims[i];
        const bool repeats = at < 3 && size == 1;
        const bool shorter = at == 3 && shorter_allowed && size < wanted[at];
        if (size >= 0 && wanted[at] >= 0 && size != wanted[at] && !repeats && !shorter) {
            return refuse(error, OCLATTN_INVALID_ARGUMENT, "dimension %zu of %s is %lld; %lld is needed", i,
                          tensor->name, (long long)size, (long long)wanted[at]);
        }
    }
    return OCLATTN_OK;
}

oclattn_status refuse_given(const host_tensor *tensor, oclattn_error *error) {
    return tensor_given(tensor) ? refuse(error, OCLATTN_UNSUPPORTED, "input %s is not built", tensor->name)
                                : OCLATTN_OK;
}

void describe_options(attention_problem *problem) {
    const attention_options *options = &problem->node->options;
    oclattn_score_options *score = &problem->desc.score;
    if (options->has_scale) {
        score->flags &= ~OCLATTN_DEFAULT_SCALE;
        score->scale = options->scale;
    }
    if (options->causal) {
        score->flags |= OCLATTN_CAUSAL;
    }
    score->softcap = options->softcap;
    score->window_left = options->window_left;
    score->window_right = options->window_right;
}

oclattn_status describe_types(attention_problem *problem, const host_tensor *q, const host_tensor *k,
                              const host_tensor *v, oclattn_error *error) {
    oclattn_attention_desc *desc = &problem->desc;
    RETURN_IF_ERROR(tensor_float_type(q, &desc->q_type, error));
    RETURN_IF_ERROR(tensor_float_type(k, &desc->k_type, error));
    RETURN_IF_ERROR(tensor_float_type(v, &desc->v_type, error));
    desc->o_type = desc->q_type;
    return OCLATTN_OK;
}
