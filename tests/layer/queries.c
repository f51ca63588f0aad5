/* Queries of devices and platforms, whose answers play others. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

typedef struct overridden_query {
    const char *setting;
    cl_uint param;
} overridden_query;

static const overridden_query device_texts[] = {
    {"DEVICE_NAME", CL_DEVICE_NAME},           {"VENDOR", CL_DEVICE_VENDOR},
    {"DRIVER_VERSION", CL_DRIVER_VERSION},     {"DEVICE_VERSION", CL_DEVICE_VERSION},
    {"C_VERSION", CL_DEVICE_OPENCL_C_VERSION},
};

static const overridden_query platform_texts[] = {
    {"PLATFORM_NAME", CL_PLATFORM_NAME},
    {"PLATFORM_VERSION", CL_PLATFORM_VERSION},
};

static const overridden_query device_numbers[] = {
    {"MAX_WORK_GROUP", CL_DEVICE_MAX_WORK_GROUP_SIZE},    {"LOCAL_MEMORY", CL_DEVICE_LOCAL_MEM_SIZE},
    {"MAX_ALLOCATION", CL_DEVICE_MAX_MEM_ALLOC_SIZE},     {"DEVICE_TYPE", CL_DEVICE_TYPE},
    {"UNIFIED_MEMORY", CL_DEVICE_HOST_UNIFIED_MEMORY},    {"AVAILABLE", CL_DEVICE_AVAILABLE},
    {"COMPILER_AVAILABLE", CL_DEVICE_COMPILER_AVAILABLE}, {"COMPUTE_UNITS", CL_DEVICE_MAX_COMPUTE_UNITS},
    {"GLOBAL_MEMORY", CL_DEVICE_GLOBAL_MEM_SIZE},         {"FLOAT_WIDTH", CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT},
    {"ADDRESS_ALIGN", CL_DEVICE_MEM_BASE_ADDR_ALIGN},     {"LOCAL_MEMORY_TYPE", CL_DEVICE_LOCAL_MEM_TYPE},
    {"PARAMETER_BYTES", CL_DEVICE_MAX_PARAMETER_SIZE},    {"VENDOR_ID", CL_DEVICE_VENDOR_ID},
    {"MAX_SUB_GROUPS", CL_DEVICE_MAX_NUM_SUB_GROUPS},
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The setting that overrides `param`; NULL: none. */
static const char *overriding(const overridden_query *queries, size_t count, cl_uint param) {
    for (size_t i = 0; i < count; i++) {
        if (queries[i].param == param && setting(queries[i].setting) != NULL) {
            return queries[i].setting;
        }
    }
    return NULL;
}

/* Whether a list such as "105B,1060-1065" holds `param`. */
static bool list_holds(const char *list, cl_uint param) {
    while (list != NULL && *list != '\0') {
        char *end = NULL;
        const unsigned long first = strtoul(list, &end, 16);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 16) : first;
        if (param >= first && param <= last) {
            return true;
        }
        list = *end == ',' ? end + 1 : end + strlen(end);
    }
    return false;
}

bool is_old(void) {
    const char *version = setting("DEVICE_VERSION");
    return version != NULL && strncmp(version, "OpenCL 1.", 9) == 0;
}

/* The last query of OpenCL 1.2 is 0x1049, CL_DEVICE_PRINTF_BUFFER_SIZE; up to 0x107F came with 2.0 to 3.0. */
static bool is_refused(cl_device_info param) {
    return (is_old() && param > 0x1049 && param <= 0x107F) || list_holds(setting("FAIL_QUERIES"), param);
}

/* The driver says how wide the number is. */
static cl_int answer_number(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_returned,
                            unsigned long long number) {
    cl_ulong real = 0;
    size_t width = 0;
    const cl_int code = target->clGetDeviceInfo(device, param, sizeof(real), &real, &width);
    if (code != CL_SUCCESS) {
        return code;
    }
    const cl_uint narrow = (cl_uint)number;
    const cl_ulong wide = number;
    return width == sizeof(narrow) ? answer(size, value, size_returned, &narrow, sizeof(narrow))
                                   : answer(size, value, size_returned, &wide, sizeof(wide));
}

static cl_int answer_work_items(const char *text, size_t size, void *value, size_t *size_returned) {
    size_t sizes[3] = {1, 1, 1};
    for (size_t i = 0; i < 3 && *text != '\0'; i++) {
        char *end = NULL;
        sizes[i] = (size_t)strtoull(text, &end, 0);
        text = *end == ',' ? end + 1 : end;
    }
    return answer(size, value, size_returned, sizes, sizeof(sizes));
}

static cl_int answer_extensions(cl_device_id device, size_t size, void *value, size_t *size_returned) {
    char *text = visible_extensions(device);
    const cl_int code = text != NULL ? answer_text(size, value, size_returned, text) : CL_OUT_OF_RESOURCES;
    free(text);
    return code;
}

/* What tells of an extension besides the list; a device without the extension says 0. */
static const char *extension_of(cl_device_info param) {
    switch (param) {
    case CL_DEVICE_MAX_NUM_SUB_GROUPS:
        return "cl_khr_subgroups";
    case CL_DEVICE_HALF_FP_CONFIG:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF:
        return "cl_khr_fp16";
    case CL_DEVICE_DOUBLE_FP_CONFIG:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE:
        return "cl_khr_fp64";
    default:
        return NULL;
    }
}

static bool tells_of_hidden(cl_device_info param) {
    const char *extension = extension_of(param);
    return extension != NULL && is_hidden(extension, strlen(extension));
}

static cl_int answer_changed(cl_device_id device, cl_device_info param, size_t size, void *value,
                             size_t *size_returned) {
    const char *text = overriding(device_texts, LENGTH(device_texts), param);
    if (text != NULL) {
        return answer_text(size, value, size_returned, setting(text));
    }
    unsigned long long number = 0;
    const char *name = overriding(device_numbers, LENGTH(device_numbers), param);
    if (name != NULL && number_setting(name, &number)) {
        return answer_number(device, param, size, value, size_returned, number);
    }
    if (param == CL_DEVICE_MAX_WORK_ITEM_SIZES && setting("MAX_WORK_ITEMS") != NULL) {
        return answer_work_items(setting("MAX_WORK_ITEMS"), size, value, size_returned);
    }
    if (param == CL_DEVICE_EXTENSIONS && (setting("HIDE_EXTENSIONS") != NULL || setting("KEEP_EXTENSIONS") != NULL)) {
        return answer_extensions(device, size, value, size_returned);
    }
    if (param == CL_DEVICE_QUEUE_PROPERTIES && setting("IN_ORDER") != NULL) {
        return answer_number(device, param, size, value, size_returned, CL_QUEUE_PROFILING_ENABLE);
    }
    if (tells_of_hidden(param)) {
        return answer_number(device, param, size, value, size_returned, 0);
    }
    return target->clGetDeviceInfo(device, param, size, value, size_returned);
}

static cl_int CL_API_CALL layer_clGetDeviceInfo(cl_device_id device, cl_device_info param, size_t size, void *value,
                                                size_t *size_returned) {
    const cl_int code = fault(CALL_clGetDeviceInfo);
    if (code != CL_SUCCESS) {
        return code;
    }
    if (!device_is_changed(device)) {
        return target->clGetDeviceInfo(device, param, size, value, size_returned);
    }
    if (is_refused(param)) {
        return CL_INVALID_VALUE;
    }
    if (list_holds(setting("EMPTY_QUERIES"), param)) {
        return answer(size, value, size_returned, NULL, 0);
    }
    return answer_changed(device, param, size, value, size_returned);
}

static cl_int CL_API_CALL layer_clGetPlatformInfo(cl_platform_id platform, cl_platform_info param, size_t size,
                                                  void *value, size_t *size_returned) {
    const char *name = overriding(platform_texts, LENGTH(platform_texts), param);
    const cl_int code = fault(CALL_clGetPlatformInfo);
    if (code != CL_SUCCESS) {
        return code;
    }
    if (name == NULL || !platform_is_changed(platform)) {
        return target->clGetPlatformInfo(platform, param, size, value, size_returned);
    }
    return answer_text(size, value, size_returned, setting(name));
}

void install_queries(cl_icd_dispatch *table) {
    REPLACE(clGetDeviceInfo);
    REPLACE(clGetPlatformInfo);
}
