/* The shapes of F(H), stage by stage. */
#include <stdio.h>
#include <string.h>

#include "mha.h"

void mha_width_sentence(const oclattn_mha_desc *d, char *text, size_t size) {
    const long long d_model = d->d_model, heads = d->n_heads, head_dim = d->head_dim, v_dim = d->v_dim;
    if (heads * head_dim == d_model && v_dim == head_dim) {
        snprintf(
            text, size,
            "One head is %lld wide: d_model = heads x head_dim, %lld = %lld x %lld. Only all %lld heads merged are "
            "%lld wide again, so that F(H) can be added to H.",
            head_dim, d_model, heads, head_dim, heads, d_model);
        return;
    }
    snprintf(
        text, size,
        "One head is %lld wide in q and k and %lld in v, as given: the %lld heads merged are %lld wide, and W_head "
        "[%lld, %lld] makes F(H) as wide as d_model, %lld.",
        head_dim, v_dim, heads, heads * v_dim, heads * v_dim, d_model, d_model);
}

typedef struct stage_list {
    mha_stage *stages;
    size_t count;
    int64_t batch, heads;
    bool batched;
} stage_list;

/* [rows, width], or [batch, rows, width] where the input has a batch. */
static void add_matrix(stage_list *list, const char *name, const char *what, int64_t rows, int64_t width) {
    mha_stage *s = &list->stages[list->count++];
    *s = (mha_stage){.name = name, .rank = list->batched ? 3 : 2};
    snprintf(s->what, sizeof s->what, "%s", what);
    int64_t *shape = s->shape;
    if (list->batched) {
        *shape++ = list->batch;
    }
    shape[0] = rows;
    shape[1] = width;
}

static void add_heads(stage_list *list, const char *name, const char *what, int64_t heads, int64_t rows,
                      int64_t width) {
    mha_stage *s = &list->stages[list->count++];
    *s = (mha_stage){.name = name, .rank = 4, .shape = {list->batch, heads, rows, width}};
    snprintf(s->what, sizeof s->what, "%s", what);
}

static const char *product(const oclattn_mha_desc *d, uint32_t bias_flag, const char *plain, const char *with_bias) {
    return d->flags & bias_flag ? with_bias : plain;
}

size_t mha_stages(const mha_problem *p, mha_stage stages[MOST_STAGES]) {
    const oclattn_mha_desc *d = &p->desc;
    const int64_t kv_len = p->cross ? d->kv_len : d->q_len;
    const bool of_kv = p->cross;
    char what[96];
    stage_list list = {.stages = stages, .batch = d->batch, .heads = d->n_heads, .batched = p->batched};
    add_matrix(&list, "H", "input", d->q_len, d->d_model);
    if (of_kv) {
        add_matrix(&list, "KV", "input of keys and values", kv_len, d->kv_width);
    }
    add_matrix(&list, "Q", product(d, OCLATTN_MHA_B_Q, "H W_q", "H W_q + b_q"), d->q_len, d->n_heads * d->head_dim);
    add_matrix(&list, "K",
               of_kv ? product(d, OCLATTN_MHA_B_K, "KV W_k", "KV W_k + b_k")
                     : product(d, OCLATTN_MHA_B_K, "H W_k", "H W_k + b_k"),
               kv_len, d->n_kv_heads * d->head_dim);
    add_matrix(&list, "V",
               of_kv ? product(d, OCLATTN_MHA_B_V, "KV W_v", "KV W_v + b_v")
                     : product(d, OCLATTN_MHA_B_V, "H W_v", "H W_v + b_v"),
               kv_len, d->n_kv_heads * d->v_dim);
    add_heads(&list, "split Q", "[batch, heads, rows, head_dim]", d->n_heads, d->q_len, d->head_dim);
    add_heads(&list, "split K, V", "[batch, key/value heads, rows, head_dim]", d->n_kv_heads, kv_len, d->head_dim);
    if (d->v_dim != d->head_dim) {
        snprintf(list.stages[list.count - 1].what, sizeof what, "K; V is %lld wide", (long long)d->v_dim);
    }
    snprintf(what, sizeof what, "softmax(scale Q_j K_j^T) V_j, for each of %lld heads", (long long)d->n_heads);
    add_matrix(&list, "each head", what, d->q_len, d->v_dim);
    snprintf(what, sizeof what, "%lld heads side by side: %lld x %lld = %lld columns", (long long)d->n_heads,
             (long long)d->n_heads, (long long)d->v_dim, (long long)(d->n_heads * d->v_dim));
    add_matrix(&list, "merged", what, d->q_len, d->n_heads * d->v_dim);
    add_matrix(&list, "F(H)", product(d, OCLATTN_MHA_B_HEAD, "merged W_head", "merged W_head + b_head"), d->q_len,
               d->d_model);
    return list.count;
}
