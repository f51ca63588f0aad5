/* What a running call needs for itself: a queue, a workspace and scratch memory, kept from call to call. Calls that
 * overlap in time have a lane each. */
#ifndef OCLATTN_ORT_LANES_H
#define OCLATTN_ORT_LANES_H

#include <pthread.h>

#include "host.h"

typedef enum scratch {
    SCRATCH_KV_LENS,
    SCRATCH_OFFSETS,
    SCRATCH_SINKS,
    SCRATCH_MASK,
    SCRATCH_QUERY,
    SCRATCH_KEY,
    SCRATCH_VALUE,
    SCRATCH_KEYS, /* all of them, the past ones too */
    SCRATCH_VALUES,
    SCRATCH_SCORES,
    SCRATCHES
} scratch_slot;

enum { MOST_BUFFERS = 12 };

typedef struct work_lane {
    struct work_lane *next;
    cl_command_queue queue;
    cl_mem workspace;
    size_t workspace_bytes;
    struct {
        void *memory;
        size_t bytes;
    } scratch[SCRATCHES];
    /* Copies of the host's memory, on devices that do not share it. */
    struct {
        cl_mem buffer;
        size_t bytes;
    } copies[MOST_BUFFERS];
} work_lane;

typedef struct lane_pool {
    const oclattn_context *context;
    pthread_mutex_t lock;
    work_lane *idle;
} lane_pool;

void lanes_init(lane_pool *lanes, const oclattn_context *context);
void lanes_clear(lane_pool *lanes);

oclattn_status lanes_take(lane_pool *lanes, work_lane **taken, oclattn_error *error);
/* A lane on which something failed is not kept. */
void lanes_give_back(lane_pool *lanes, work_lane *lane, bool failed);

/* Host memory of at least so many bytes, aligned as devices like it. Its contents are those of earlier calls. */
oclattn_status lane_scratch(work_lane *lane, scratch_slot which, size_t bytes, void **memory, oclattn_error *error);

oclattn_status lane_workspace(work_lane *lane, cl_context cl, size_t bytes, oclattn_error *error);
oclattn_status lane_copy(work_lane *lane, cl_context cl, size_t which, size_t bytes, cl_mem *buffer,
                         oclattn_error *error);

#endif
