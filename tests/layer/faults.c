/* Calls that fail on demand. */
#include "parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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

static bool strikes(const char *function) {
    if (strcmp(order.function, function) != 0 && strcmp(order.function, "any") != 0) {
        return false;
    }
    order.seen++;
    return order.seen == order.nth || (order.also_later_ones && order.seen > order.nth);
}

cl_int fault(const char *function) {
    const char *text = setting("FAIL");
    const char *crashing = setting("CRASH");
    if (crashing != NULL && strcmp(crashing, function) == 0) {
        abort();
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
    const cl_int code = strikes(function) ? order.code : CL_SUCCESS;
    pthread_mutex_unlock(&lock);
    return code;
}
