/* Calls that are counted, and fail on demand. */
#include "parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef enum call_group { GROUP_WORK, GROUP_OTHER, GROUP_NEWER } call_group;

typedef struct call_description {
    const char *name;
    call_group group;
} call_description;

#define WORK(name) {#name, GROUP_WORK},
#define OTHER(name) {#name, GROUP_OTHER},
#define NEWER(name) {#name, GROUP_NEWER},
static const call_description descriptions[CALL_COUNT] = {
#include "entry_points.inc"
};
static atomic_ulong seen[CALL_COUNT];

EXPORTED const char *oclattn_layer_call(size_t index, unsigned long *count);

/* The calls of one entry point up to now; NULL behind the last one. */
const char *oclattn_layer_call(size_t index, unsigned long *count) {
    if (index >= CALL_COUNT) {
        return NULL;
    }
    *count = atomic_load(&seen[index]);
    return descriptions[index].name;
}

typedef struct fault_order {
    char text[128]; /* as it was set; another text is another order */
    char function[64];
    unsigned long nth;
    bool also_later_ones;
    int code;
    unsigned long seen;
} fault_order;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fault_order order;

static void parse_order(const char *text) {
    memset(&order, 0, sizeof(order));
    snprintf(order.text, sizeof(order.text), "%s", text);
    if (sscanf(text, "%63[^:]:%lu:%d", order.function, &order.nth, &order.code) == 3) {
        return;
    }
    order.also_later_ones = true;
    if (sscanf(text, "%63[^:]:%lu+:%d", order.function, &order.nth, &order.code) != 3) {
        fprintf(stderr, "OCLATTN_LAYER_FAIL: cannot read \"%s\"\n", text);
        order.function[0] = '\0';
    }
}

static bool is_ordered(const call_description *call) {
    return strcmp(order.function, call->name) == 0 ||
           (strcmp(order.function, "any") == 0 && call->group != GROUP_OTHER);
}

static bool strikes(const call_description *call) {
    if (!is_ordered(call)) {
        return false;
    }
    order.seen++;
    return order.seen == order.nth || (order.also_later_ones && order.seen > order.nth);
}

static cl_int ordered_code(const call_description *call) {
    const char *text = setting("FAIL");
    const char *pause = setting("FAIL_PAUSE");
    if (pause != NULL && pause[0] != '\0') {
        return CL_SUCCESS;
    }
    if (text == NULL) {
        text = "";
    }
    pthread_mutex_lock(&lock);
    if (strcmp(text, order.text) != 0) {
        if (text[0] == '\0') {
            memset(&order, 0, sizeof(order));
        } else {
            parse_order(text);
        }
    }
    const cl_int code = strikes(call) ? order.code : CL_SUCCESS;
    pthread_mutex_unlock(&lock);
    return code;
}

/* Loaders fill the table of a driver that lacks an entry point with a function that answers so. */
static cl_int missing_code(const call_description *call) {
    return call->group == GROUP_NEWER && is_old() ? CL_INVALID_OPERATION : CL_SUCCESS;
}

cl_int fault(entry_point number) {
    const call_description *call = &descriptions[number];
    const char *crashing = setting("CRASH");
    atomic_fetch_add(&seen[number], 1);
    if (crashing != NULL && strcmp(crashing, call->name) == 0) {
        abort();
    }
    const cl_int code = ordered_code(call);
    return code != CL_SUCCESS ? code : missing_code(call);
}
