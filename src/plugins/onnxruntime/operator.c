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
