/* F(H) in words: the shape at every stage. */
#include "mha.h"
#include "ops.h"

static void describe_head_dim(const oclattn_mha_desc *desc, text *lines) {
    const long long d_model = (long long)desc->d_model;
    const long long heads = (long long)desc->n_heads;
    const long long head_dim = (long long)desc->head_dim;
    if (heads * head_dim == d_model) {
        text_format(lines,
                    "  one head is %lld wide: d_model = n_heads x head_dim, %lld = %lld x %lld; only the merged row, all "
                    "heads side by side, is %lld wide again\n",
                    head_dim, d_model, heads, head_dim, d_model);
    } else {
        text_format(lines, "  one head is %lld wide, as given: %lld heads make rows of %lld, W_head brings them to %lld\n",
                    head_dim, heads, heads * head_dim, d_model);
    }
}

static void describe_projection(const mha_plan *self, mha_stage stage, const char *formula, text *lines) {
    text_format(lines, "  %s\n", formula);
    projection_describe(self->stages[stage], "    ", lines);
}

void mha_describe(mha_plan *self) {
    const oclattn_mha_desc *desc = &self->desc;
    text *lines = &self->base.description;
    const long long batch = (long long)desc->batch;
    const long long q_len = (long long)desc->q_len;
    const long long kv_len = (long long)desc->kv_len;
    const char *how = mha_splits(self) ? "by a kernel of its own" : "free: attention reads and writes by strides";
    text_format(lines, "F(H) = Merge(head_1, ..., head_%lld) W_head: H [%lld, %lld, %lld] -> F(H) [%lld, %lld, %lld]\n",
                (long long)desc->n_heads, batch, q_len, (long long)desc->d_model, batch, q_len,
                (long long)desc->d_model);
    describe_head_dim(desc, lines);
    describe_projection(self, MHA_PROJECT_Q, "Q = H W_q", lines);
    describe_projection(self, MHA_PROJECT_K, "K = H W_k", lines);
    describe_projection(self, MHA_PROJECT_V, "V = H W_v", lines);
    text_format(lines, "  Split (%s): Q -> [%lld, %lld, %lld, %lld], K -> [%lld, %lld, %lld, %lld], V -> [%lld, %lld, %lld, %lld]\n",
                how, batch, (long long)desc->n_heads, q_len, (long long)desc->head_dim, batch,
                (long long)desc->n_kv_heads, kv_len, (long long)desc->head_dim, batch, (long long)desc->n_kv_heads,
                kv_len, (long long)desc->v_dim);
    text_format(lines, "  head_j = softmax(...) V_j: %lld heads of [%lld, %lld]\n", (long long)desc->n_heads, q_len,
                (long long)desc->v_dim);
    attention_describe(self->stages[MHA_ATTEND], "    ", lines);
    text_format(lines, "  Merge (%s): [%lld, %lld, %lld]\n", how, batch, q_len,
                (long long)(desc->n_heads * desc->v_dim));
    describe_projection(self, MHA_PROJECT_HEAD, "F(H) = Merge(...) W_head", lines);
    text_format(lines, "  workspace: %zu bytes\n", self->base.workspace_bytes);
}
