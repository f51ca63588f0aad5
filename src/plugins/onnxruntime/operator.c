#include "operator.h"

#include <string.h>

static const attention_operator *const operators[] = {&operator_attention, &operator_multi_head, &operator_group_query};

const attention_operator *operator_find(const char *domain, const char *type) {
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i) {
        if (strcmp(operators[i]->domain, domain) == 0 && strcmp(operators[i]->type, type) == 0) {
            return operators[i];
        }
    }
    return NULL;
}

static void call_each(void (*function)(void *user, size_t i), size_t total, void *user) {
    for (size_t i = 0; i < total; ++i) {
        function(user, i);
    }
}

void host_parallel(const attention_call *call, void (*function)(void *user, size_t i), size_t total, void *user) {
    const ort_api *api = call->host->api;
    ort_status *status = api->KernelContext_ParallelFor(call->context, function, total, 0, user);
    if (status != NULL) {
        api->ReleaseStatus(status);
        call_each(function, total, user);
    }
}

/* Less is copied faster than another thread wakes up. */
enum { PARALLEL_BYTES = 1 << 18 };

void call_parallel(const attention_call *call, void (*function)(void *user, size_t i), size_t total, size_t bytes,
                   void *user) {
    if (bytes >= PARALLEL_BYTES && total > 1) {
        host_parallel(call, function, total, user);
    } else {
        call_each(function, total, user);
    }
}
