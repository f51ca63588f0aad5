/* Errors and log lines between oclattn and ONNX Runtime. */
#ifndef OCLATTN_ORT_HOST_H
#define OCLATTN_ORT_HOST_H

#include <oclattn/oclattn.h>

#include "ort_api.h"

#define RETURN_IF_ERROR(call)                                                                                          \
    do {                                                                                                               \
        oclattn_status status_of_call_ = (call);                                                                       \
        if (status_of_call_ != OCLATTN_OK) {                                                                           \
            return status_of_call_;                                                                                    \
        }                                                                                                              \
    } while (0)

typedef struct ort_host {
    const ort_api *api;
    const ort_ep_api *ep_api;
    const ort_logger *logger; /* NULL: nowhere to log to */
    oclattn_log_level level;  /* lines above it are not written */
    bool one_graph;           /* it takes claimed nodes in one graph of a model only */
} ort_host;

/* Fills *error and returns its status. */
oclattn_status refuse(oclattn_error *error, oclattn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a function of OpenCL that failed. */
oclattn_status refuse_cl(oclattn_error *error, cl_int code, const char *function);

/* What a function of the host returned, as an error of ours. Releases the host's status. */
oclattn_status host_check(const ort_host *host, ort_status *status, oclattn_error *error);

/* An error of ours as the host's status, with `what` (NULL: nothing) before the text. */
ort_status *host_status(const ort_api *api, const char *what, const oclattn_error *error);

void host_log(const ort_host *host, oclattn_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An oclattn_log_fn; `user` is a host. */
void host_log_line(oclattn_log_level level, const char *text, void *user);

#endif
