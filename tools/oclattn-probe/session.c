#include "session.h"

#include <stdio.h>

#include "device/error.h"
#include "query.h"

bool session_failed(session *s, const char *call, cl_int code) {
    snprintf(s->problem, sizeof s->problem, "%s failed: %s (%d)", call, cl_error_name(code), (int)code);
    return false;
}

bool session_open(session *s, int platform_index, int device_index) {
    cl_platform_id platform = NULL;
    cl_int code = CL_SUCCESS;
    oclattn_error error = {0};
    *s = (session){.platform_index = platform_index, .device_index = device_index};
    s->device = query_device(platform_index, device_index, &platform, s->problem, sizeof s->problem);
    if (!s->device) {
        return false;
    }
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    s->cl = clCreateContext(properties, 1, &s->device, NULL, NULL, &code);
    if (!s->cl) {
        return session_failed(s, "clCreateContext", code);
    }
    s->queue = clCreateCommandQueue(s->cl, s->device, 0, &code);
    if (!s->queue) {
        return session_failed(s, "clCreateCommandQueue", code);
    }
    if (oclattn_context_create_from_cl(NULL, s->cl, s->device, &s->context, &error) != OCLATTN_OK) {
        snprintf(s->problem, sizeof s->problem, "%.500s", error.message);
        return false;
    }
    return true;
}

cl_mem session_buffer(session *s, size_t bytes, const void *data) {
    cl_int code = CL_SUCCESS;
    if (s->buffer_count == MOST_SESSION_BUFFERS) {
        session_failed(s, "clCreateBuffer", CL_OUT_OF_RESOURCES);
        return NULL;
    }
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0);
    const cl_mem buffer = clCreateBuffer(s->cl, flags, bytes > 0 ? bytes : 1, (void *)data, &code);
    if (!buffer) {
        session_failed(s, "clCreateBuffer", code);
        return NULL;
    }
    s->buffers[s->buffer_count++] = buffer;
    return buffer;
}

void session_drop_buffers(session *s) {
    while (s->buffer_count > 0) {
        clReleaseMemObject(s->buffers[--s->buffer_count]);
    }
}

bool session_finish(session *s) {
    const cl_int code = clFinish(s->queue);
    return code == CL_SUCCESS || session_failed(s, "clFinish", code);
}
