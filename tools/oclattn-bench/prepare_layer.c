/* F(H) with biases, and weights stored [out, in], as trained models have them. */
#include <math.h>
#include <string.h>

#include "oclattn-run/common.h"
#include "prepared.h"

static const float bias_scale = 0.1f;

static bool plan_layer(prepared *r, failure *f) {
    const bench_problem *p = r->problem;
    const bool of_projection = p->variant && strncmp(p->variant, "projection", strlen("projection")) == 0;
    oclattn_mha_desc desc;
    oclattn_error error = {0};
    oclattn_mha_desc_init(&desc);
    desc.flags = OCLATTN_MHA_WEIGHTS_OUT_IN | OCLATTN_MHA_B_Q | OCLATTN_MHA_B_K | OCLATTN_MHA_B_V | OCLATTN_MHA_B_HEAD;
    desc.x_type = desc.w_type = desc.y_type = p->type;
    desc.batch = p->batch;
    desc.q_len = p->q_len;
    desc.d_model = p->d_model;
    desc.n_heads = p->q_heads;
    desc.n_kv_heads = p->kv_heads;
    desc.head_dim = p->head_dim;
    desc.v_dim = p->v_dim;
    desc.projection_variant = of_projection ? p->variant : NULL;
    desc.attention_variant = of_projection ? NULL : p->variant;
    desc.score.align = p->align;
    desc.score.window_left = p->window_left;
    desc.score.window_right = p->window_right;
    desc.score.flags |= p->causal ? OCLATTN_CAUSAL : 0;
    const oclattn_status status = oclattn_mha_plan(r->device->context, &desc, &r->plan, &error);
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

static bool make_matrix(prepared *r, int64_t in, int64_t out, oclattn_tensor *w, oclattn_tensor *b, failure *f) {
    int64_t count = 0;
    return count_of(1, in, out, &count, f) &&
           prepared_input(r, r->problem->type, count, (float)(1 / sqrt((double)in)), w, f) &&
           prepared_input(r, r->problem->type, out, bias_scale, b, f);
}

static bool make_weights(prepared *r, failure *f) {
    const bench_problem *p = r->problem;
    const int64_t merged = p->q_heads * p->v_dim;
    oclattn_mha_weights_args *w = &r->mha_weights;
    oclattn_error error = {0};
    oclattn_mha_weights_args_init(w);
    if (!make_matrix(r, p->d_model, p->q_heads * p->head_dim, &w->w_q, &w->b_q, f) ||
        !make_matrix(r, p->d_model, p->kv_heads * p->head_dim, &w->w_k, &w->b_k, f) ||
        !make_matrix(r, p->d_model, p->kv_heads * p->v_dim, &w->w_v, &w->b_v, f) ||
        !make_matrix(r, merged, p->d_model, &w->w_head, &w->b_head, f)) {
        return false;
    }
    const oclattn_status status = oclattn_mha_weights(r->plan, r->device->queue, w, &r->weights, &error);
    r->mha.weights = r->weights;
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

bool prepare_layer(prepared *r, failure *f) {
    const bench_problem *p = r->problem;
    int64_t count = 0;
    oclattn_mha_args_init(&r->mha);
    return count_of(p->batch, p->q_len, p->d_model, &count, f) && prepared_plan(r, plan_layer, f) &&
           make_weights(r, f) && prepared_input(r, p->type, count, 1, &r->mha.x, f) &&
           prepared_output(r, count, &r->mha.y, f) && prepared_workspace(r, &r->mha.workspace, f);
}
