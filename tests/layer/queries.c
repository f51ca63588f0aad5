/* Queries whose answers play another device. */
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

/* The last query of OpenCL 1.2 is 0x1049, CL_DEVICE_PRINTF_BUFFER_SIZE; up to 0x107F came with 2.0 to 3.0. */
static bool is_refused(cl_device_info param) {
    const char *version = setting("DEVICE_VERSION");
    const bool is_old = version != NULL && strncmp(version, "OpenCL 1.", 9) == 0;
    return (is_old && param > 0x1049 && param <= 0x107F) || list_holds(setting("FAIL_QUERIES"), param);
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

static bool is_hidden(const char *word, size_t length) {
    const char *hidden = setting("HIDE_EXTENSIONS");
    while (hidden != NULL && *hidden != '\0') {
        const size_t span = strcspn(hidden, ",");
        if (span == length && strncmp(hidden, word, length) == 0) {
            return true;
        }
        hidden += span + (hidden[span] == ',');
    }
    return false;
}

static void remove_hidden_words(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        const size_t length = strcspn(from, " ");
        const size_t step = length + (from[length] == ' ');
        if (!is_hidden(from, length)) {
            memmove(to, from, step);
            to += step;
        }
        from += step;
    }
    *to = '\0';
}

static cl_int answer_extensions(cl_device_id device, size_t size, void *value, size_t *size_returned) {
    size_t length = 0;
    cl_int code = target->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &length);
    char *text = calloc(length + 1, 1);
    if (text == NULL) {
        return CL_OUT_OF_HOST_MEMORY;
    }
    if (code == CL_SUCCESS && length > 0) {
        code = target->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, length, text, NULL);
    }
    if (code == CL_SUCCESS) {
        remove_hidden_words(text);
        code = answer_text(size, value, size_returned, text);
    }
    free(text);
    return code;
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
    if (param == CL_DEVICE_EXTENSIONS && setting("HIDE_EXTENSIONS") != NULL) {
        return answer_extensions(device, size, value, size_returned);
    }
    if (param == CL_DEVICE_MAX_NUM_SUB_GROUPS && is_hidden("cl_khr_subgroups", strlen("cl_khr_subgroups"))) {
        return answer_number(device, param, size, value, size_returned, 0);
    }
    return target->clGetDeviceInfo(device, param, size, value, size_returned);
}

static cl_int CL_API_CALL layer_clGetDeviceInfo(cl_device_id device, cl_device_info param, size_t size, void *value,
                                                size_t *size_returned) {
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
    if (name == NULL || !platform_is_changed(platform)) {
        return target->clGetPlatformInfo(platform, param, size, value, size_returned);
    }
    return answer_text(size, value, size_returned, setting(name));
}

static void lower_to(size_t *value, const char *name) {
    unsigned long long limit = 0;
    if (number_setting(name, &limit) && *value > limit) {
        *value = (size_t)limit;
    }
}

static cl_int CL_API_CALL layer_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                                         cl_kernel_work_group_info param, size_t size, void *value,
                                                         size_t *size_returned) {
    const bool is_limit = param == CL_KERNEL_WORK_GROUP_SIZE || param == CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE;
    const cl_int code = target->clGetKernelWorkGroupInfo(kernel, device, param, size, value, size_returned);
    if (code != CL_SUCCESS || !is_limit || value == NULL || (device != NULL && !device_is_changed(device))) {
        return code;
    }
    lower_to(value, "MAX_WORK_GROUP");
    lower_to(value, "KERNEL_WORK_GROUP");
    return code;
}

static cl_int CL_API_CALL layer_clGetProgramBuildInfo(cl_program program, cl_device_id device,
                                                      cl_program_build_info param, size_t size, void *value,
                                                      size_t *size_returned) {
    const char *text = setting("BUILD_LOG");
    if (param == CL_PROGRAM_BUILD_LOG && text != NULL) {
        return answer_text(size, value, size_returned, text);
    }
    return target->clGetProgramBuildInfo(program, device, param, size, value, size_returned);
}

static cl_int CL_API_CALL layer_clGetEventProfilingInfo(cl_event event, cl_profiling_info param, size_t size,
                                                        void *value, size_t *size_returned) {
    const char *played = setting("EVENT_TIMES");
    if (played == NULL) {
        return target->clGetEventProfilingInfo(event, param, size, value, size_returned);
    }
    const cl_ulong time = strcmp(played, "huge") == 0 ? ~(cl_ulong)0 : 0;
    return strcmp(played, "fail") == 0 ? CL_PROFILING_INFO_NOT_AVAILABLE
                                       : answer(size, value, size_returned, &time, sizeof(time));
}

void install_queries(cl_icd_dispatch *table) {
    table->clGetEventProfilingInfo = layer_clGetEventProfilingInfo;
    table->clGetDeviceInfo = layer_clGetDeviceInfo;
    table->clGetPlatformInfo = layer_clGetPlatformInfo;
    table->clGetKernelWorkGroupInfo = layer_clGetKernelWorkGroupInfo;
    table->clGetProgramBuildInfo = layer_clGetProgramBuildInfo;
}
