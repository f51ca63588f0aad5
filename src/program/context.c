#include "context.h"

#include <stdlib.h>

#include "build.h"
#include "cache.h"
#include "os.h"

oclattn_status context_new(cl_context cl, const device_record *record, const logger *log, const char *cache_dir,
                           oclattn_context **context, oclattn_error *error) {
    oclattn_context *made = calloc(1, sizeof *made);
    if (!made || mtx_init(&made->lock, mtx_plain) != thrd_success) {
        free(made);
        return error_no_memory(error);
    }
    atomic_init(&made->references, 1);
    atomic_init(&made->cache_is_read_only, false);
    made->device = record->id;
    made->platform_index = record->platform_index;
    made->device_index = record->device_index;
    made->caps = record->caps;
    made->log = *log;
    made->process_id = os_process_id();
    oclattn_status status = cache_choose_folder(cache_dir, log, &made->cache_dir, error);
    if (status != OCLATTN_OK) {
        goto failed;
    }
    cl_int code = clRetainContext(cl);
    if (code != CL_SUCCESS) {
        status = error_from_cl(error, code, "clRetainContext");
        goto failed;
    }
    made->cl = cl;
    code = clRetainDevice(record->id);
    if (code != CL_SUCCESS) {
        clReleaseContext(cl);
        status = error_from_cl(error, code, "clRetainDevice");
        goto failed;
    }
    *context = made;
    return OCLATTN_OK;

failed:
    free(made->cache_dir);
    mtx_destroy(&made->lock);
    free(made);
    return status;
}

void context_retain(oclattn_context *context) {
    atomic_fetch_add(&context->references, 1);
}

void context_release(oclattn_context *context) {
    if (!context || atomic_fetch_sub(&context->references, 1) > 1) {
        return;
    }
    /* A driver's threads do not survive fork(), and releasing may wait for them. */
    const bool release_cl = context->process_id == os_process_id();
    programs_free(context, release_cl);
    if (release_cl) {
        clReleaseContext(context->cl);
        clReleaseDevice(context->device);
        mtx_destroy(&context->lock);
    }
    free(context->cache_dir);
    free(context);
}

oclattn_status context_check_process(const oclattn_context *context, oclattn_error *error) {
    if (context->process_id == os_process_id()) {
        return OCLATTN_OK;
    }
    return error_set(error, OCLATTN_OPENCL_ERROR, "this context was made before fork(): OpenCL drivers do not work in "
                     "the child of a process that used them; fork before the first use, or start a new program");
}
