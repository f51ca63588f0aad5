#include "host.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_SIZE = 2304, LINE_SIZE = TEXT_SIZE + sizeof("oclattn: ") };

oclattn_status refuse(oclattn_error *error, oclattn_status status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    *error = (oclattn_error){.status = status};
    vsnprintf(error->message, sizeof(error->message), format, values);
    va_end(values);
    return status;
}

oclattn_status refuse_cl(oclattn_error *error, cl_int code, const char *function) {
    const bool memory =
        code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES || code == CL_MEM_OBJECT_ALLOCATION_FAILURE;
    refuse(error, memory ? OCLATTN_OUT_OF_MEMORY : OCLATTN_OPENCL_ERROR, "%s failed with OpenCL error %d", function,
           (int)code);
    error->cl_code = code;
    return error->status;
}

oclattn_status host_check(const ort_host *host, ort_status *status, oclattn_error *error) {
    if (status == NULL) {
        return OCLATTN_OK;
    }
    refuse(error, OCLATTN_INVALID_ARGUMENT, "ONNX Runtime: %s", host->api->GetErrorMessage(status));
    host->api->ReleaseStatus(status);
    return error->status;
}

static int code_of(oclattn_status status) {
    switch (status) {
    case OCLATTN_INVALID_ARGUMENT:
        return ORT_INVALID_ARGUMENT;
    case OCLATTN_UNSUPPORTED:
        return ORT_NOT_IMPLEMENTED;
    default:
        return ORT_EP_FAIL;
    }
}

ort_status *host_status(const ort_api *api, const char *what, const oclattn_error *error) {
    char line[LINE_SIZE];
    snprintf(line, sizeof(line), "oclattn: %s%s%s", what != NULL ? what : "", what != NULL ? ": " : "", error->message);
    return api->CreateStatus(code_of(error->status), line);
}

static int severity_of(oclattn_log_level level) {
    return level == OCLATTN_LOG_WARNING ? ORT_WARNING : level == OCLATTN_LOG_INFO ? ORT_INFO : ORT_VERBOSE;
}

void host_log_line(oclattn_log_level level, const char *text, void *user) {
    const ort_host *host = user;
    if (host->logger == NULL || level > host->level) {
        return;
    }
    char line[LINE_SIZE];
    snprintf(line, sizeof(line), "oclattn: %s", text);
    ort_status *status = host->api->Logger_LogMessage(host->logger, severity_of(level), line, "oclattn", 0, "log");
    if (status != NULL) {
        host->api->ReleaseStatus(status);
    }
}

void host_log(const ort_host *host, oclattn_log_level level, const char *format, ...) {
    char text[TEXT_SIZE];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    host_log_line(level, text, (void *)(uintptr_t)host);
}
