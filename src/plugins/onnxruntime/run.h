/* Runs a bound call on the device. */
#ifndef OCLATTN_ORT_RUN_H
#define OCLATTN_ORT_RUN_H

#include "operator.h"

/* How the device gets at the host's memory. */
typedef struct memory_access {
    cl_context cl;
    bool shared;         /* in place, else by copies */
    size_t alignment;    /* in bytes, of memory that the driver uses in place; 1: whatever it is */
    size_t host_threads; /* how many may spin on the processors of the device, 0: none */
} memory_access;

/* Reads the operands from the host's memory, and writes O and the scores there. */
oclattn_status run_attention(const attention_call *call, const oclattn_plan *plan, const memory_access *access,
                             oclattn_error *error);

#endif
