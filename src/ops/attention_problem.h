/* An attention descriptor, checked and resolved: tensors with their strides, and the parameters of the kernels. */
#ifndef OCLATTN_OPS_ATTENTION_PROBLEM_H
#define OCLATTN_OPS_ATTENTION_PROBLEM_H

#include "../plan/params.h"
#include "../plan/tensor.h"

typedef struct attention_problem {
    oclattn_attention_desc desc; /* its `variant` points to the caller's memory: used while planning only */
    int64_t q_len, kv_len;       /* of this call */
    tensor_spec specs[ATTENTION_TENSORS];
} attention_problem;

/* Checks everything about the descriptor that does not depend on a device. */
oclattn_status attention_problem_make(const oclattn_attention_desc *desc, attention_problem *problem,
                                      oclattn_error *error);

/* Shapes for other lengths than the planned ones; strides stay. */
void attention_problem_set_lengths(attention_problem *problem, int64_t q_len, int64_t kv_len);

/* The checks of score options alone, for those who build an attention descriptor around them. */
oclattn_status score_options_check(const oclattn_score_options *options, oclattn_error *error);

/* Query rows, counted over batch and heads. */
int64_t attention_rows(const attention_problem *problem);

/* Parameters of the kernels for the tensors as they are in the specs; offsets and chunks are not filled in. */
void attention_problem_params(const attention_problem *problem, attention_params *params);

#endif
