#include "ep.h"

#include <stdlib.h>
#include <string.h>

#include "compute.h"

/* A fused node, which is one attention node of the graph. */
typedef struct fused_node {
    ort_compute_info table; /* first, so that a pointer to it is one to this */
    ep_provider *provider;
    attention_node node;
} fused_node;

static const char *get_name(const ort_ep *ep) {
    (void)ep;
    return EP_NAME;
}

/* ---- which nodes ------------------------------------------------------------------------------------------------ */

static oclattn_status add_node(const ep_provider *provider, const ort_node *node, ort_support_info *info,
                               oclattn_error *error) {
    static const ort_fusion_options options = {.version = ORT_VERSION_ASKED};
    return host_check(&provider->host,
                      provider->host.ep_api->EpGraphSupportInfo_AddNodesToFuse(info, &node, 1, &options), error);
}

static bool belongs_to_another(const ep_provider *provider, const ort_node *node) {
    oclattn_error error;
    const char *name = NULL;
    return host_check(&provider->host, provider->host.api->Node_GetEpName(node, &name), &error) == OCLATTN_OK &&
           name != NULL && name[0] != '\0' && strcmp(name, EP_NAME) != 0;
}

static oclattn_status check_graph(const ep_provider *provider, oclattn_error *error) {
    if (provider->host.one_graph && provider->has_nodes) {
        return refuse(error, OCLATTN_UNSUPPORTED,
                      "nodes in another graph of the model are claimed already; ONNX Runtime 1.24 takes more");
    }
    return OCLATTN_OK;
}

/* Not to claim a node is no error: the host has others who can. */
static oclattn_status consider_node(const ep_provider *provider, const ort_node *node, ort_support_info *info,
                                    oclattn_error *error) {
    attention_node read;
    oclattn_error reason;
    if (!node_is_attention(&provider->host, node) || belongs_to_another(provider, node)) {
        return OCLATTN_OK;
    }
    oclattn_status status = node_read(&provider->host, node, &read, &reason);
    if (status == OCLATTN_OK) {
        status = check_graph(provider, &reason);
    }
    if (status == OCLATTN_OK) {
        status = claim_node(provider, &read, &reason);
    }
    if (status != OCLATTN_OK) {
        host_log(&provider->host, OCLATTN_LOG_WARNING, "%s node \"%s\" is not claimed: %s", read.type, read.name,
                 reason.message);
        return OCLATTN_OK;
    }
    host_log(&provider->host, OCLATTN_LOG_INFO, "%s node \"%s\" is claimed", read.type, read.name);
    return add_node(provider, node, info, error);
}

static oclattn_status consider_nodes(const ep_provider *provider, const ort_graph *graph, ort_support_info *info,
                                     oclattn_error *error) {
    const ort_api *api = provider->host.api;
    size_t count = 0;
    RETURN_IF_ERROR(host_check(&provider->host, api->Graph_GetNumNodes(graph, &count), error));
    const ort_node **nodes = calloc(count + 1, sizeof(*nodes));
    if (nodes == NULL) {
        return refuse(error, OCLATTN_OUT_OF_MEMORY, "no memory for %zu nodes", count);
    }
    oclattn_status status = host_check(&provider->host, api->Graph_GetNodes(graph, nodes, count), error);
    for (size_t i = 0; status == OCLATTN_OK && i < count; ++i) {
        status = consider_node(provider, nodes[i], info, error);
    }
    free(nodes);
    return status;
}

static ort_status *get_capability(ort_ep *ep, const ort_graph *graph, ort_support_info *info) {
    oclattn_error error;
    const ep_provider *provider = (const struct ep_provider *)ep;
    const oclattn_status status = consider_nodes(provider, graph, info, &error);
    return status == OCLATTN_OK ? NULL : host_status(provider->host.api, NULL, &error);
}

/* ---- running them ----------------------------------------------------------------------------------------------- */

static ort_status *create_state(ort_compute_info *info, void *compute_context, void **state) {
    (void)compute_context;
    *state = info;
    return NULL;
}

static ort_status *compute(ort_compute_info *info, void *state, ort_context *context) {
    oclattn_error error;
    const fused_node *fused = (const fused_node *)info;
    (void)state;
    const oclattn_status status = compute_node(fused->provider, &fused->node, context, &error);
    return status == OCLATTN_OK ? NULL : host_status(fused->provider->host.api, fused->node.name, &error);
}

static void release_state(ort_compute_info *info, void *state) {
    (void)info;
    (void)state;
}

static oclattn_status read_fused(const ep_provider *provider, const ort_graph *graph, const ort_node *fused,
                                 attention_node *read, oclattn_error *error) {
    const ort_host *host = &provider->host;
    const ort_node *node = NULL;
    size_t count = 0;
    RETURN_IF_ERROR(host_check(host, host->api->Graph_GetNumNodes(graph, &count), error));
    if (count != 1) {
        return refuse(error, OCLATTN_INVALID_ARGUMENT, "a fused graph has %zu nodes, one was claimed", count);
    }
    RETURN_IF_ERROR(host_check(host, host->api->Graph_GetNodes(graph, &node, count), error));
    RETURN_IF_ERROR(node_read(host, node, read, error));
    return node_locate(host, node, fused, read, error);
}

static oclattn_status compile_one(ep_provider *provider, const ort_graph *graph, const ort_node *fused,
                                  ort_compute_info **info, oclattn_error *error) {
    fused_node *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return refuse(error, OCLATTN_OUT_OF_MEMORY, "no memory for a node");
    }
    *info = &made->table;
    made->table.version = ORT_VERSION_ASKED;
    made->table.CreateState = create_state;
    made->table.Compute = compute;
    made->table.ReleaseState = release_state;
    made->provider = provider;
    RETURN_IF_ERROR(read_fused(provider, graph, fused, &made->node, error));
    return plan_node(provider, &made->node, error);
}

static void release_infos(ort_ep *ep, ort_compute_info **infos, size_t count) {
    (void)ep;
    for (size_t i = 0; i < count; ++i) {
        free(infos[i]);
        infos[i] = NULL;
    }
}

static ort_status *compile(ort_ep *ep, const ort_graph **graphs, const ort_node **fused, size_t count,
                           ort_compute_info **infos, ort_node **context_nodes) {
    oclattn_error error;
    ep_provider *provider = (struct ep_provider *)ep;
    (void)context_nodes;
    provider->has_nodes = true;
    for (size_t i = 0; i < count; ++i) {
        if (compile_one(provider, graphs[i], fused[i], &infos[i], &error) != OCLATTN_OK) {
            release_infos(ep, infos, i + 1);
            return host_status(provider->host.api, NULL, &error);
        }
    }
    return NULL;
}

/* ---- its life --------------------------------------------------------------------------------------------------- */

static oclattn_status create_context(ep_provider *provider, oclattn_error *error) {
    const session_settings *options = &provider->options;
    oclattn_context_options wanted;
    oclattn_context_options_init(&wanted);
    wanted.device = options->device[0] != '\0' ? options->device : NULL;
    wanted.cache_dir = options->cache_folder[0] != '\0' ? options->cache_folder : NULL;
    if (strcmp(options->cache_folder, "none") == 0) {
        wanted.cache_dir = "";
    }
    wanted.log_level = options->log_level;
    wanted.log = host_log_line;
    wanted.log_user = &provider->host;
    return oclattn_context_create(&wanted, &provider->context, error);
}

static bool is_cpu(const oclattn_device_info *info) {
    return (info->type & CL_DEVICE_TYPE_CPU) != 0;
}

/* Only on CPUs: others may use memory in place in ways that reach beyond a tensor. */
static size_t alignment_of(const oclattn_context *context, const oclattn_device_info *info) {
    cl_uint bits = 0;
    const cl_int code =
        clGetDeviceInfo(oclattn_context_device(context), CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL);
    return is_cpu(info) && code == CL_SUCCESS && bits >= 8 ? bits / 8 : 1;
}

static oclattn_status read_device(ep_provider *provider, oclattn_error *error) {
    oclattn_device_info info;
    oclattn_device_info_init(&info);
    RETURN_IF_ERROR(oclattn_context_device_info(provider->context, &info, error));
    provider->access =
        (memory_access){.cl = oclattn_context_cl(provider->context),
                        .shared = info.host_unified_memory != 0,
                        .alignment = alignment_of(provider->context, &info),
                        .host_threads = provider->options.host_spins && is_cpu(&info) ? info.compute_units : 0};
    host_log(&provider->host, OCLATTN_LOG_INFO, "the device is %s (%s), which %s the host's memory", info.name,
             info.platform, provider->access.shared ? "shares" : "does not share");
    return OCLATTN_OK;
}

static oclattn_status fill(ep_provider *provider, const ort_session_options *session, oclattn_error *error) {
    RETURN_IF_ERROR(options_read(&provider->host, session, &provider->options, error));
    provider->host.level = provider->options.log_level;
    RETURN_IF_ERROR(create_context(provider, error));
    return read_device(provider, error);
}

oclattn_status provider_create(const ort_host *host, const ort_session_options *session, ep_provider **created,
                               oclattn_error *error) {
    ep_provider *provider = calloc(1, sizeof(*provider));
    if (provider == NULL) {
        return refuse(error, OCLATTN_OUT_OF_MEMORY, "no memory for an execution provider");
    }
    provider->host = *host;
    const oclattn_status status = fill(provider, session, error);
    plans_init(&provider->plans, provider->context, &provider->host);
    lanes_init(&provider->lanes, provider->context);
    if (status != OCLATTN_OK) {
        provider_destroy(provider);
        return status;
    }
    provider->table.version = ORT_VERSION_ASKED;
    provider->table.GetName = get_name;
    provider->table.GetCapability = get_capability;
    provider->table.Compile = compile;
    provider->table.ReleaseNodeComputeInfos = release_infos;
    *created = provider;
    return OCLATTN_OK;
}

void provider_destroy(ep_provider *provider) {
    if (provider == NULL) {
        return;
    }
    lanes_clear(&provider->lanes);
    plans_clear(&provider->plans);
    oclattn_context_destroy(provider->context);
    free(provider);
}
