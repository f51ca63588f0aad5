/* The OpenCL that the library meets in this program: one device, which plays a GPU. Here it answers questions. It takes
 * the place of the ICD loader, so a call that is missing does not link. */
#include <stdbool.h>
#include <string.h>

#include "played_opencl.h"
#include "recording.h"

/* What newer or vendors' headers define. */
enum {
    DEVICE_MAX_NUM_SUB_GROUPS = 0x105c,
    DEVICE_SUB_GROUP_SIZES_INTEL = 0x4108,
    DEVICE_WARP_SIZE_NV = 0x4003,
    DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043
};

static struct _cl_platform_id platform;
struct _cl_device_id played_device_id;

cl_int answer(const void *value, size_t length, size_t size, void *to, size_t *returned) {
    if (returned != NULL) {
        *returned = length;
    }
    if (to == NULL) {
        return CL_SUCCESS;
    }
    if (size < length) {
        return CL_INVALID_VALUE;
    }
    memcpy(to, value, length);
    return CL_SUCCESS;
}

cl_int answer_text(const char *value, size_t size, void *to, size_t *returned) {
    return answer(value, strlen(value) + 1, size, to, returned);
}

cl_int answer_uint(cl_uint value, size_t size, void *to, size_t *returned) {
    return answer(&value, sizeof value, size, to, returned);
}

cl_int answer_ulong(cl_ulong value, size_t size, void *to, size_t *returned) {
    return answer(&value, sizeof value, size, to, returned);
}

cl_int answer_size(size_t value, size_t size, void *to, size_t *returned) {
    return answer(&value, sizeof value, size, to, returned);
}

cl_int answer_pointer(const void *value, size_t size, void *to, size_t *returned) {
    return answer(&value, sizeof value, size, to, returned);
}

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *count) {
    if (platforms != NULL && room > 0) {
        platforms[0] = &platform;
    }
    if (count != NULL) {
        *count = 1;
    }
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id of, cl_platform_info what, size_t size, void *to, size_t *returned) {
    (void)of;
    switch (what) {
    case CL_PLATFORM_NAME:
        return answer_text(played->platform, size, to, returned);
    case CL_PLATFORM_VENDOR:
        return answer_text(played->vendor, size, to, returned);
    case CL_PLATFORM_VERSION:
        return answer_text(played->device_version, size, to, returned);
    case CL_PLATFORM_PROFILE:
        return answer_text("FULL_PROFILE", size, to, returned);
    case CL_PLATFORM_EXTENSIONS:
        return answer_text("cl_khr_icd", size, to, returned);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int clGetDeviceIDs(cl_platform_id of, cl_device_type type, cl_uint room, cl_device_id *devices, cl_uint *count) {
    (void)of;
    if ((type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) == 0) {
        return CL_DEVICE_NOT_FOUND;
    }
    if (devices != NULL && room > 0) {
        devices[0] = &played_device_id;
    }
    if (count != NULL) {
        *count = 1;
    }
    return CL_SUCCESS;
}

static bool is_vendor(const char *part) {
    return strstr(played->vendor, part) != NULL;
}

static cl_int answer_sub_group_sizes(size_t size, void *to, size_t *returned) {
    size_t count = 0;
    while (count < PLAYED_SUB_GROUP_SIZES && played->sub_group_sizes[count] > 0) {
        ++count;
    }
    return answer(played->sub_group_sizes, count * sizeof(size_t), size, to, returned);
}

/* Extensions of one vendor, which the others' drivers do not know. */
static cl_int answer_vendors_query(cl_device_info what, size_t size, void *to, size_t *returned) {
    if (what == DEVICE_SUB_GROUP_SIZES_INTEL && is_vendor("Intel")) {
        return answer_sub_group_sizes(size, to, returned);
    }
    if ((what == DEVICE_WARP_SIZE_NV && is_vendor("NVIDIA")) ||
        (what == DEVICE_WAVEFRONT_WIDTH_AMD && is_vendor("Advanced Micro"))) {
        return answer_uint((cl_uint)played->sub_group_sizes[0], size, to, returned);
    }
    if (what == DEVICE_MAX_NUM_SUB_GROUPS && is_vendor("Intel")) {
        return answer_uint((cl_uint)(played->max_work_group_size / 8), size, to, returned);
    }
    return CL_INVALID_VALUE;
}

static cl_int answer_device_number(cl_device_info what, size_t size, void *to, size_t *returned) {
    switch (what) {
    case CL_DEVICE_TYPE:
        return answer_ulong(CL_DEVICE_TYPE_GPU, size, to, returned);
    case CL_DEVICE_VENDOR_ID:
        return answer_uint(played->vendor_id, size, to, returned);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return answer_uint(played->compute_units, size, to, returned);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
        return answer_uint(1500, size, to, returned);
    case CL_DEVICE_ADDRESS_BITS:
        return answer_uint(64, size, to, returned);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        return answer_uint(1024, size, to, returned);
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
        return answer_uint(1, size, to, returned);
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF:
        return answer_uint(played->native_half_width, size, to, returned);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        return answer_ulong(UINT64_C(8) << 30, size, to, returned);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return answer_ulong(UINT64_C(4) << 30, size, to, returned);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return answer_ulong(played->local_memory_bytes, size, to, returned);
    case CL_DEVICE_LOCAL_MEM_TYPE:
        return answer_uint(CL_LOCAL, size, to, returned);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return answer_size(played->max_work_group_size, size, to, returned);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
        return answer_uint(3, size, to, returned);
    case CL_DEVICE_MAX_PARAMETER_SIZE:
        return answer_size(played->max_parameter_bytes, size, to, returned);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
        return answer_uint(CL_FALSE, size, to, returned);
    case CL_DEVICE_ENDIAN_LITTLE:
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_LINKER_AVAILABLE:
        return answer_uint(CL_TRUE, size, to, returned);
    default:
        return answer_vendors_query(what, size, to, returned);
    }
}

cl_int clGetDeviceInfo(cl_device_id of, cl_device_info what, size_t size, void *to, size_t *returned) {
    (void)of;
    switch (what) {
    case CL_DEVICE_NAME:
        return answer_text(played->name, size, to, returned);
    case CL_DEVICE_VENDOR:
        return answer_text(played->vendor, size, to, returned);
    case CL_DEVICE_VERSION:
        return answer_text(played->device_version, size, to, returned);
    case CL_DRIVER_VERSION:
        return answer_text("1.0", size, to, returned);
    case CL_DEVICE_OPENCL_C_VERSION:
        return answer_text(played->c_version, size, to, returned);
    case CL_DEVICE_PROFILE:
        return answer_text("FULL_PROFILE", size, to, returned);
    case CL_DEVICE_EXTENSIONS:
        return answer_text(played->extensions, size, to, returned);
    case CL_DEVICE_PLATFORM:
        return answer_pointer(&platform, size, to, returned);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return answer(played->max_work_item_sizes, sizeof played->max_work_item_sizes, size, to, returned);
    default:
        return answer_device_number(what, size, to, returned);
    }
}
