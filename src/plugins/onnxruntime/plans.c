#include "plans.h"

#include <stdlib.h>

struct plan_class {
    plan_class *next;
    oclattn_attention_desc desc;
    pthread_mutex_t lock; /* held while planning */
    oclattn_plan *plan;   /* NULL: not yet */
};

void plans_init(plan_cache *plans, oclattn_context *context, const ort_host *host) {
    *plans = (struct plan_cache){.context = context, .host = host};
    pthread_mutex_init(&plans->lock, NULL);
}

void plans_clear(plan_cache *plans) {
    while (plans->classes != NULL) {
        plan_class *next = plans->classes->next;
        oclattn_plan_destroy(plans->classes->plan);
        pthread_mutex_destroy(&plans->classes->lock);
        free(plans->classes);
        plans->classes = next;
    }
    pthread_mutex_destroy(&plans->lock);
}

static int64_t round_up(int64_t length) {
    int64_t rounded = 1;
    while (rounded < length) {
        rounded *= 2;
    }
    return length == 0 ? 0 : rounded;
}

static bool same_sizes(const oclattn_attention_desc *a, const oclattn_attention_desc *b) {
    return a->batch == b->batch && a->q_heads == b->q_heads && a->kv_heads == b->kv_heads && a->q_len == b->q_len &&
           a->kv_len == b->kv_len && a->head_dim == b->head_dim && a->v_dim == b->v_dim;
}

static bool same_types(const oclattn_attention_desc *a, const oclattn_attention_desc *b) {
    return a->q_type == b->q_type && a->k_type == b->k_type && a->v_type == b->v_type && a->o_type == b->o_type &&
           a->score.bias_type == b->score.bias_type;
}

static bool same_options(const oclattn_score_options *a, const oclattn_score_options *b) {
    return a->flags == b->flags && a->align == b->align && a->scale == b->scale && a->softcap == b->softcap &&
           a->window_left == b->window_left && a->window_right == b->window_right && a->mask_kv_len == b->mask_kv_len &&
           a->bias_kv_len == b->bias_kv_len;
}

/* Strides are given at run time, and the rest is as init leaves it. */
static bool same_class(const oclattn_attention_desc *a, const oclattn_attention_desc *b) {
    return same_sizes(a, b) && same_types(a, b) && same_options(&a->score, &b->score) &&
           a->scores_kind == b->scores_kind;
}

static plan_class *find_or_add(plan_cache *plans, const oclattn_attention_desc *desc) {
    pthread_mutex_lock(&plans->lock);
    plan_class *found = plans->classes;
    while (found != NULL && !same_class(&found->desc, desc)) {
        found = found->next;
    }
    if (found == NULL) {
        found = calloc(1, sizeof(*found));
        if (found != NULL) {
            found->desc = *desc;
            pthread_mutex_init(&found->lock, NULL);
            found->next = plans->classes;
            plans->classes = found;
        }
    }
    pthread_mutex_unlock(&plans->lock);
    return found;
}

static void log_plan(const plan_cache *plans, const plan_class *class) {
    const oclattn_attention_desc *desc = &class->desc;
    host_log(plans->host, OCLATTN_LOG_INFO,
             "planned %s for batch %lld, heads %lld/%lld, up to %lld queries and %lld keys, head_dim %lld",
             oclattn_plan_variant(class->plan), (long long)desc->batch, (long long)desc->q_heads,
             (long long)desc->kv_heads, (long long)desc->q_len, (long long)desc->kv_len, (long long)desc->head_dim);
}

static oclattn_status plan_once(plan_cache *plans, plan_class *class, oclattn_error *error) {
    oclattn_status status = OCLATTN_OK;
    pthread_mutex_lock(&class->lock);
    if (class->plan == NULL) {
        status = oclattn_attention_plan(plans->context, &class->desc, &class->plan, error);
        if (status == OCLATTN_OK) {
            log_plan(plans, class);
        }
    }
    pthread_mutex_unlock(&class->lock);
    return status;
}

static oclattn_status find(plan_cache *plans, const oclattn_attention_desc *desc, const oclattn_plan **plan,
                           oclattn_error *error) {
    plan_class *class = find_or_add(plans, desc);
    if (class == NULL) {
        return refuse(error, OCLATTN_OUT_OF_MEMORY, "no memory for a plan");
    }
    RETURN_IF_ERROR(plan_once(plans, class, error));
    *plan = class->plan;
    return OCLATTN_OK;
}

oclattn_status plans_find(plan_cache *plans, const oclattn_attention_desc *desc, const oclattn_plan **plan,
                          oclattn_error *error) {
    oclattn_attention_desc rounded = *desc;
    rounded.score.flags |= OCLATTN_RUNTIME_LENGTHS;
    rounded.q_len = round_up(desc->q_len);
    rounded.kv_len = round_up(desc->kv_len);
    const oclattn_status status = find(plans, &rounded, plan, error);
    if (status != OCLATTN_OUT_OF_MEMORY) {
        return status;
    }
    /* What does not fit rounded up may fit as it is. */
    rounded.q_len = desc->q_len;
    rounded.kv_len = desc->kv_len;
    return find(plans, &rounded, plan, error);
}
