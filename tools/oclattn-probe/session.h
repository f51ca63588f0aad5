/* One device in a child process: the library's context on it, and a queue. */
#ifndef OCLATTN_PROBE_SESSION_H
#define OCLATTN_PROBE_SESSION_H

#include <stdbool.h>

#include <oclattn/oclattn.h>

#define MOST_SESSION_BUFFERS 16

typedef struct session {
    int platform_index, device_index;
    cl_device_id device;
    cl_context cl;
    cl_command_queue queue;
    oclattn_context *context;
    cl_mem buffers[MOST_SESSION_BUFFERS];
    size_t buffer_count;
    char problem[512]; /* what failed last */
} session;

/* Touches the device's own platform only, so that another, broken one does no harm. */
bool session_open(session *s, int platform_index, int device_index);

/* A buffer that begins with `data` (NULL: with anything), until session_drop_buffers. NULL: failed. */
cl_mem session_buffer(session *s, size_t bytes, const void *data);
void session_drop_buffers(session *s);

/* Waits for the queue, or says what failed. */
bool session_finish(session *s);

/* Fills `problem` and returns false. */
bool session_failed(session *s, const char *call, cl_int code);

#endif
