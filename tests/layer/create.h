/* How functions that make an object are wrapped. */
#ifndef OCLATTN_TESTS_LAYER_CREATE_H
#define OCLATTN_TESTS_LAYER_CREATE_H

#include "parts.h"

/* clCreate...: a new object of `kind`, unless it is to fail or `limit` is an error code. */
#define CREATES_WITHIN(limit, kind, type, name, parameters, arguments)                                                 \
    static type CL_API_CALL layer_##name(UNPACK parameters) {                                                          \
        const cl_int ordered = fault(CALL_##name);                                                                     \
        const cl_int code = ordered != CL_SUCCESS ? ordered : (limit);                                                 \
        if (code != CL_SUCCESS) {                                                                                      \
            if (error_code != NULL) {                                                                                  \
                *error_code = code;                                                                                    \
            }                                                                                                          \
            return NULL;                                                                                               \
        }                                                                                                              \
        type object = target->name(UNPACK arguments);                                                                  \
        if (object != NULL) {                                                                                          \
            count_created(kind);                                                                                       \
        }                                                                                                              \
        return object;                                                                                                 \
    }

#define CREATES(kind, type, name, parameters, arguments)                                                               \
    CREATES_WITHIN(CL_SUCCESS, kind, type, name, parameters, arguments)

#endif
