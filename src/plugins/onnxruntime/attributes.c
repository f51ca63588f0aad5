#include "attributes.h"

#include <string.h>

static const char *find_name(const char *const *known, const char *name) {
    while (*known != NULL && strcmp(*known, name) != 0) {
        ++known;
    }
    return *known;
}

static oclattn_status read_value(const ort_host *host, const ort_attribute *from, node_attribute *to,
                                 oclattn_error *error) {
    size_t needed = 0;
    RETURN_IF_ERROR(host_check(host, host->api->OpAttr_GetType(from, &to->type), error));
    switch (to->type) {
    case ORT_ATTRIBUTE_INT:
        return host_check(host, host->api->ReadOpAttr(from, to->type, &to->integer, sizeof(to->integer), &needed),
                          error);
    case ORT_ATTRIBUTE_FLOAT:
        return host_check(host, host->api->ReadOpAttr(from, to->type, &to->number, sizeof(to->number), &needed), error);
    case ORT_ATTRIBUTE_STRING:
        return host_check(host, host->api->ReadOpAttr(from, to->type, to->text, sizeof(to->text) - 1, &needed), error);
    default:
        return refuse(error, OCLATTN_UNSUPPORTED, "attribute %s has type %d", to->name, to->type);
    }
}

static oclattn_status read_one(const ort_host *host, const ort_attribute *from, const char *const *known,
                               node_attribute *to, oclattn_error *error) {
    const char *name = NULL;
    RETURN_IF_ERROR(host_check(host, host->api->OpAttr_GetName(from, &name), error));
    to->name = find_name(known, name);
    if (to->name == NULL) {
        return refuse(error, OCLATTN_UNSUPPORTED, "attribute %s is not known here", name);
    }
    return read_value(host, from, to, error);
}

oclattn_status attributes_read(const ort_host *host, const ort_node *node, const char *const *known,
                               attribute_list *read, oclattn_error *error) {
    const ort_attribute *found[MOST_ATTRIBUTES];
    *read = (attribute_list){.count = 0};
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetNumAttributes(node, &read->count), error));
    if (read->count > MOST_ATTRIBUTES) {
        return refuse(error, OCLATTN_UNSUPPORTED, "it has %zu attributes", read->count);
    }
    RETURN_IF_ERROR(host_check(host, host->api->Node_GetAttributes(node, found, read->count), error));
    for (size_t i = 0; i < read->count; ++i) {
        RETURN_IF_ERROR(read_one(host, found[i], known, &read->all[i], error));
    }
    return OCLATTN_OK;
}

static const node_attribute *find(const attribute_list *attributes, const char *name, int type) {
    for (size_t i = 0; i < attributes->count; ++i) {
        if (attributes->all[i].type == type && strcmp(attributes->all[i].name, name) == 0) {
            return &attributes->all[i];
        }
    }
    return NULL;
}

bool attributes_have(const attribute_list *attributes, const char *name) {
    return find(attributes, name, ORT_ATTRIBUTE_INT) != NULL || find(attributes, name, ORT_ATTRIBUTE_FLOAT) != NULL ||
           find(attributes, name, ORT_ATTRIBUTE_STRING) != NULL;
}

int64_t attributes_integer(const attribute_list *attributes, const char *name, int64_t otherwise) {
    const node_attribute *found = find(attributes, name, ORT_ATTRIBUTE_INT);
    return found != NULL ? found->integer : otherwise;
}

float attributes_number(const attribute_list *attributes, const char *name, float otherwise) {
    const node_attribute *found = find(attributes, name, ORT_ATTRIBUTE_FLOAT);
    return found != NULL ? found->number : otherwise;
}

const char *attributes_text(const attribute_list *attributes, const char *name, const char *otherwise) {
    const node_attribute *found = find(attributes, name, ORT_ATTRIBUTE_STRING);
    return found != NULL ? found->text : otherwise;
}
