/* MultiHeadAttention: what its two files share. */
#ifndef OCLATTN_ORT_MULTI_HEAD_H
#define OCLATTN_ORT_MULTI_HEAD_H

#include "operator.h"

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

/* The three may be packed: query [batch, rows, heads, 3, width], or key [batch, rows, heads, 2, width]. */
bool multi_head_all_packed(const host_tensor *inputs);
bool multi_head_kv_packed(const host_tensor *inputs);

/* The tensors that keys and values lie in, whose types the past has. */
const host_tensor *multi_head_key(const host_tensor *inputs);
const host_tensor *multi_head_value(const host_tensor *inputs);

oclattn_status multi_head_bind(attention_call *call, oclattn_error *error);

#endif
