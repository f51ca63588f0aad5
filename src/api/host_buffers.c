#include "host_buffers.h"

oclattn_status host_buffers_open(host_buffers *buffers, const oclattn_context *context, oclattn_error *error) {
    cl_int code = CL_SUCCESS;
    *buffers = (host_buffers){.context = context};
    buffers->queue = clCreateCommandQueue(context->cl, context->device, 0, &code);
    return code == CL_SUCCESS ? OCLATTN_OK : error_from_cl(error, code, "clCreateCommandQueue");
}

void host_buffers_close(host_buffers *buffers) {
    if (buffers->queue != NULL) {
        clFinish(buffers->queue);
    }
    for (size_t i = 0; i < buffers->count; ++i) {
        clReleaseMemObject(buffers->items[i].buffer);
    }
    if (buffers->workspace != NULL) {
        clReleaseMemObject(buffers->workspace);
    }
    if (buffers->queue != NULL) {
        clReleaseCommandQueue(buffers->queue);
    }
}

/* Two buffers over the same memory are undefined behaviour, as parts of a packed QKV matrix would be: those are copied.
 */
static bool overlaps_another(const host_buffers *buffers, const void *memory, size_t bytes) {
    const uintptr_t begin = (uintptr_t)memory;
    for (size_t i = 0; i < buffers->count; ++i) {
        const uintptr_t other = (uintptr_t)buffers->items[i].memory;
        if (begin < other + buffers->items[i].bytes && other < begin + bytes) {
            return true;
        }
    }
    return false;
}

/* A driver that uses memory in place only from a certain boundary on would copy what begins elsewhere: on CPUs the
 * buffer begins at the boundary before the tensor, and the device never touches the bytes between. Other devices may
 * use memory in place in ways that reach beyond a tensor. */
static size_t bytes_before(const device_caps *caps, const void *memory, size_t element_bytes) {
    const size_t boundary = caps->memory_base_align_bits / 8;
    if ((caps->type & CL_DEVICE_TYPE_CPU) == 0 || boundary == 0) {
        return 0;
    }
    const size_t bytes = (uintptr_t)memory % boundary;
    return bytes % element_bytes == 0 ? bytes : 0;
}

oclattn_status host_buffers_add(host_buffers *buffers, const tensor_spec *spec, const void *memory,
                                oclattn_tensor *tensor, oclattn_error *error) {
    if (!spec->used && memory != NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "%s was passed, but the descriptor does not use it",
                         spec->name);
    }
    if (!spec->used || tensor_is_empty(spec)) {
        return OCLATTN_OK;
    }
    if (memory == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "%s is NULL", spec->name);
    }
    const size_t bytes = (size_t)tensor_extent(spec) * spec->element_bytes;
    const bool shared = buffers->context->caps.host_unified_memory && !overlaps_another(buffers, memory, bytes);
    const cl_mem_flags flags =
        (spec->output ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY) | (shared ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR);
    const size_t before = shared ? bytes_before(&buffers->context->caps, memory, spec->element_bytes) : 0;
    cl_int code = CL_SUCCESS;
    /* OpenCL takes no pointer to const; READ_ONLY memory is not written. */
    void *begin = (void *)((uintptr_t)memory - before);
    tensor->buffer = clCreateBuffer(buffers->context->cl, flags, before + bytes, begin, &code);
    if (code != CL_SUCCESS) {
        return error_from_cl(error, code, "clCreateBuffer for a tensor");
    }
    tensor->offset = (int64_t)(before / spec->element_bytes);
    buffers->items[buffers->count++] = (host_buffer){.buffer = tensor->buffer,
                                                     .memory = memory,
                                                     .before = before,
                                                     .bytes = bytes,
                                                     .output = spec->output,
                                                     .shared = shared};
    return OCLATTN_OK;
}

oclattn_status host_buffers_add_score(host_buffers *buffers, const tensor_spec *specs,
                                      const oclattn_host_score_inputs *inputs, oclattn_score_inputs *tensors,
                                      oclattn_error *error) {
    const struct {
        int which;
        const void *memory;
        oclattn_tensor *tensor;
    } all[] = {
        {ATTENTION_MASK, inputs->mask, &tensors->mask},
        {ATTENTION_BIAS, inputs->bias, &tensors->bias},
        {ATTENTION_BIAS_SCALE, inputs->bias_scale, &tensors->bias_scale},
        {ATTENTION_SLOPES, inputs->alibi_slopes, &tensors->alibi_slopes},
        {ATTENTION_SINKS, inputs->sinks, &tensors->sinks},
        {ATTENTION_Q_LENS, inputs->q_lens, &tensors->q_lens},
        {ATTENTION_KV_LENS, inputs->kv_lens, &tensors->kv_lens},
        {ATTENTION_Q_STARTS, inputs->q_starts, &tensors->q_starts},
        {ATTENTION_KV_STARTS, inputs->kv_starts, &tensors->kv_starts},
        {ATTENTION_OFFSETS, inputs->offsets, &tensors->offsets},
    };
    for (size_t i = 0; i < sizeof(inputs->reserved) / sizeof(inputs->reserved[0]); ++i) {
        if (inputs->reserved[i] != NULL) {
            return error_set(error, OCLATTN_UNSUPPORTED, "a reserved pointer is set: this library does not know it");
        }
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
        RETURN_IF_ERROR(host_buffers_add(buffers, &specs[all[i].which], all[i].memory, all[i].tensor, error));
    }
    return OCLATTN_OK;
}

oclattn_status host_buffers_add_workspace(host_buffers *buffers, size_t bytes, oclattn_error *error) {
    if (bytes == 0) {
        return OCLATTN_OK;
    }
    cl_int code = CL_SUCCESS;
    buffers->workspace = clCreateBuffer(buffers->context->cl, CL_MEM_READ_WRITE, bytes, NULL, &code);
    return code == CL_SUCCESS ? OCLATTN_OK : error_from_cl(error, code, "clCreateBuffer for the workspace");
}

/* A map brings shared memory up to date, a read fills memory of its own. */
static cl_int bring_back(const host_buffers *buffers, const host_buffer *item) {
    if (!item->shared) {
        return clEnqueueReadBuffer(buffers->queue, item->buffer, CL_TRUE, 0, item->bytes,
                                   (void *)(uintptr_t)item->memory, 0, NULL, NULL);
    }
    cl_int code = CL_SUCCESS;
    void *mapped = clEnqueueMapBuffer(buffers->queue, item->buffer, CL_TRUE, CL_MAP_READ, item->before, item->bytes, 0,
                                      NULL, NULL, &code);
    return code == CL_SUCCESS ? clEnqueueUnmapMemObject(buffers->queue, item->buffer, mapped, 0, NULL, NULL) : code;
}

oclattn_status host_buffers_finish(host_buffers *buffers, oclattn_error *error) {
    for (size_t i = 0; i < buffers->count; ++i) {
        if (!buffers->items[i].output) {
            continue;
        }
        const cl_int code = bring_back(buffers, &buffers->items[i]);
        if (code != CL_SUCCESS) {
            return error_from_cl(error, code, "reading a result back");
        }
    }
    const cl_int code = clFinish(buffers->queue);
    return code == CL_SUCCESS ? OCLATTN_OK : error_from_cl(error, code, "clFinish");
}
