#include "lanes.h"

#include <stdlib.h>
#include <string.h>

/* A page: what drivers ask for before they use memory in place. */
enum { SCRATCH_ALIGNMENT = 4096 };

void lanes_init(lane_pool *lanes, const oclattn_context *context) {
    *lanes = (struct lane_pool){.context = context};
    pthread_mutex_init(&lanes->lock, NULL);
}

static void lane_destroy(work_lane *lane) {
    for (size_t i = 0; i < SCRATCHES; ++i) {
        free(lane->scratch[i].memory);
    }
    for (size_t i = 0; i < MOST_BUFFERS; ++i) {
        if (lane->copies[i].buffer != NULL) {
            clReleaseMemObject(lane->copies[i].buffer);
        }
    }
    if (lane->workspace != NULL) {
        clReleaseMemObject(lane->workspace);
    }
    if (lane->queue != NULL) {
        clReleaseCommandQueue(lane->queue);
    }
    free(lane);
}

void lanes_clear(lane_pool *lanes) {
    while (lanes->idle != NULL) {
        work_lane *next = lanes->idle->next;
        lane_destroy(lanes->idle);
        lanes->idle = next;
    }
    pthread_mutex_destroy(&lanes->lock);
}

static oclattn_status lane_create(const oclattn_context *context, work_lane **created, oclattn_error *error) {
    cl_int code = CL_SUCCESS;
    work_lane *lane = calloc(1, sizeof(*lane));
    if (lane == NULL) {
        return refuse(error, OCLATTN_OUT_OF_MEMORY, "no memory for a queue");
    }
    lane->queue = clCreateCommandQueue(oclattn_context_cl(context), oclattn_context_device(context), 0, &code);
    if (code != CL_SUCCESS) {
        lane->queue = NULL;
        lane_destroy(lane);
        return refuse_cl(error, code, "clCreateCommandQueue");
    }
    *created = lane;
    return OCLATTN_OK;
}

oclattn_status lanes_take(lane_pool *lanes, work_lane **taken, oclattn_error *error) {
    pthread_mutex_lock(&lanes->lock);
    *taken = lanes->idle;
    if (*taken != NULL) {
        lanes->idle = (*taken)->next;
    }
    pthread_mutex_unlock(&lanes->lock);
    return *taken != NULL ? OCLATTN_OK : lane_create(lanes->context, taken, error);
}

void lanes_give_back(lane_pool *lanes, work_lane *lane, bool failed) {
    if (failed) {
        lane_destroy(lane);
        return;
    }
    pthread_mutex_lock(&lanes->lock);
    lane->next = lanes->idle;
    lanes->idle = lane;
    pthread_mutex_unlock(&lanes->lock);
}

/* Some room to grow, so that a cache that grows by a row does not ask for memory each time. */
static size_t with_room(size_t bytes) {
    const size_t wanted = bytes + bytes / 4;
    return (wanted + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

oclattn_status lane_scratch(work_lane *lane, scratch_slot which, size_t bytes, void **memory, oclattn_error *error) {
    if (lane->scratch[which].bytes < bytes) {
        free(lane->scratch[which].memory);
        lane->scratch[which].bytes = 0;
        lane->scratch[which].memory = aligned_alloc(SCRATCH_ALIGNMENT, with_room(bytes));
        if (lane->scratch[which].memory == NULL) {
            return refuse(error, OCLATTN_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
        }
        lane->scratch[which].bytes = with_room(bytes);
    }
    *memory = lane->scratch[which].memory;
    return OCLATTN_OK;
}

/* *buffer, made anew where it is too small. */
static oclattn_status grow(cl_context cl, size_t bytes, cl_mem *buffer, size_t *buffer_bytes, oclattn_error *error) {
    cl_int code = CL_SUCCESS;
    if (*buffer_bytes >= bytes) {
        return OCLATTN_OK;
    }
    if (*buffer != NULL) {
        clReleaseMemObject(*buffer);
    }
    *buffer_bytes = 0;
    size_t wanted = with_room(bytes);
    *buffer = clCreateBuffer(cl, CL_MEM_READ_WRITE, wanted, NULL, &code);
    if (code != CL_SUCCESS) {
        wanted = bytes;
        *buffer = clCreateBuffer(cl, CL_MEM_READ_WRITE, wanted, NULL, &code);
    }
    if (code != CL_SUCCESS) {
        *buffer = NULL;
        return refuse_cl(error, code, "clCreateBuffer");
    }
    *buffer_bytes = wanted;
    return OCLATTN_OK;
}

oclattn_status lane_workspace(work_lane *lane, cl_context cl, size_t bytes, oclattn_error *error) {
    return grow(cl, bytes, &lane->workspace, &lane->workspace_bytes, error);
}

oclattn_status lane_copy(work_lane *lane, cl_context cl, size_t which, size_t bytes, cl_mem *buffer,
                         oclattn_error *error) {
    RETURN_IF_ERROR(grow(cl, bytes, &lane->copies[which].buffer, &lane->copies[which].bytes, error));
    *buffer = lane->copies[which].buffer;
    return OCLATTN_OK;
}
