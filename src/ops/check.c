#include "check.h"

bool type_is_known(oclattn_type type) {
    return type == OCLATTN_F32 || type == OCLATTN_F16 || type == OCLATTN_BF16;
}

const char *type_name(oclattn_type type) {
    return type == OCLATTN_F32 ? "f32" : type == OCLATTN_F16 ? "f16" : type == OCLATTN_BF16 ? "bf16" : "unknown";
}

oclattn_status check_type(const char *name, oclattn_type type, oclattn_error *error) {
    if (type_is_known(type)) {
        return OCLATTN_OK;
    }
    return error_set(error, OCLATTN_INVALID_ARGUMENT,
                     "%s is %d; known types are OCLATTN_F32, OCLATTN_F16, OCLATTN_BF16", name, (int)type);
}

oclattn_status check_size(const char *name, int64_t value, int64_t least, int64_t most, oclattn_error *error) {
    if (value >= least && value <= most) {
        return OCLATTN_OK;
    }
    if (most == LARGEST_SIZE) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "%s is %lld; it must be %s %lld", name, (long long)value,
                         value < least ? "at least" : "at most", (long long)(value < least ? least : most));
    }
    return error_set(error, value < least ? OCLATTN_INVALID_ARGUMENT : OCLATTN_UNSUPPORTED,
                     "%s is %lld; it must be from %lld to %lld", name, (long long)value, (long long)least,
                     (long long)most);
}

oclattn_status check_flags(const char *name, uint32_t flags, uint32_t known, oclattn_error *error) {
    if ((flags & ~known) == 0) {
        return OCLATTN_OK;
    }
    return error_set(error, OCLATTN_UNSUPPORTED, "%s has bits 0x%x that this library does not know, or not here", name,
                     (unsigned)(flags & ~known));
}

oclattn_status check_reserved(const int64_t *reserved, size_t count, oclattn_error *error) {
    for (size_t i = 0; i < count; ++i) {
        if (reserved[i] != 0) {
            return error_set(error, OCLATTN_UNSUPPORTED, "reserved[%zu] is set: this library does not know its meaning",
                             i);
        }
    }
    return OCLATTN_OK;
}

oclattn_status check_allocation(const device_caps *caps, const char *name, uint64_t bytes, oclattn_error *error) {
    if (caps->max_allocation_bytes == 0 || bytes <= caps->max_allocation_bytes) {
        return OCLATTN_OK;
    }
    return error_set(error, OCLATTN_OUT_OF_MEMORY, "%s takes %llu bytes; the largest buffer of this device has %llu",
                     name, (unsigned long long)bytes, (unsigned long long)caps->max_allocation_bytes);
}

oclattn_status check_tensor_allocation(const device_caps *caps, const tensor_spec *spec, oclattn_error *error) {
    if (!spec->used) {
        return OCLATTN_OK;
    }
    const int64_t bytes = multiply_sizes(tensor_extent(spec), (int64_t)spec->element_bytes);
    return check_allocation(caps, spec->name, (uint64_t)bytes, error);
}
