/* The operator oclattn::attention. */
#ifndef OCLATTN_TORCH_ATTENTION_H
#define OCLATTN_TORCH_ATTENTION_H

#include "torch_api.h"

/* The operator's face in Python: softmax(scale q k^T + ...) v. q [batch, heads, queries, head_dim],
 * k [batch, kv_heads, keys, head_dim], v [batch, kv_heads, keys, v_dim] -> [batch, heads, queries, v_dim], contiguous,
 * of q's type. mask (bool or uint8) and bias broadcast to [batch, heads, queries, keys]. align is an oclattn_alignment;
 * alibi and sinks are float32 [heads], the rest int32 [batch]. */
#define ATTENTION_SCHEMA                                                                                               \
    "attention(Tensor q, Tensor k, Tensor v, Tensor? mask=None, Tensor? bias=None, Tensor? alibi=None, "               \
    "Tensor? sinks=None, Tensor? q_lens=None, Tensor? kv_lens=None, Tensor? offsets=None, bool causal=False, "         \
    "int align=0, int window_left=-1, int window_right=-1, float softcap=0., float? scale=None) -> Tensor"

/* The argument of attention_kernel, which has no other way to be told: set once, before the kernel is registered. */
void attention_set_api(const torch_api *api);

/* A torch_kernel. Errors become exceptions. */
void attention_kernel(torch_value *stack, uint64_t inputs, uint64_t outputs);

/* How many calls have been computed in this process. */
uint64_t attention_calls(void);

#endif
