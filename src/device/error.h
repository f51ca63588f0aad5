/* Filling the caller's oclattn_error. */
#ifndef OCLATTN_DEVICE_ERROR_H
#define OCLATTN_DEVICE_ERROR_H

#include <oclattn/oclattn.h>

#if defined(__GNUC__)
#define PRINTF_LIKE(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define PRINTF_LIKE(format_index, first_index)
#endif

/* Fills *error (which may be NULL) and returns `status`, so that a caller can write `return error_set(...)`. A message
 * that does not fit ends in "...". */
oclattn_status error_set(oclattn_error *error, oclattn_status status, const char *format, ...) PRINTF_LIKE(3, 4);

/* The same for a failed OpenCL call: `what` names the call and its object; the code's name is appended, and the status
 * follows from the code (allocation failures give OCLATTN_OUT_OF_MEMORY). */
oclattn_status error_from_cl(oclattn_error *error, cl_int code, const char *what);

/* Host memory ran out. */
oclattn_status error_no_memory(oclattn_error *error);

/* "CL_INVALID_VALUE" and so on; never NULL. */
const char *cl_error_name(cl_int code);

#define RETURN_IF_ERROR(call)                        \
    do {                                             \
        oclattn_status status_of_call_ = (call);     \
        if (status_of_call_ != OCLATTN_OK) {         \
            return status_of_call_;                  \
        }                                            \
    } while (0)

#endif
