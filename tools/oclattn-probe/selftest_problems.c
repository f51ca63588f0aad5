/* The child's side: the problems, by operation. */
#include "selftest_values.h"

size_t problem_count(plan_kind operation) {
    switch (operation) {
    case PLAN_ATTENTION:
        return attention_count();
    case PLAN_PROJECTION:
        return projection_count();
    case PLAN_MERGE_STATES:
        return states_count();
    default:
        return heads_count();
    }
}

void problem_describe(plan_kind operation, size_t index, char *words, size_t size) {
    switch (operation) {
    case PLAN_ATTENTION:
        attention_describe(index, words, size);
        break;
    case PLAN_PROJECTION:
        projection_describe(index, words, size);
        break;
    case PLAN_MERGE_STATES:
        states_describe(index, words, size);
        break;
    default:
        heads_describe(index, words, size);
    }
}

void problem_run(session *s, plan_kind operation, const char *variant, size_t index, outcome *result) {
    if (operation == PLAN_ATTENTION) {
        attention_run(s, variant, index, result);
    } else if (operation == PLAN_PROJECTION) {
        projection_run(s, variant, index, result);
    } else if (operation == PLAN_MERGE_STATES) {
        states_run(s, index, result);
    } else {
        heads_run(s, operation == PLAN_SPLIT, index, result);
    }
}
