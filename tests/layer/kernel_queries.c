/* What kernels and programs say of themselves on the device that is played. */
#include "parts.h"

#include <string.h>

static void lower_to(size_t *value, unsigned long long limit) {
    if (*value > limit) {
        *value = (size_t)limit;
    }
}

/* A size that the driver gave, within the limits of the device that is played. */
static void limit_size(cl_kernel kernel, cl_kernel_work_group_info param, size_t *value) {
    unsigned long long limit = 0;
    if (param == CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE && number_setting("PREFERRED_MULTIPLE", &limit)) {
        *value = (size_t)limit;
    }
    if (number_setting("MAX_WORK_GROUP", &limit)) {
        lower_to(value, limit);
    }
    if (kernel_limit(kernel, &limit)) {
        lower_to(value, limit);
    }
}

static cl_int CL_API_CALL layer_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                                         cl_kernel_work_group_info param, size_t size, void *value,
                                                         size_t *size_returned) {
    const cl_int ordered = fault(CALL_clGetKernelWorkGroupInfo);
    if (ordered != CL_SUCCESS) {
        return ordered;
    }
    const bool is_limit = param == CL_KERNEL_WORK_GROUP_SIZE || param == CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE;
    const cl_int code = target->clGetKernelWorkGroupInfo(kernel, device, param, size, value, size_returned);
    if (code == CL_SUCCESS && is_limit && value != NULL && (device == NULL || device_is_changed(device))) {
        limit_size(kernel, param, value);
    }
    return code;
}

typedef cl_int(CL_API_CALL *sub_group_query)(cl_kernel, cl_device_id, cl_kernel_sub_group_info, size_t, const void *,
                                             size_t, void *, size_t *);

static const char *played_sub_group_answer(cl_kernel_sub_group_info param) {
    switch (param) {
    case CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE:
        return "SUB_GROUP_SIZE";
    case CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE:
    case CL_KERNEL_MAX_NUM_SUB_GROUPS:
        return "SUB_GROUP_COUNT";
    default:
        return "";
    }
}

/* The query came with either extension. */
static bool has_no_sub_groups(void) {
    return is_hidden("cl_khr_subgroups", strlen("cl_khr_subgroups")) &&
           is_hidden("cl_intel_subgroups", strlen("cl_intel_subgroups"));
}

static cl_int answer_sub_groups(sub_group_query real, cl_kernel kernel, cl_device_id device,
                                cl_kernel_sub_group_info param, size_t input_size, const void *input, size_t size,
                                void *value, size_t *size_returned) {
    unsigned long long played = 0;
    const cl_device_id played_on = device != NULL ? device : device_of_kernel(kernel);
    if (played_on == NULL || !device_is_changed(played_on)) {
        return real(kernel, device, param, input_size, input, size, value, size_returned);
    }
    if (has_no_sub_groups() || setting("SUB_GROUP_QUERIES_FAIL") != NULL) {
        return CL_INVALID_OPERATION;
    }
    if (number_setting(played_sub_group_answer(param), &played)) {
        const size_t number = (size_t)played;
        return answer(size, value, size_returned, &number, sizeof(number));
    }
    return real(kernel, device, param, input_size, input, size, value, size_returned);
}

#define ASKS_SUB_GROUPS(name, call)                                                                                    \
    static cl_int CL_API_CALL layer_##name(cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info param,      \
                                           size_t input_size, const void *input, size_t size, void *value,             \
                                           size_t *size_returned) {                                                    \
        const cl_int code = fault(call);                                                                               \
        return code != CL_SUCCESS ? code                                                                               \
                                  : answer_sub_groups(target->name, kernel, device, param, input_size, input, size,    \
                                                      value, size_returned);                                           \
    }

ASKS_SUB_GROUPS(clGetKernelSubGroupInfo, CALL_clGetKernelSubGroupInfo)
ASKS_SUB_GROUPS(clGetKernelSubGroupInfoKHR, CALL_clGetKernelSubGroupInfoKHR)

/* Some loaders give the driver's own function away, past the layer. */
static void *CL_API_CALL layer_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name) {
    void *address = target->clGetExtensionFunctionAddressForPlatform(platform, name);
    if (address == NULL || strcmp(name, "clGetKernelSubGroupInfoKHR") != 0 || !platform_is_changed(platform)) {
        return address;
    }
    const sub_group_query own = layer_clGetKernelSubGroupInfoKHR;
    memcpy(&address, &own, sizeof(address));
    return has_no_sub_groups() ? NULL : address;
}

static cl_int CL_API_CALL layer_clGetProgramBuildInfo(cl_program program, cl_device_id device,
                                                      cl_program_build_info param, size_t size, void *value,
                                                      size_t *size_returned) {
    const char *text = setting("BUILD_LOG");
    const cl_int code = fault(CALL_clGetProgramBuildInfo);
    if (code != CL_SUCCESS) {
        return code;
    }
    if (is_old() && param == CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE) {
        return CL_INVALID_VALUE;
    }
    return param == CL_PROGRAM_BUILD_LOG && text != NULL
               ? answer_text(size, value, size_returned, text)
               : target->clGetProgramBuildInfo(program, device, param, size, value, size_returned);
}

static cl_int CL_API_CALL layer_clGetEventProfilingInfo(cl_event event, cl_profiling_info param, size_t size,
                                                        void *value, size_t *size_returned) {
    const char *played = setting("EVENT_TIMES");
    const cl_int code = fault(CALL_clGetEventProfilingInfo);
    if (code != CL_SUCCESS) {
        return code;
    }
    if (played == NULL) {
        return target->clGetEventProfilingInfo(event, param, size, value, size_returned);
    }
    const cl_ulong time = strcmp(played, "huge") == 0 ? ~(cl_ulong)0 : 0;
    return strcmp(played, "fail") == 0 ? CL_PROFILING_INFO_NOT_AVAILABLE
                                       : answer(size, value, size_returned, &time, sizeof(time));
}

void install_kernel_queries(cl_icd_dispatch *table) {
    REPLACE(clGetKernelWorkGroupInfo);
    REPLACE(clGetKernelSubGroupInfo);
    REPLACE(clGetKernelSubGroupInfoKHR);
    REPLACE(clGetExtensionFunctionAddressForPlatform);
    REPLACE(clGetProgramBuildInfo);
    REPLACE(clGetEventProfilingInfo);
}
