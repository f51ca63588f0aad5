#include "properties.h"

#include <stdio.h>
#include <string.h>

/* Queries of OpenCL 2.0 and later, and of vendors' extensions, which the 1.2 headers do not name. */
enum {
    QUERY_HALF_FP_CONFIG = 0x1033,
    QUERY_MAX_NUM_SUB_GROUPS = 0x105C,
    QUERY_SUB_GROUP_PROGRESS = 0x105D,
    QUERY_IL_VERSION = 0x105B,
    QUERY_SVM_CAPABILITIES = 0x1053,
    QUERY_NV_CAPABILITY_MAJOR = 0x4000,
    QUERY_NV_CAPABILITY_MINOR = 0x4001,
    QUERY_NV_REGISTERS_PER_BLOCK = 0x4002,
    QUERY_NV_WARP_SIZE = 0x4003,
    QUERY_AMD_BOARD_NAME = 0x4038,
    QUERY_AMD_SIMD_PER_COMPUTE_UNIT = 0x4040,
    QUERY_AMD_WAVEFRONT_WIDTH = 0x4043,
    QUERY_INTEL_SUB_GROUP_SIZES = 0x4108
};

static const char *const fp16_word[] = {"cl_khr_fp16", NULL};
static const char *const fp64_word[] = {"cl_khr_fp64", NULL};
static const char *const float_abilities[] = {"denormals",
                                              "inf_nan",
                                              "round_to_nearest",
                                              "round_to_zero",
                                              "round_to_inf",
                                              "fma",
                                              "soft_float",
                                              "correctly_rounded_divide",
                                              NULL};
/* The last of those has a meaning for single precision alone. */
static const char *const other_float_abilities[] = {"denormals",    "inf_nan", "round_to_nearest", "round_to_zero",
                                                    "round_to_inf", "fma",     "soft_float",       NULL};
static const char *const type_words[] = {"gpu", "cpu", "accelerator", "custom", NULL};
static const char *const queue_abilities[] = {"out_of_order", "profiling", NULL};
static const char *const svm_abilities[] = {"coarse_buffer", "fine_buffer", "fine_system", "atomics", NULL};

#define TEXT(key, label, param)                                                                                        \
    { key, label, PROPERTY_TEXT, UNIT_NONE, param, 0, 0, 0, NULL, false }
#define WORDS(key, label, param)                                                                                       \
    { key, label, PROPERTY_TEXT, UNIT_NONE, param, 0, 0, 0, NULL, true }
#define NUMBER(key, label, unit, param, type, least, most)                                                             \
    { key, label, PROPERTY_NUMBER, unit, param, sizeof(type), least, most, NULL, false }
#define FLAG(key, label, param)                                                                                        \
    { key, label, PROPERTY_FLAG, UNIT_NONE, param, sizeof(cl_bool), 0, 0, NULL, false }
#define BITS(key, label, param, words)                                                                                 \
    { key, label, PROPERTY_BITS, UNIT_NONE, param, sizeof(cl_bitfield), 0, 0, words, false }
#define NUMBERS(key, label, param)                                                                                     \
    { key, label, PROPERTY_NUMBERS, UNIT_NONE, param, 0, 1, INT64_MAX, NULL, false }
#define DERIVED(key, label, kind, words)                                                                               \
    { key, label, kind, UNIT_NONE, 0, 0, 0, 0, words, false }

const property platform_properties[] = {
    TEXT("name", "name", CL_PLATFORM_NAME),
    TEXT("vendor", "vendor", CL_PLATFORM_VENDOR),
    TEXT("version", "version", CL_PLATFORM_VERSION),
    TEXT("profile", "profile", CL_PLATFORM_PROFILE),
    WORDS("extensions", "extensions", CL_PLATFORM_EXTENSIONS),
};
const size_t platform_property_count = sizeof platform_properties / sizeof platform_properties[0];

/* Bounds: a clock of 0, or of a few MHz as some phones say, or beyond 20 GHz, is no clock; a device has a compute unit,
 * memory, and room for one work-item. */
const property device_properties[] = {
    TEXT("name", "name", CL_DEVICE_NAME),
    TEXT("vendor", "vendor", CL_DEVICE_VENDOR),
    NUMBER("vendor_id", "vendor id", UNIT_NONE, CL_DEVICE_VENDOR_ID, cl_uint, 0, UINT32_MAX),
    TEXT("driver_version", "driver", CL_DRIVER_VERSION),
    TEXT("device_version", "OpenCL", CL_DEVICE_VERSION),
    TEXT("c_version", "OpenCL C", CL_DEVICE_OPENCL_C_VERSION),
    {"type", "type", PROPERTY_TYPE, UNIT_NONE, CL_DEVICE_TYPE, sizeof(cl_device_type), 0, 0, type_words, false},
    TEXT("profile", "profile", CL_DEVICE_PROFILE),
    FLAG("available", "available", CL_DEVICE_AVAILABLE),
    FLAG("compiler_available", "compiler", CL_DEVICE_COMPILER_AVAILABLE),
    FLAG("linker_available", "linker", CL_DEVICE_LINKER_AVAILABLE),
    NUMBER("compute_units", "compute units", UNIT_NONE, CL_DEVICE_MAX_COMPUTE_UNITS, cl_uint, 1, 1000000),
    NUMBER("clock_mhz", "clock", UNIT_MHZ, CL_DEVICE_MAX_CLOCK_FREQUENCY, cl_uint, 20, 20000),
    NUMBER("address_bits", "address bits", UNIT_BITS, CL_DEVICE_ADDRESS_BITS, cl_uint, 8, 64),
    FLAG("little_endian", "little endian", CL_DEVICE_ENDIAN_LITTLE),
    NUMBER("global_memory_bytes", "memory", UNIT_BYTES, CL_DEVICE_GLOBAL_MEM_SIZE, cl_ulong, 1, INT64_MAX),
    NUMBER("max_allocation_bytes", "largest buffer", UNIT_BYTES, CL_DEVICE_MAX_MEM_ALLOC_SIZE, cl_ulong, 1, INT64_MAX),
    NUMBER("global_cache_bytes", "cache", UNIT_BYTES, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cl_ulong, 0, INT64_MAX),
    NUMBER("global_cache_line_bytes", "cache line", UNIT_BYTES, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, cl_uint, 0,
           UINT32_MAX),
    FLAG("host_unified_memory", "shares the host's memory", CL_DEVICE_HOST_UNIFIED_MEMORY),
    FLAG("error_correction", "error correction", CL_DEVICE_ERROR_CORRECTION_SUPPORT),
    NUMBER("local_memory_bytes", "local memory", UNIT_BYTES, CL_DEVICE_LOCAL_MEM_SIZE, cl_ulong, 0, INT64_MAX),
    {"local_memory_is_dedicated", "local memory is dedicated", PROPERTY_IS_LOCAL, UNIT_NONE, CL_DEVICE_LOCAL_MEM_TYPE,
     sizeof(cl_uint), 0, 0, NULL, false},
    NUMBER("constant_buffer_bytes", "constant buffer", UNIT_BYTES, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, cl_ulong, 0,
           INT64_MAX),
    NUMBER("max_work_group_size", "work-group size", UNIT_NONE, CL_DEVICE_MAX_WORK_GROUP_SIZE, size_t, 1, INT64_MAX),
    NUMBERS("max_work_item_sizes", "work-item sizes", CL_DEVICE_MAX_WORK_ITEM_SIZES),
    NUMBER("max_parameter_bytes", "kernel arguments", UNIT_BYTES, CL_DEVICE_MAX_PARAMETER_SIZE, size_t, 1, INT64_MAX),
    NUMBER("memory_base_align_bits", "buffer alignment", UNIT_BITS, CL_DEVICE_MEM_BASE_ADDR_ALIGN, cl_uint, 1,
           UINT32_MAX),
    NUMBER("preferred_float_width", "preferred float vector", UNIT_NONE, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT,
           cl_uint, 0, 1024),
    NUMBER("native_float_width", "native float vector", UNIT_NONE, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, cl_uint, 0,
           1024),
    NUMBER("native_half_width", "native half vector", UNIT_NONE, CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, cl_uint, 0, 1024),
    NUMBER("native_double_width", "native double vector", UNIT_NONE, CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, cl_uint, 0,
           1024),
    DERIVED("has_fp16", "fp16", PROPERTY_WORD, fp16_word),
    DERIVED("has_fp64", "fp64", PROPERTY_WORD, fp64_word),
    DERIVED("has_subgroups", "sub-groups", PROPERTY_SUBGROUPS, NULL),
    DERIVED("matrix_extensions", "matrix units", PROPERTY_MATRIX, NULL),
    BITS("single_float_abilities", "float abilities", CL_DEVICE_SINGLE_FP_CONFIG, float_abilities),
    BITS("half_float_abilities", "half abilities", QUERY_HALF_FP_CONFIG, other_float_abilities),
    BITS("double_float_abilities", "double abilities", CL_DEVICE_DOUBLE_FP_CONFIG, other_float_abilities),
    BITS("queue_abilities", "queues", CL_DEVICE_QUEUE_PROPERTIES, queue_abilities),
    NUMBER("profiling_timer_ns", "event timer", UNIT_NS, CL_DEVICE_PROFILING_TIMER_RESOLUTION, size_t, 1, INT64_MAX),
    NUMBER("printf_buffer_bytes", "printf buffer", UNIT_BYTES, CL_DEVICE_PRINTF_BUFFER_SIZE, size_t, 0, INT64_MAX),
    NUMBER("max_sub_devices", "sub-devices", UNIT_NONE, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, cl_uint, 0, UINT32_MAX),
    NUMBER("max_sub_groups", "sub-groups in a group", UNIT_NONE, QUERY_MAX_NUM_SUB_GROUPS, cl_uint, 0, UINT32_MAX),
    FLAG("sub_group_progress", "sub-group progress", QUERY_SUB_GROUP_PROGRESS),
    BITS("svm_abilities", "shared virtual memory", QUERY_SVM_CAPABILITIES, svm_abilities),
    WORDS("il_version", "intermediate languages", QUERY_IL_VERSION),
    NUMBER("nv_capability_major", "NVIDIA capability, major", UNIT_NONE, QUERY_NV_CAPABILITY_MAJOR, cl_uint, 1, 1000),
    NUMBER("nv_capability_minor", "NVIDIA capability, minor", UNIT_NONE, QUERY_NV_CAPABILITY_MINOR, cl_uint, 0, 1000),
    NUMBER("nv_registers_per_block", "NVIDIA registers", UNIT_NONE, QUERY_NV_REGISTERS_PER_BLOCK, cl_uint, 1,
           UINT32_MAX),
    NUMBER("nv_warp_size", "NVIDIA warp", UNIT_NONE, QUERY_NV_WARP_SIZE, cl_uint, 1, 1024),
    TEXT("amd_board_name", "AMD board", QUERY_AMD_BOARD_NAME),
    NUMBER("amd_simd_per_compute_unit", "AMD SIMDs in a unit", UNIT_NONE, QUERY_AMD_SIMD_PER_COMPUTE_UNIT, cl_uint, 1,
           1024),
    NUMBER("amd_wavefront_width", "AMD wavefront", UNIT_NONE, QUERY_AMD_WAVEFRONT_WIDTH, cl_uint, 1, 1024),
    NUMBERS("intel_sub_group_sizes", "Intel sub-group sizes", QUERY_INTEL_SUB_GROUP_SIZES),
    WORDS("extensions", "extensions", CL_DEVICE_EXTENSIONS),
};
const size_t device_property_count = sizeof device_properties / sizeof device_properties[0];

const property *device_property_find(const char *key) {
    for (size_t i = 0; i < device_property_count; i++) {
        if (strcmp(device_properties[i].key, key) == 0) {
            return &device_properties[i];
        }
    }
    return NULL;
}

bool property_believes_number(const property *p, unsigned long long value) {
    return value >= p->least && value <= p->most;
}

static bool is_believed_number(const property *p, const json_t *value) {
    const json_int_t number = json_integer_value(value);
    return json_is_integer(value) && number >= 0 && property_believes_number(p, (unsigned long long)number);
}

static bool is_word_of(const char *const *words, const json_t *value) {
    const char *word = json_string_value(value);
    for (size_t i = 0; word && words && words[i]; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static bool takes_item(const property *p, const json_t *item) {
    return p->kind == PROPERTY_NUMBERS ? is_believed_number(p, item)
           : p->kind == PROPERTY_BITS  ? is_word_of(p->words, item)
                                       : json_is_string(item);
}

static bool takes_list(const property *p, const json_t *list) {
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)list, i, item) {
        if (!takes_item(p, item)) {
            return false;
        }
    }
    return json_is_array(list);
}

bool property_takes(const property *p, const json_t *value) {
    if (json_is_null(value)) {
        return true;
    }
    switch (p->kind) {
    case PROPERTY_TEXT:
        return json_is_string(value);
    case PROPERTY_TYPE:
        return is_word_of(p->words, value);
    case PROPERTY_NUMBER:
        return is_believed_number(p, value);
    case PROPERTY_NUMBERS:
    case PROPERTY_BITS:
    case PROPERTY_MATRIX:
        return takes_list(p, value);
    default:
        return json_is_boolean(value);
    }
}

unsigned long long property_type_bit(size_t index) {
    static const cl_device_type bits[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_ACCELERATOR,
                                          CL_DEVICE_TYPE_CUSTOM};
    return bits[index];
}
