/* What the operators have in common: sizes, descriptions, and where tensors lie. */
#ifndef OCLATTN_ORT_COMMON_H
#define OCLATTN_ORT_COMMON_H

#include "operator.h"

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

/* Rows of `heads` heads: [batch, heads, rows, width], or [batch, rows, heads * width] where the rank is 3. Nothing
 * where the tensor or its rank is unknown. */
oclattn_status size_rows(const host_tensor *tensor, int64_t *batch, int64_t *heads, int64_t *rows, int64_t *width,
                         oclattn_error *error);

/* Keys and values of the past, [batch, kv_heads, rows, width]: both or none, of the types of the new ones. */
oclattn_status size_past(const host_tensor *past_key, const host_tensor *past_value, const host_tensor *key,
                         const host_tensor *value, attention_sizes *sizes, int64_t *rows, oclattn_error *error);

/* Whether a tensor broadcasts over [batch, q_heads, q_len, kv_len]; the last dimension is never repeated, but may be
 * shorter where that is `allowed`. */
oclattn_status check_broadcast(const host_tensor *tensor, const attention_sizes *sizes, bool shorter_allowed,
                               oclattn_error *error);

oclattn_status refuse_given(const host_tensor *tensor, oclattn_error *error);

/* ---- descriptions ----------------------------------------------------------------------------------------------- */

/* scale, softcap, causal and windows of the node's options. */
void describe_options(attention_problem *problem);

/* Types of q, k, v and o; o has that of q. */
oclattn_status describe_types(attention_problem *problem, const host_tensor *q, const host_tensor *k,
                              const host_tensor *v, oclattn_error *error);

/* ---- where tensors lie ------------------------------------------------------------------------------------------ */

/* A whole tensor as an operand, without strides. */
operand_place operand_of(const host_tensor *tensor);

/* Strides b, h, s of rows as size_rows has them. */
void set_strides(operand_place *operand, size_t rank, int64_t heads, int64_t rows, int64_t width);

/* A tensor that broadcasts over [batch, q_heads, q_len, kv_len]. */
operand_place operand_broadcast(const host_tensor *tensor);

/* Memory of the call for `count` int32, as an operand. */
oclattn_status bind_integers(attention_call *call, scratch_slot which, int64_t count, operand_place *operand,
                             int32_t **values, oclattn_error *error);

/* Has the host make the output `index` of the node, in the layout of size_rows. */
oclattn_status bind_output(attention_call *call, int index, size_t rank, ort_element element, oclattn_error *error);

/* All keys, or all values: those of the past, and new ones. */
typedef struct kv_part {
    operand_role role;
    operand_place fresh; /* the new ones */
    ort_element element;
    int64_t width;
    const host_tensor *past;  /* may not be given */
    int64_t past_capacity;    /* rows that it has room for */
    const int32_t *past_rows; /* [batch], those that count */
    int present;              /* the output that takes all of them, where it is asked for */
    int64_t capacity;         /* rows that it has room for */
    scratch_slot scratch;     /* takes them otherwise */
} kv_part;

/* Brings them together, if need be, and sets the operand. */
oclattn_status bind_kv(attention_call *call, const kv_part *part, oclattn_error *error);

#endif
