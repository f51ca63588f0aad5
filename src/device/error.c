#include "error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool continues_character(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

static void mark_cut(char *message, size_t size) {
    size_t end = size - sizeof("...");
    while (end > 0 && continues_character(message[end])) {
        end--;
    }
    memcpy(message + end, "...", sizeof("..."));
}

oclattn_status error_set(oclattn_error *error, oclattn_status status, const char *format, ...) {
    if (error == NULL) {
        return status;
    }
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(error->message, sizeof(error->message), format, args);
    va_end(args);
    error->status = status;
    error->cl_code = 0;
    if (length < 0) {
        error->message[0] = '\0';
    } else if ((size_t)length >= sizeof(error->message)) {
        mark_cut(error->message, sizeof(error->message));
    }
    return status;
}

static oclattn_status status_from_cl(cl_int code) {
    switch (code) {
    case CL_OUT_OF_HOST_MEMORY:
    case CL_OUT_OF_RESOURCES:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_INVALID_BUFFER_SIZE:
        return OCLATTN_OUT_OF_MEMORY;
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_COMPILE_PROGRAM_FAILURE:
    case CL_LINK_PROGRAM_FAILURE:
        return OCLATTN_BUILD_FAILED;
    case CL_DEVICE_NOT_FOUND:
    case CL_DEVICE_NOT_AVAILABLE:
        return OCLATTN_NO_DEVICE;
    default:
        return OCLATTN_OPENCL_ERROR;
    }
}

oclattn_status error_from_cl(oclattn_error *error, cl_int code, const char *what) {
    const oclattn_status status = error_set(error, status_from_cl(code), "%s failed: %s (%d)", what,
                                            cl_error_name(code), (int)code);
    if (error != NULL) {
        error->cl_code = code;
    }
    return status;
}

oclattn_status error_no_memory(oclattn_error *error) {
    return error_set(error, OCLATTN_OUT_OF_MEMORY, "the host is out of memory");
}
