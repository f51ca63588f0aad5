/* Attributes of a node. */
#ifndef OCLATTN_ORT_ATTRIBUTES_H
#define OCLATTN_ORT_ATTRIBUTES_H

#include "host.h"

enum { MOST_ATTRIBUTES = 32, ATTRIBUTE_TEXT_SIZE = 32 };

typedef struct node_attribute {
    const char *name; /* the operator's; static */
    int type;         /* an ort_attribute_type */
    int64_t integer;
    float number;
    char text[ATTRIBUTE_TEXT_SIZE];
} node_attribute;

typedef struct attribute_list {
    node_attribute all[MOST_ATTRIBUTES];
    size_t count;
} attribute_list;

/* Reads all of them; refuses one that is not among the `known` names (NULL ends them) or is no number and no string. */
oclattn_status attributes_read(const ort_host *host, const ort_node *node, const char *const *known,
                               attribute_list *read, oclattn_error *error);

bool attributes_have(const attribute_list *attributes, const char *name);
int64_t attributes_integer(const attribute_list *attributes, const char *name, int64_t otherwise);
float attributes_number(const attribute_list *attributes, const char *name, float otherwise);
const char *attributes_text(const attribute_list *attributes, const char *name, const char *otherwise);

#endif
