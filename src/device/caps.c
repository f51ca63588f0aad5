#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "text.h"

/* OpenCL 2.1 (core) and cl_khr_subgroups; the 1.2 headers do not name it. */
#define DEVICE_MAX_NUM_SUB_GROUPS 0x105C
/* cl_intel_required_subgroup_size */
#define DEVICE_SUB_GROUP_SIZES_INTEL 0x4108
/* cl_amd_device_attribute_query */
#define DEVICE_WAVEFRONT_WIDTH_AMD 0x4043

/* What a query says of its length is believed up to here. */
#define MAX_ANSWER_BYTES ((size_t)1 << 20)
/* A larger sub-group is not believed. */
enum { MOST_SUB_GROUP = 1024 };
/* For drivers that write a little more than they announced. */
#define ROOM_BEYOND ((size_t)256)

/* Platforms answer their queries, devices theirs: exactly one of the two is set. */
typedef struct query_target {
    cl_platform_id platform;
    cl_device_id device;
} query_target;

static cl_int query(query_target target, cl_uint param, size_t size, void *value, size_t *size_returned) {
    if (target.platform != NULL) {
        return clGetPlatformInfo(target.platform, param, size, value, size_returned);
    }
    return clGetDeviceInfo(target.device, param, size, value, size_returned);
}

/* The whole answer, followed by a 0 that drivers may have forgotten. NULL where there is none; free it. */
static char *read_answer(query_target target, cl_uint param, size_t *length) {
    size_t size = 0;
    *length = 0;
    if (query(target, param, 0, NULL, &size) != CL_SUCCESS || size == 0 || size > MAX_ANSWER_BYTES) {
        return NULL;
    }
    char *answer = calloc(size + 1 + ROOM_BEYOND, 1);
    if (answer == NULL) {
        return NULL;
    }
    if (query(target, param, size, answer, NULL) != CL_SUCCESS) {
        free(answer);
        return NULL;
    }
    *length = size;
    return answer;
}

static void read_text(query_target target, cl_uint param, char *text, size_t size) {
    size_t length = 0;
    char *answer = read_answer(target, param, &length);
    text_clean(text, size, answer, length);
    free(answer);
}

/* A value of a fixed size; left as it is unless the driver gives all of it. */
static void read_value(cl_device_id device, cl_device_info param, void *value, size_t size) {
    unsigned char answer[sizeof(cl_ulong)] = {0};
    size_t returned = 0;
    const cl_int code = clGetDeviceInfo(device, param, size, answer, &returned);
    if (code == CL_SUCCESS && returned == size) {
        memcpy(value, answer, size);
    }
}

static cl_uint read_uint(cl_device_id device, cl_device_info param) {
    cl_uint value = 0;
    read_value(device, param, &value, sizeof(value));
    return value;
}

static cl_ulong read_ulong(cl_device_id device, cl_device_info param) {
    cl_ulong value = 0;
    read_value(device, param, &value, sizeof(value));
    return value;
}

static size_t read_size(cl_device_id device, cl_device_info param) {
    size_t value = 0;
    read_value(device, param, &value, sizeof(value));
    return value;
}

static bool read_bool(cl_device_id device, cl_device_info param) {
    return read_uint(device, param) != CL_FALSE;
}

void platform_text_read(cl_platform_id platform, cl_platform_info param, char *text, size_t size) {
    read_text((query_target){.platform = platform}, param, text, size);
}

static void read_platform(device_caps *caps, cl_device_id id) {
    cl_platform_id platform = NULL;
    read_value(id, CL_DEVICE_PLATFORM, &platform, sizeof(platform));
    if (platform == NULL) {
        return;
    }
    platform_text_read(platform, CL_PLATFORM_NAME, caps->platform_name, sizeof(caps->platform_name));
    platform_text_read(platform, CL_PLATFORM_VENDOR, caps->platform_vendor, sizeof(caps->platform_vendor));
    platform_text_read(platform, CL_PLATFORM_VERSION, caps->platform_version, sizeof(caps->platform_version));
}

static void read_names(device_caps *caps, cl_device_id id) {
    const query_target target = {.device = id};
    read_text(target, CL_DEVICE_NAME, caps->name, sizeof(caps->name));
    read_text(target, CL_DEVICE_VENDOR, caps->vendor, sizeof(caps->vendor));
    read_text(target, CL_DRIVER_VERSION, caps->driver_version, sizeof(caps->driver_version));
    read_text(target, CL_DEVICE_VERSION, caps->device_version, sizeof(caps->device_version));
    read_text(target, CL_DEVICE_OPENCL_C_VERSION, caps->c_version, sizeof(caps->c_version));
}

/* "OpenCL 3.0 whatever the vendor adds". */
void device_caps_parse_version(device_caps *caps) {
    unsigned major = 0;
    unsigned minor = 0;
    const bool readable = sscanf(caps->device_version, "OpenCL %3u.%3u", &major, &minor) == 2 && major > 0;
    caps->version_major = readable ? major : 1;
    caps->version_minor = readable ? minor : 2;
}

static void read_limits(device_caps *caps, cl_device_id id) {
    caps->vendor_id = read_uint(id, CL_DEVICE_VENDOR_ID);
    caps->compute_units = read_uint(id, CL_DEVICE_MAX_COMPUTE_UNITS);
    caps->clock_mhz = read_uint(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    caps->address_bits = read_uint(id, CL_DEVICE_ADDRESS_BITS);
    caps->global_memory_bytes = read_ulong(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    caps->max_allocation_bytes = read_ulong(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    caps->local_memory_bytes = read_ulong(id, CL_DEVICE_LOCAL_MEM_SIZE);
    caps->local_memory_is_dedicated = read_uint(id, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL;
    caps->max_work_group_size = read_size(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    caps->max_parameter_bytes = read_size(id, CL_DEVICE_MAX_PARAMETER_SIZE);
    caps->memory_base_align_bits = read_uint(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN);
    caps->native_float_width = read_uint(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
}

/* A device may have more than three dimensions, so the answer may be longer than what is kept of it. */
static void read_work_item_sizes(device_caps *caps, cl_device_id id) {
    size_t length = 0;
    char *answer = read_answer((query_target){.device = id}, CL_DEVICE_MAX_WORK_ITEM_SIZES, &length);
    if (length >= sizeof(caps->max_work_item_sizes)) {
        memcpy(caps->max_work_item_sizes, answer, sizeof(caps->max_work_item_sizes));
    }
    free(answer);
}

static bool has_core_subgroups(const device_caps *caps, cl_device_id id) {
    const bool has_query = caps->version_major > 2 || (caps->version_major == 2 && caps->version_minor >= 1);
    return has_query && read_uint(id, DEVICE_MAX_NUM_SUB_GROUPS) > 0;
}

/* Asked of AMD's devices only. */
static cl_uint read_wavefront_width(const device_caps *caps, cl_device_id id) {
    return device_family_find(caps, "", 0) == FAMILY_AMD_WAVE64 ? read_uint(id, DEVICE_WAVEFRONT_WIDTH_AMD) : 0;
}

void device_caps_parse_extensions(device_caps *caps, const char *extensions, unsigned wavefront_width) {
    caps->has_fp16 = text_has_word(extensions, "cl_khr_fp16");
    caps->has_fp64 = text_has_word(extensions, "cl_khr_fp64");
    caps->has_intel_subgroups = text_has_word(extensions, "cl_intel_subgroups");
    caps->has_subgroups = caps->has_intel_subgroups || text_has_word(extensions, "cl_khr_subgroups");
    caps->has_required_subgroup_size = text_has_word(extensions, "cl_intel_required_subgroup_size");
    caps->family = device_family_find(caps, extensions, wavefront_width);
}

static cl_uint read_smallest_sub_group(cl_device_id id) {
    size_t length = 0;
    char *answer = read_answer((query_target){.device = id}, DEVICE_SUB_GROUP_SIZES_INTEL, &length);
    size_t smallest = 0;
    for (size_t at = 0; at + sizeof(size_t) <= length; at += sizeof(size_t)) {
        size_t size;
        memcpy(&size, answer + at, sizeof(size));
        smallest = smallest == 0 || size < smallest ? size : smallest;
    }
    free(answer);
    return smallest <= MOST_SUB_GROUP ? (cl_uint)smallest : 0;
}

static void read_features(device_caps *caps, cl_device_id id) {
    size_t length = 0;
    char *answer = read_answer((query_target){.device = id}, CL_DEVICE_EXTENSIONS, &length);
    device_caps_parse_extensions(caps, answer != NULL ? answer : "", read_wavefront_width(caps, id));
    caps->has_subgroups = caps->has_subgroups || has_core_subgroups(caps, id);
    caps->smallest_sub_group = caps->has_required_subgroup_size ? read_smallest_sub_group(id) : 0;
    free(answer);
    caps->host_unified_memory = read_bool(id, CL_DEVICE_HOST_UNIFIED_MEMORY);
    caps->little_endian = read_bool(id, CL_DEVICE_ENDIAN_LITTLE);
    caps->available = read_bool(id, CL_DEVICE_AVAILABLE);
    caps->compiler_available = read_bool(id, CL_DEVICE_COMPILER_AVAILABLE);
}

void device_caps_read(device_caps *caps, cl_device_id id) {
    memset(caps, 0, sizeof(*caps));
    caps->type = read_ulong(id, CL_DEVICE_TYPE);
    read_names(caps, id);
    read_platform(caps, id);
    device_caps_parse_version(caps);
    read_limits(caps, id);
    read_work_item_sizes(caps, id);
    read_features(caps, id);
}
