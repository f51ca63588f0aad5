#include "device.h"

#include <stdio.h>
#include <string.h>

static void log_to_stderr(oclattn_log_level level, const char *text, void *user) {
    (void)user;
    fprintf(stderr, "oclattn-run: %s%s\n", level == OCLATTN_LOG_WARNING ? "warning: " : "", text);
}

static bool parse_log_level(const char *text, oclattn_log_level *level, failure *f) {
    static const char *const names[] = {"none", "warning", "info", "debug"};
    *level = OCLATTN_LOG_WARNING;
    for (int i = 0; text && i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            *level = (oclattn_log_level)i;
            return true;
        }
    }
    return text ? fail_with(f, EXIT_BAD_INPUT, "--log must be none, warning, info or debug, not '%s'", text) : true;
}

static bool make_queue(device_session *session, failure *f) {
    cl_int code = CL_SUCCESS;
    session->queue =
        clCreateCommandQueue(oclattn_context_cl(session->context), oclattn_context_device(session->context), 0, &code);
    return session->queue ? true
                          : fail_with(f, EXIT_RUNTIME, "cannot make a command queue (OpenCL error %d)", (int)code);
}

bool device_open(device_session *session, const common_options *options, failure *f) {
    oclattn_error error = {0};
    oclattn_context_options wanted;
    *session = (device_session){0};
    oclattn_context_options_init(&wanted);
    wanted.device = options->device;
    wanted.log = log_to_stderr;
    if (!parse_log_level(options->log, &wanted.log_level, f)) {
        return false;
    }
    oclattn_status status = oclattn_context_create(&wanted, &session->context, &error);
    if (status != OCLATTN_OK) {
        return fail_library(f, status, &error);
    }
    oclattn_device_info_init(&session->info);
    status = oclattn_context_device_info(session->context, &session->info, &error);
    if (status != OCLATTN_OK) {
        return fail_library(f, status, &error);
    }
    return make_queue(session, f);
}

void device_close(device_session *session) {
    for (size_t i = 0; i < session->buffer_count; i++) {
        clReleaseMemObject(session->buffers[i]);
    }
    if (session->queue) {
        clReleaseCommandQueue(session->queue);
    }
    oclattn_context_destroy(session->context);
    *session = (device_session){0};
}

static bool make_buffer(device_session *session, const char *what, size_t bytes, void *data, cl_mem *buffer,
                        failure *f) {
    cl_int code = CL_SUCCESS;
    if (session->buffer_count == MOST_BUFFERS) {
        return fail_with(f, EXIT_RUNTIME, "more than %d buffers", MOST_BUFFERS);
    }
    *buffer = clCreateBuffer(oclattn_context_cl(session->context),
                             CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0), bytes, data, &code);
    if (!*buffer) {
        return fail_with(f, EXIT_RUNTIME, "no device memory for %s: %zu bytes (OpenCL error %d)", what, bytes,
                         (int)code);
    }
    session->buffers[session->buffer_count++] = *buffer;
    return true;
}

bool device_upload(device_session *session, const char *what, const host_array *array, oclattn_tensor *tensor,
                   failure *f) {
    if (!array->data || array->count == 0) {
        return true;
    }
    return make_buffer(session, what, array->count * array_type_bytes(array->type), array->data, &tensor->buffer, f);
}

bool device_workspace(device_session *session, size_t bytes, cl_mem *workspace, failure *f) {
    *workspace = NULL;
    return bytes == 0 || make_buffer(session, "the workspace", bytes, NULL, workspace, f);
}

bool device_download(const device_session *session, const oclattn_tensor *tensor, host_array *array, failure *f) {
    if (!tensor->buffer) {
        return true;
    }
    const cl_int code = clEnqueueReadBuffer(session->queue, tensor->buffer, CL_TRUE, 0,
                                            array->count * array_type_bytes(array->type), array->data, 0, NULL, NULL);
    return code == CL_SUCCESS ? true
                              : fail_with(f, EXIT_RUNTIME, "reading a result failed (OpenCL error %d)", (int)code);
}
