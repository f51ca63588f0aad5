#include "answer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/error.h"

/* What a query says of its length is believed up to here: the longest list of extensions has some 5000. */
#define MOST_ANSWER_BYTES ((size_t)32 << 10)
/* Behind the answer, to see whether the driver writes more than it announced. */
#define GUARD_BYTES ((size_t)256)
#define GUARD 0xA5

static cl_int query(query_target target, cl_uint param, size_t size, void *value, size_t *returned) {
    return target.platform ? clGetPlatformInfo(target.platform, param, size, value, returned)
                           : clGetDeviceInfo(target.device, param, size, value, returned);
}

static query_answer refused_code(cl_int code) {
    query_answer answer = {0};
    snprintf(answer.reason, sizeof answer.reason, "%s (%d)", cl_error_name(code), (int)code);
    return answer;
}

static bool guard_is_whole(const unsigned char *guard) {
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (guard[i] != GUARD) {
            return false;
        }
    }
    return true;
}

/* `room` has `size` bytes, and the guard behind them. */
static query_answer take(query_target target, cl_uint param, size_t size, char *room) {
    query_answer answer = {.length = size};
    memset(room + size, GUARD, GUARD_BYTES);
    const cl_int code = size > 0 ? query(target, param, size, room, NULL) : CL_SUCCESS;
    if (code != CL_SUCCESS) {
        return refused_code(code);
    }
    if (!guard_is_whole((unsigned char *)room + size)) {
        snprintf(answer.reason, sizeof answer.reason, "the driver writes more than the %zu bytes that it announced",
                 size);
        return answer;
    }
    room[size] = '\0';
    answer.bytes = room;
    return answer;
}

query_answer answer_ask(query_target target, cl_uint param) {
    query_answer answer = {0};
    size_t size = 0;
    const cl_int code = query(target, param, 0, NULL, &size);
    if (code != CL_SUCCESS) {
        return refused_code(code);
    }
    if (size > MOST_ANSWER_BYTES) {
        snprintf(answer.reason, sizeof answer.reason, "the driver announces an answer of %zu bytes", size);
        return answer;
    }
    char *room = calloc(size + GUARD_BYTES, 1);
    if (!room) {
        return refused_code(CL_OUT_OF_HOST_MEMORY);
    }
    answer = take(target, param, size, room);
    if (!answer.bytes) {
        free(room);
    }
    return answer;
}

void answer_clear(query_answer *answer) {
    free(answer->bytes);
    answer->bytes = NULL;
}
