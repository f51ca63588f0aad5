/* A claimed node that runs. */
#ifndef OCLATTN_ORT_COMPUTE_H
#define OCLATTN_ORT_COMPUTE_H

#include "ep.h"
#include "operator.h"

/* Whether oclattn computes a node as it is declared; error says why not. */
oclattn_status claim_node(const ep_provider *provider, const attention_node *node, oclattn_error *error);

/* Makes the plan of a claimed node whose sizes are all declared; others get theirs when they run. */
oclattn_status plan_node(ep_provider *provider, const attention_node *node, oclattn_error *error);

/* Computes a node of real tensors. Many threads may be in here at once. */
oclattn_status compute_node(ep_provider *provider, const attention_node *node, ort_context *context,
                            oclattn_error *error);

#endif
