#include "tensor.h"

#include <string.h>

int64_t multiply_sizes(int64_t a, int64_t b) {
    return a != 0 && b > INT64_MAX / a ? INT64_MAX : a * b;
}

int64_t add_sizes(int64_t a, int64_t b) {
    return b > INT64_MAX - a ? INT64_MAX : a + b;
}

bool tensor_is_empty(const tensor_spec *spec) {
    bool empty = spec->width == 0;
    for (int d = 0; d < spec->rank; ++d) {
        empty = empty || spec->dims[d] == 0;
    }
    return empty;
}

int64_t tensor_extent(const tensor_spec *spec) {
    if (tensor_is_empty(spec)) {
        return 0;
    }
    int64_t extent = spec->width;
    for (int d = 0; d < spec->rank; ++d) {
        extent = add_sizes(extent, multiply_sizes(spec->dims[d] - 1, spec->strides[d]));
    }
    return extent;
}

static void fill_auto_strides(tensor_spec *spec) {
    int64_t contiguous = spec->width;
    for (int d = spec->rank - 1; d >= 0; --d) {
        if (spec->strides[d] == OCLATTN_STRIDE_AUTO) {
            spec->strides[d] = contiguous;
        }
        contiguous = multiply_sizes(contiguous, spec->dims[d]);
    }
}

static oclattn_status check_not_negative(const tensor_spec *spec, oclattn_error *error) {
    for (int d = 0; d < spec->rank; ++d) {
        if (spec->strides[d] < 0) {
            return error_set(error, OCLATTN_INVALID_ARGUMENT, "stride %d of %s is %lld: strides are not negative", d,
                             spec->name, (long long)spec->strides[d]);
        }
    }
    return OCLATTN_OK;
}

/* Index of the dimension with the smallest stride among those that are not marked in `done` and hold more than one
 * point; -1 when there is none. */
static int next_by_stride(const tensor_spec *spec, unsigned done) {
    int found = -1;
    for (int d = 0; d < spec->rank; ++d) {
        if ((done >> d & 1u) || spec->dims[d] <= 1) {
            continue;
        }
        if (found < 0 || spec->strides[d] < spec->strides[found]) {
            found = d;
        }
    }
    return found;
}

/* An output must not write an element twice. Taking dimensions by growing stride, each must step over all that the
 * ones before it span. */
static oclattn_status check_no_self_overlap(const tensor_spec *spec, oclattn_error *error) {
    int64_t span = spec->width;
    unsigned done = 0;
    for (int d = next_by_stride(spec, done); d >= 0; d = next_by_stride(spec, done)) {
        if (spec->strides[d] < span) {
            return error_set(error, OCLATTN_INVALID_ARGUMENT,
                             "%s overlaps itself: stride %d is %lld, but %lld elements lie between its steps",
                             spec->name, d, (long long)spec->strides[d], (long long)span);
        }
        span = add_sizes(span, multiply_sizes(spec->dims[d] - 1, spec->strides[d]));
        done |= 1u << d;
    }
    return OCLATTN_OK;
}

oclattn_status tensor_spec_set_strides(tensor_spec *spec, const int64_t *strides, oclattn_error *error) {
    for (int d = 0; d < spec->rank; ++d) {
        spec->strides[d] = strides == NULL ? OCLATTN_STRIDE_AUTO : strides[d];
    }
    fill_auto_strides(spec);
    if (tensor_is_empty(spec)) {
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(check_not_negative(spec, error));
    if (tensor_extent(spec) > TENSOR_LARGEST) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "the size of %s overflows", spec->name);
    }
    return spec->output ? check_no_self_overlap(spec, error) : OCLATTN_OK;
}

/* OCLATTN_INVALID_ARGUMENT for what is no buffer of the context. */
static oclattn_status check_context(const tensor_spec *spec, cl_context cl, cl_mem buffer, oclattn_error *error) {
    cl_context owner = NULL;
    const cl_int code = clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof(owner), &owner, NULL);
    if (code == CL_INVALID_MEM_OBJECT) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "the buffer of %s is not a cl_mem", spec->name);
    }
    if (code != CL_SUCCESS) {
        return error_from_cl(error, code, "clGetMemObjectInfo of a tensor");
    }
    if (owner != cl) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT,
                         "the buffer of %s belongs to another cl_context than the plan", spec->name);
    }
    return OCLATTN_OK;
}

static oclattn_status check_buffer(const tensor_spec *spec, const oclattn_tensor *tensor, oclattn_error *error) {
    if (tensor->offset < 0 || tensor->offset > TENSOR_LARGEST) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "the offset of %s is %lld", spec->name,
                         (long long)tensor->offset);
    }
    size_t bytes = 0;
    const cl_int code = clGetMemObjectInfo(tensor->buffer, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
    if (code != CL_SUCCESS) {
        return error_from_cl(error, code, "clGetMemObjectInfo of a tensor");
    }
    const int64_t needed = tensor->offset + tensor_extent(spec);
    const uint64_t held = bytes / spec->element_bytes;
    if ((uint64_t)needed > held) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT,
                         "the buffer of %s holds %llu elements; offset, shape and strides reach %lld", spec->name,
                         (unsigned long long)held, (long long)needed);
    }
    return OCLATTN_OK;
}

oclattn_status tensor_bind(tensor_spec *spec, cl_context cl, const oclattn_tensor *tensor, oclattn_error *error) {
    if (!spec->used) {
        if (tensor->buffer != NULL) {
            return error_set(error, OCLATTN_INVALID_ARGUMENT, "%s was passed, but the plan does not use it",
                             spec->name);
        }
        return OCLATTN_OK;
    }
    if (tensor->strides != NULL) {
        if (spec->rank == 1 && spec->width == 1) {
            return error_set(error, OCLATTN_INVALID_ARGUMENT, "strides of %s: a vector is contiguous, pass NULL",
                             spec->name);
        }
        RETURN_IF_ERROR(tensor_spec_set_strides(spec, tensor->strides, error));
    }
    if (tensor_is_empty(spec)) {
        return OCLATTN_OK;
    }
    if (tensor->buffer == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "%s has no buffer", spec->name);
    }
    RETURN_IF_ERROR(check_context(spec, cl, tensor->buffer, error));
    return check_buffer(spec, tensor, error);
}

/* Buffers of the driver's own are aligned; the host's memory lies where it lies, and a sub-buffer where it was cut. */
static bool buffer_is_aligned(cl_mem buffer, const device_caps *caps, size_t bytes) {
    size_t origin = 0;
    void *host = NULL;
    return caps->memory_base_align_bits / 8 % bytes == 0 && caps->memory_base_align_bits > 0 &&
           clGetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof(origin), &origin, NULL) == CL_SUCCESS &&
           clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof(host), &host, NULL) == CL_SUCCESS &&
           origin % bytes == 0 && (uintptr_t)host % bytes == 0;
}

bool tensor_rows_are_aligned(const tensor_spec *spec, const oclattn_tensor *tensor, const device_caps *caps,
                             int64_t elements) {
    if (tensor_is_empty(spec) || tensor->offset % elements != 0) {
        return false;
    }
    for (int d = 0; d < spec->rank; ++d) {
        if (spec->strides[d] % elements != 0) {
            return false;
        }
    }
    return buffer_is_aligned(tensor->buffer, caps, (size_t)elements * spec->element_bytes);
}

static int64_t element_count(const tensor_spec *spec) {
    int64_t count = spec->width;
    for (int d = 0; d < spec->rank; ++d) {
        count = multiply_sizes(count, spec->dims[d]);
    }
    return count;
}

bool tensors_overlap(const tensor_spec *a, const oclattn_tensor *at_a, const tensor_spec *b,
                     const oclattn_tensor *at_b) {
    if (!a->used || !b->used || at_a->buffer != at_b->buffer || tensor_is_empty(a) || tensor_is_empty(b)) {
        return false;
    }
    const int64_t bytes_a = (int64_t)a->element_bytes, bytes_b = (int64_t)b->element_bytes;
    const int64_t begin_a = at_a->offset * bytes_a, begin_b = at_b->offset * bytes_b;
    const int64_t end_a = begin_a + tensor_extent(a) * bytes_a, end_b = begin_b + tensor_extent(b) * bytes_b;
    const bool dense = tensor_extent(a) <= element_count(a) && tensor_extent(b) <= element_count(b);
    return begin_a == begin_b || (dense && begin_a < end_b && begin_b < end_a);
}
