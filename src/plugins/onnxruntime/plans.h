/* Plans, one for each class of shapes. Lengths are rounded up to powers of two and given at run time, so that a cache
 * which grows by a key per step needs a new plan only when its length has doubled. */
#ifndef OCLATTN_ORT_PLANS_H
#define OCLATTN_ORT_PLANS_H

#include <pthread.h>

#include "host.h"

typedef struct plan_class plan_class;

typedef struct plan_cache {
    oclattn_context *context;
    const ort_host *host;
    pthread_mutex_t lock;
    plan_class *classes;
} plan_cache;

void plans_init(plan_cache *plans, oclattn_context *context, const ort_host *host);
void plans_clear(plan_cache *plans);

/* The plan for a description whose lengths are exact, made at the first call of its class. Threads that want the same
 * one wait for it, others do not. The plan belongs to `plans`. */
oclattn_status plans_find(plan_cache *plans, const oclattn_attention_desc *desc, const oclattn_plan **plan,
                          oclattn_error *error);

#endif
