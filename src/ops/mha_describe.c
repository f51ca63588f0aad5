/* F(H) in words: the shape at every stage. */
#include <stdio.h>

#include "mha.h"
#include "ops.h"

static void describe_head_dim(const oclattn_mha_desc *desc, const char *indent, text *lines) {
    const long long d_model = (long long)desc->d_model;
    const long long heads = (long long)desc->n_heads;
    const long long head_dim = (long long)desc->head_dim;
    text_format(lines, "%s  one head is %lld wide", indent, head_dim);
    if (heads * head_dim == d_model) {
        text_format(lines,
                    ": d_model = n_heads x head_dim, %lld = %lld x %lld; only the merged row is %lld wide again\n",
                    d_model, heads, head_dim, d_model);
    } else {
        text_format(lines, ", as given: %lld heads make rows of %lld, and W_head brings them to %lld\n", heads,
                    heads * head_dim, d_model);
    }
}

static void describe_stage(const mha_plan *self, mha_stage stage, const char *indent, text *lines) {
    char deeper[64];
    snprintf(deeper, sizeof(deeper), "%s    ", indent);
    self->stages[stage]->type->describe(self->stages[stage], deeper, lines);
}

static void describe_projection(const mha_plan *self, mha_stage stage, const char *formula, const char *indent,
                                text *lines) {
    text_format(lines, "%s  %s\n", indent, formula);
    describe_stage(self, stage, indent, lines);
}

static void describe_split(const mha_plan *self, const char *how, const char *indent, text *lines) {
    const oclattn_mha_desc *desc = &self->desc;
    const long long batch = (long long)desc->batch;
    const long long kv_heads = (long long)desc->n_kv_heads;
    const long long kv_len = (long long)desc->kv_len;
    text_format(lines, "%s  Split (%s): Q -> [%lld, %lld, %lld, %lld]", indent, how, batch, (long long)desc->n_heads,
                (long long)desc->q_len, (long long)desc->head_dim);
    text_format(lines, ", K -> [%lld, %lld, %lld, %lld], V -> [%lld, %lld, %lld, %lld]\n", batch, kv_heads, kv_len,
                (long long)desc->head_dim, batch, kv_heads, kv_len, (long long)desc->v_dim);
}

void mha_describe(const oclattn_plan *plan, const char *indent, text *lines) {
    const mha_plan *self = (const mha_plan *)plan;
    const oclattn_mha_desc *desc = &self->desc;
    const long long batch = (long long)desc->batch;
    const long long q_len = (long long)desc->q_len;
    const char *how = mha_splits(self) ? "by a kernel of its own" : "free: attention reads and writes by strides";
    text_format(lines,
                "%sF(H) = Merge(head_1, ..., head_%lld) W_head: H [%lld, %lld, %lld] -> F(H) [%lld, %lld, %lld]\n",
                indent, (long long)desc->n_heads, batch, q_len, (long long)desc->d_model, batch, q_len,
                (long long)desc->d_model);
    describe_head_dim(desc, indent, lines);
    describe_projection(self, MHA_PROJECT_Q, "Q = H W_q", indent, lines);
    describe_projection(self, MHA_PROJECT_K, "K = H W_k", indent, lines);
    describe_projection(self, MHA_PROJECT_V, "V = H W_v", indent, lines);
    describe_split(self, how, indent, lines);
    text_format(lines, "%s  head_j = softmax(...) V_j: %lld heads of [%lld, %lld]\n", indent, (long long)desc->n_heads,
                q_len, (long long)desc->v_dim);
    describe_stage(self, MHA_ATTEND, indent, lines);
    text_format(lines, "%s  Merge (%s): [%lld, %lld, %lld]\n", indent, how, batch, q_len,
                (long long)(desc->n_heads * desc->v_dim));
    describe_projection(self, MHA_PROJECT_HEAD, "F(H) = Merge(...) W_head", indent, lines);
    text_format(lines, "%s  workspace: %zu bytes\n", indent, plan->workspace_bytes);
}
