/* How commands are wrapped. */
#ifndef OCLATTN_TESTS_LAYER_ENQUEUE_H
#define OCLATTN_TESTS_LAYER_ENQUEUE_H

#include "parts.h"

static inline cl_int count_event(cl_int code, const cl_event *event) {
    if (code == CL_SUCCESS && event != NULL) {
        count_created(KIND_EVENT);
    }
    return code;
}

static inline void *count_mapping(void *mapped, cl_int code, const cl_event *event, cl_int *error_code) {
    if (code == CL_SUCCESS) {
        count_created(KIND_MAPPING);
    }
    if (error_code != NULL) {
        *error_code = code;
    }
    count_event(code, event);
    return mapped;
}

#define ENQUEUE_BODY(name, arguments)                                                                                  \
    {                                                                                                                  \
        late_start late;                                                                                               \
        cl_int code = fault(CALL_##name);                                                                              \
        if (code == CL_SUCCESS) {                                                                                      \
            code = late_begin(queue, &count, &wait_list, &late);                                                       \
        }                                                                                                              \
        if (code != CL_SUCCESS) {                                                                                      \
            return code;                                                                                               \
        }                                                                                                              \
        code = target->name(UNPACK arguments);                                                                         \
        late_end(&late);                                                                                               \
        return count_event(code, event);                                                                               \
    }

/* A command whose own parameters stand between the queue and the wait list. */
#define ENQUEUES(name, parameters, arguments)                                                                          \
    static cl_int CL_API_CALL layer_##name(cl_command_queue queue, UNPACK parameters, cl_uint count,                   \
                                           const cl_event *wait_list, cl_event *event)                                 \
        ENQUEUE_BODY(name, (queue, UNPACK arguments, count, wait_list, event))

/* A marker or a barrier. Without a wait list it waits for all that the queue holds, which one with a list does not:
 * that is never late. */
#define ENQUEUES_MARK(name)                                                                                            \
    static cl_int CL_API_CALL layer_##name(cl_command_queue queue, cl_uint count, const cl_event *wait_list,           \
                                           cl_event *event) {                                                          \
        late_start late = {0};                                                                                         \
        cl_int code = fault(CALL_##name);                                                                              \
        if (code == CL_SUCCESS && count > 0) {                                                                         \
            code = late_begin(queue, &count, &wait_list, &late);                                                       \
        }                                                                                                              \
        if (code != CL_SUCCESS) {                                                                                      \
            return code;                                                                                               \
        }                                                                                                              \
        code = target->name(queue, count, wait_list, event);                                                           \
        late_end(&late);                                                                                               \
        return count_event(code, event);                                                                               \
    }

#endif
