/* The execution provider of one session. */
#ifndef OCLATTN_ORT_EP_H
#define OCLATTN_ORT_EP_H

#include "lanes.h"
#include "options.h"
#include "plans.h"
#include "run.h"

#define EP_NAME "OclattnExecutionProvider"

typedef struct ep_provider {
    ort_ep table; /* first, so that a pointer to it is one to the provider */
    ort_host host;
    session_settings options;
    oclattn_context *context;
    memory_access access;
    plan_cache plans;
    lane_pool lanes;
    bool has_nodes; /* compiled ones */
} ep_provider;

oclattn_status provider_create(const ort_host *host, const ort_session_options *session, ep_provider **created,
                               oclattn_error *error);
void provider_destroy(ep_provider *provider);

#endif
