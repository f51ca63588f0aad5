/* GroupQueryAttention: what its two files share. */
#ifndef OCLATTN_ORT_GROUP_QUERY_H
#define OCLATTN_ORT_GROUP_QUERY_H

#include "operator.h"

enum {
    QUERY,
    KEY,
    VALUE,
    PAST_KEY,
    PAST_VALUE,
    SEQLENS_K,
    TOTAL_SEQUENCE_LENGTH,
    COS_CACHE,
    SIN_CACHE,
    POSITION_IDS,
    ATTENTION_BIAS,
    HEAD_SINK
};
enum { OUTPUT, PRESENT_KEY, PRESENT_VALUE, OUTPUT_QK };

/* Query may hold all three: [batch, rows, (q_heads + 2 kv_heads) * width]. */
bool group_query_is_packed(const host_tensor *inputs);

/* The tensor that KEY or VALUE lies in. */
const host_tensor *group_query_kv(const host_tensor *inputs, int input);

bool group_query_has_sinks(const attention_problem *problem);

oclattn_status group_query_bind(attention_call *call, oclattn_error *error);

#endif
