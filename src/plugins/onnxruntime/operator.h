/* The operators that the plugin computes: each says what it knows, and brings a node to oclattn's terms. */
#ifndef OCLATTN_ORT_OPERATOR_H
#define OCLATTN_ORT_OPERATOR_H

#include "attributes.h"
#include "lanes.h"
#include "node.h"

/* -1: not known yet. kv_len = past_len + new_len keys are attended to; a cache may hold room for more. */
typedef struct attention_sizes {
    int64_t batch, q_heads, kv_heads, q_len, new_len, past_len, kv_len, head_dim, v_dim;
} attention_sizes;

/* One computation: of a node as declared while it is claimed, of real tensors while it runs. */
typedef struct attention_problem {
    const attention_node *node;
    host_tensor inputs[MOST_INPUTS];
    attention_sizes sizes;
    oclattn_attention_desc desc;
} attention_problem;

/* A tensor for oclattn: where it lies within a piece of memory, which becomes a buffer. */
typedef struct operand_place {
    void *memory; /* NULL: not used */
    size_t bytes; /* of the whole piece */
    int64_t offset, strides[4];
} operand_place;

typedef enum operand_role {
    OPERAND_Q,
    OPERAND_K,
    OPERAND_V,
    OPERAND_O,
    OPERAND_SCORES,
    OPERAND_MASK,
    OPERAND_BIAS,
    OPERAND_SINKS,
    OPERAND_KV_LENS,
    OPERAND_OFFSETS,
    OPERANDS
} operand_role;

/* A node that runs. */
typedef struct attention_call {
    attention_problem problem;
    const ort_host *host;
    ort_context *context;
    work_lane *lane;
    operand_place operands[OPERANDS];
    /* Scores come as float32; where the output has another type, they go there afterwards. */
    void *scores_output;
} attention_call;

/* Calls function(user, i) for each i below `total` on the host's threads; on this one if that fails. */
void host_parallel(const attention_call *call, void (*function)(void *user, size_t i), size_t total, void *user);

/* The same, but on this thread where the `bytes` that are touched in all are few. */
void call_parallel(const attention_call *call, void (*function)(void *user, size_t i), size_t total, size_t bytes,
                   void *user);

struct attention_operator {
    const char *domain, *type;
    int oldest, newest;                                             /* versions of the operator */
    const char *const *inputs, *const *outputs, *const *attributes; /* NULL ends each */
    oclattn_status (*options)(const attribute_list *attributes, attention_options *options, oclattn_error *error);
    /* Fills problem->sizes as far as the inputs tell, and refuses what does not fit together. */
    oclattn_status (*size)(attention_problem *problem, oclattn_error *error);
    /* Fills problem->desc but for its sizes. */
    oclattn_status (*describe)(attention_problem *problem, oclattn_error *error);
    /* Fills call->operands; has the host make the outputs. */
    oclattn_status (*bind)(attention_call *call, oclattn_error *error);
};

extern const attention_operator operator_attention, operator_multi_head, operator_group_query;

/* NULL: none. */
const attention_operator *operator_find(const char *domain, const char *type);

#endif
