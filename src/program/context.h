/* oclattn_context: one device, its capabilities, and the programs built for it. */
#ifndef OCLATTN_PROGRAM_CONTEXT_H
#define OCLATTN_PROGRAM_CONTEXT_H

#include <stdatomic.h>
#include <threads.h>

#include "../device/device.h"

struct built_program;

struct oclattn_context {
    atomic_int references; /* one for the caller, one for each plan and each prepared weights */
    cl_context cl;
    cl_device_id device;
    int platform_index, device_index; /* -1 when the device came from the caller */
    device_caps caps;
    logger log;
    char *cache_dir; /* NULL: no cache on disk */
    atomic_bool cache_is_read_only; /* set by the first failure to write, which is the only one that is logged */
    long process_id; /* the process that made it; a forked child must not use it */
    mtx_t lock;      /* guards `programs` */
    struct built_program *programs;
};

/* Makes a context from copies of what it is given, with its own reference to the OpenCL objects. */
oclattn_status context_new(cl_context cl, const device_record *record, const logger *log, const char *cache_dir,
                           oclattn_context **context, oclattn_error *error);

void context_retain(oclattn_context *context);
void context_release(oclattn_context *context); /* NULL is fine */

/* OCLATTN_OPENCL_ERROR in a forked child. Every entry point that touches OpenCL asks it first. */
oclattn_status context_check_process(const oclattn_context *context, oclattn_error *error);

#endif
