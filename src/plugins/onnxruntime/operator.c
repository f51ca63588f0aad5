#include "operator.h"

#include <string.h>

static const attention_operator *const operators[] = {&operator_attention};

const attention_operator *operator_find(const char *domain, const char *type) {
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i) {
        if (strcmp(operators[i]->domain, domain) == 0 && strcmp(operators[i]->type, type) == 0) {
            return operators[i];
        }
    }
    return NULL;
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

operand_place operand_of(const host_tensor *tensor) {
    return (operand_place){.memory = tensor->data,
                           .bytes = (size_t)tensor_elements(tensor) * element_bytes(tensor->element)};
}

void set_strides(operand_place *operand, size_t rank, int64_t heads, int64_t rows, int64_t width) {
    operand->strides[0] = heads * rows * width;
    operand->strides[1] = rank == 3 ? width : rows * width;
    operand->strides[2] = rank == 3 ? heads * width : width;
}
