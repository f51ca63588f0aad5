#include "node.h"

#include <stdio.h>
#include <string.h>

#include "operator.h"

static size_t count_names(const char *const *names) {
    size_t count = 0;
    while (names[count] != NULL) {
        ++count;
    }
    return count;
}

static oclattn_status read_kind(const ort_host *host, const ort_node *node, const char **domain, const char **type,
                                oclattn_error *error) {
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetOperatorType(node, type), error));
    return host_check(host, host->api->Node_GetDomain(node, domain), error);
}

bool node_is_attention(const ort_host *host, const ort_node *node) {
    oclattn_error error;
    const char *domain = NULL, *type = NULL;
    return read_kind(host, node, &domain, &type, &error) == OCLATTN_OK && strstr(type, "Attention") != NULL;
}

static oclattn_status find_operator(const ort_host *host, const ort_node *node, attention_node *read,
                                    oclattn_error *error) {
    const char *domain = NULL, *type = NULL;
    int version = 0;
    RETURN_IF_ERROR(read_kind(host, node, &domain, &type, error));
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetSinceVersion(node, &version), error));
    snprintf(read->type, sizeof(read->type), "%s", type);
    read->operator= operator_find(domain, type);
    if (read->operator== NULL) {
        return refuse(error, OCLATTN_UNSUPPORTED, "this operator of domain \"%s\" is not built", domain);
    }
    if (version < read->operator->oldest || version> read->operator->newest) {
        return refuse(error, OCLATTN_UNSUPPORTED, "version %d of %s is not known, %d to %d are", version, type,
                      read->operator->oldest, read->operator->newest);
    }
    return OCLATTN_OK;
}

/* Inputs that a later version of the operator has may be there, but must not be given. */
static oclattn_status read_inputs(const ort_host *host, const ort_node *node, attention_node *read,
                                  oclattn_error *error) {
    const ort_value_info *infos[MOST_INPUTS] = {NULL};
    const char *const *names = read->operator->inputs;
    const size_t known = count_names(names);
    size_t count = 0;
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetNumInputs(node, &count), error));
    if (count > MOST_INPUTS) {
        return refuse(error, OCLATTN_UNSUPPORTED, "it has %zu inputs, %zu are known", count, known);
    }
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetInputs(node, infos, count), error));
    for (size_t i = 0; i < known; ++i) {
        RETURN_IF_ERROR(tensor_declared(host, infos[i], names[i], &read->inputs[i], error));
    }
    for (size_t i = known; i < count; ++i) {
        host_tensor unknown = {.element = ORT_UNDEFINED};
        RETURN_IF_ERROR(tensor_declared(host, infos[i], "input", &unknown, error));
        if (tensor_given(&unknown)) {
            return refuse(error, OCLATTN_UNSUPPORTED, "its input %zu is not known here", i);
        }
    }
    return OCLATTN_OK;
}

static oclattn_status read_outputs(const ort_host *host, const ort_node *node, attention_node *read,
                                   oclattn_error *error) {
    const ort_value_info *infos[MOST_OUTPUTS] = {NULL};
    const size_t known = count_names(read->operator->outputs);
    size_t count = 0;
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetNumOutputs(node, &count), error));
    if (count > known) {
        return refuse(error, OCLATTN_UNSUPPORTED, "it has %zu outputs, %zu are known", count, known);
    }
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetOutputs(node, infos, count), error));
    for (size_t i = 0; i < count; ++i) {
        const char *name = "";
        if (infos[i] != NULL) {
            RETURN_IF_ERROR(host_check(host, host->api->GetValueInfoName(infos[i], &name), error));
        }
        read->outputs[i] = name[0] != '\0';
    }
    return OCLATTN_OK;
}

oclattn_status node_read(const ort_host *host, const ort_node *node, attention_node *read, oclattn_error *error) {
    attribute_list attributes;
    const char *name = NULL;
    *read = (attention_node){.options = {.window_left = -1, .window_right = -1}};
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetName(node, &name), error));
    snprintf(read->name, sizeof(read->name), "%s", name);
    RETURN_IF_ERROR(find_operator(host, node, read, error));
    RETURN_IF_ERROR(read_inputs(host, node, read, error));
    RETURN_IF_ERROR(read_outputs(host, node, read, error));
    RETURN_IF_ERROR(attributes_read(host, node, read->operator->attributes, &attributes, error));
    return read->operator->options(&attributes, &read->options, error);
}

static oclattn_status find_value(const ort_host *host, const ort_value_info *value, const ort_value_info *const *among,
                                 size_t count, size_t *at, oclattn_error *error) {
    const char *wanted = "", *name = "";
    RETURN_IF_ERROR(host_check(host, host->api->GetValueInfoName(value, &wanted), error));
    for (size_t i = 0; i < count; ++i) {
        RETURN_IF_ERROR(host_check(host, host->api->GetValueInfoName(among[i], &name), error));
        if (strcmp(name, wanted) == 0) {
            *at = i;
            return OCLATTN_OK;
        }
    }
    return refuse(error, OCLATTN_INVALID_ARGUMENT, "the fused node lacks %s", wanted);
}

oclattn_status node_locate(const ort_host *host, const ort_node *node, const ort_node *fused, attention_node *read,
                           oclattn_error *error) {
    const ort_value_info *own[MOST_INPUTS] = {NULL}, *outer[MOST_INPUTS] = {NULL};
    size_t count = 0, outer_count = 0;
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetNumInputs(node, &count), error));
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetNumInputs(fused, &outer_count), error));
    if (count > MOST_INPUTS || outer_count > MOST_INPUTS) {
        return refuse(error, OCLATTN_UNSUPPORTED, "the fused node has %zu inputs", outer_count);
    }
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetInputs(node, own, count), error));
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetInputs(fused, outer, outer_count), error));
    for (size_t i = 0; i < count; ++i) {
        if (tensor_given(&read->inputs[i])) {
            RETURN_IF_ERROR(find_value(host, own[i], outer, outer_count, &read->input_at[i], error));
        }
    }
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetNumOutputs(node, &count), error));
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetNumOutputs(fused, &outer_count), error));
    if (count > MOST_OUTPUTS || outer_count > MOST_OUTPUTS) {
        return refuse(error, OCLATTN_UNSUPPORTED, "the fused node has %zu outputs", outer_count);
    }
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetOutputs(node, own, count), error));
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetOutputs(fused, outer, outer_count), error));
    for (size_t i = 0; i < count; ++i) {
        if (read->outputs[i]) {
            /* An output that nobody reads may be missing from the fused node: then it is not computed. */
            read->outputs[i] = find_value(host, own[i], outer, outer_count, &read->output_at[i], error) == OCLATTN_OK;
        }
    }
    return OCLATTN_OK;
}
