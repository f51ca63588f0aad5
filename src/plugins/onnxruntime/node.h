/* An attention node, read once from the graph. */
#ifndef OCLATTN_ORT_NODE_H
#define OCLATTN_ORT_NODE_H

#include "tensor.h"

enum { MOST_INPUTS = 20, MOST_OUTPUTS = 4, NODE_NAME_SIZE = 128 };

typedef struct attention_operator attention_operator;

typedef struct attention_options {
    int64_t q_heads, kv_heads; /* 0: the shapes tell */
    bool has_scale;            /* false: 1 / sqrt(head_dim) */
    float scale, softcap;
    bool causal;
    int64_t window_left, window_right; /* -1: no bound */
    oclattn_scores_kind scores_kind;   /* where that output is asked for */
    bool rotary, rotary_interleaved, smooth_softmax;
} attention_options;

typedef struct attention_node {
    const attention_operator *operator;
    char name[NODE_NAME_SIZE], type[NODE_NAME_SIZE]; /* the operator's type, also of one that is not known */
    attention_options options;
    host_tensor inputs[MOST_INPUTS]; /* as declared */
    bool outputs[MOST_OUTPUTS];      /* whether it is asked for */
    /* Where they are among those of the fused node, which names each value once. */
    size_t input_at[MOST_INPUTS], output_at[MOST_OUTPUTS];
} attention_node;

/* Whether the node is called some kind of attention, whoever can run it. */
bool node_is_attention(const ort_host *host, const ort_node *node);

/* Reads a node; refuses, in words, what is not known to the last attribute. */
oclattn_status node_read(const ort_host *host, const ort_node *node, attention_node *read, oclattn_error *error);

/* Finds the places of the inputs and outputs of `node` among those of `fused`. */
oclattn_status node_locate(const ort_host *host, const ort_node *node, const ort_node *fused, attention_node *read,
                           oclattn_error *error);

#endif
