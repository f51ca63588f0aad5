/* One device, one queue, and the buffers of one computation. */
#ifndef OCLATTN_RUN_DEVICE_H
#define OCLATTN_RUN_DEVICE_H

#include "common.h"

#define MOST_BUFFERS 40

typedef struct device_session {
    oclattn_context *context;
    cl_command_queue queue;
    oclattn_device_info info;
    cl_mem buffers[MOST_BUFFERS];
    size_t buffer_count;
} device_session;

bool device_open(device_session *session, const common_options *options, failure *f);
void device_close(device_session *session);

/* A buffer that begins with the array's values. An array that is absent or empty leaves the tensor as it is. */
bool device_upload(device_session *session, const char *what, const host_array *array, oclattn_tensor *tensor,
                   failure *f);
/* 0 bytes: NULL. */
bool device_workspace(device_session *session, size_t bytes, cl_mem *workspace, failure *f);
bool device_download(const device_session *session, const oclattn_tensor *tensor, host_array *array, failure *f);

#endif
