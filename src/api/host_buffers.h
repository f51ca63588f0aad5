/* Host memory as OpenCL buffers, for the one-call functions. */
#ifndef OCLATTN_API_HOST_BUFFERS_H
#define OCLATTN_API_HOST_BUFFERS_H

#include "../plan/params.h"
#include "../plan/tensor.h"
#include "../program/context.h"

enum { MOST_HOST_BUFFERS = 32 };

typedef struct host_buffer {
    cl_mem buffer;
    const void *memory;
    size_t before, bytes; /* before: of the buffer, before the memory */
    bool output, shared;  /* shared: the buffer is the memory */
} host_buffer;

typedef struct host_buffers {
    const oclattn_context *context;
    cl_command_queue queue;
    size_t count;
    host_buffer items[MOST_HOST_BUFFERS];
    cl_mem workspace;
} host_buffers;

oclattn_status host_buffers_open(host_buffers *buffers, const oclattn_context *context, oclattn_error *error);
void host_buffers_close(host_buffers *buffers);

/* A buffer over what `spec` reaches from `memory`. Unused and empty tensors get none. */
oclattn_status host_buffers_add(host_buffers *buffers, const tensor_spec *spec, const void *memory,
                                oclattn_tensor *tensor, oclattn_error *error);

/* Those of score inputs; `specs` in the order of enum attention_tensor. */
oclattn_status host_buffers_add_score(host_buffers *buffers, const tensor_spec *specs,
                                      const oclattn_host_score_inputs *inputs, oclattn_score_inputs *tensors,
                                      oclattn_error *error);

oclattn_status host_buffers_add_workspace(host_buffers *buffers, size_t bytes, oclattn_error *error);

/* Waits for the queue and brings outputs back. */
oclattn_status host_buffers_finish(host_buffers *buffers, oclattn_error *error);

#endif
