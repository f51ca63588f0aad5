/* What a smaller device would refuse. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

cl_device_id device_of_context(cl_context context) {
    cl_device_id devices[64] = {NULL};
    target->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL);
    return devices[0];
}

cl_device_id device_of_kernel(cl_kernel kernel) {
    cl_context context = NULL;
    target->clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL);
    return context != NULL ? device_of_context(context) : NULL;
}

static cl_device_id device_of_queue(cl_command_queue queue) {
    cl_device_id device = NULL;
    target->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
    return device;
}

/* False: there is no such limit on this device. */
static bool limit_of(cl_device_id device, const char *name, unsigned long long *limit) {
    return setting(name) != NULL && device != NULL && device_is_changed(device) && number_setting(name, limit);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

cl_int limit_buffer(cl_context context, size_t size) {
    unsigned long long limit = 0;
    if (setting("MAX_ALLOCATION") == NULL && setting("GLOBAL_MEMORY") == NULL) {
        return CL_SUCCESS;
    }
    const cl_device_id device = device_of_context(context);
    if (limit_of(device, "MAX_ALLOCATION", &limit) && size > limit) {
        return CL_INVALID_BUFFER_SIZE;
    }
    return limit_of(device, "GLOBAL_MEMORY", &limit) && size > limit ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS;
}

cl_int limit_sub_buffer(cl_mem buffer, cl_buffer_create_type type, const void *info) {
    const cl_buffer_region *region = info;
    cl_context context = NULL;
    unsigned long long bits = 0;
    if (setting("ADDRESS_ALIGN") == NULL || type != CL_BUFFER_CREATE_TYPE_REGION || region == NULL ||
        target->clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof(context), &context, NULL) != CL_SUCCESS) {
        return CL_SUCCESS;
    }
    const bool limited = limit_of(device_of_context(context), "ADDRESS_ALIGN", &bits) && bits >= 8;
    return limited && region->origin % (bits / 8) != 0 ? CL_MISALIGNED_SUB_BUFFER_OFFSET : CL_SUCCESS;
}

/* An argument without a value is local memory, or a NULL buffer, which has the size of a handle. */
cl_int limit_argument(cl_kernel kernel, size_t size, const void *value) {
    unsigned long long limit = 0;
    if (value != NULL || size <= sizeof(cl_mem) || setting("LOCAL_MEMORY") == NULL) {
        return CL_SUCCESS;
    }
    return limit_of(device_of_kernel(kernel), "LOCAL_MEMORY", &limit) && size > limit ? CL_INVALID_ARG_SIZE
                                                                                      : CL_SUCCESS;
}

cl_int limit_queue(cl_device_id device, cl_command_queue_properties properties) {
    const bool any_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    return any_order && setting("IN_ORDER") != NULL && device_is_changed(device) ? CL_INVALID_QUEUE_PROPERTIES
                                                                                 : CL_SUCCESS;
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

/* Reads "PART=N,PART=N,N": the number of the first part that `name` holds, or the number alone. */
static bool number_for(const char *list, const char *name, unsigned long long *number) {
    while (*list != '\0') {
        const size_t span = strcspn(list, ",");
        const char *equals = memchr(list, '=', span);
        char part[128] = "";
        if (equals != NULL) {
            snprintf(part, sizeof(part), "%.*s", (int)(equals - list), list);
        }
        if (strstr(name, part) != NULL) {
            *number = strtoull(equals != NULL ? equals + 1 : list, NULL, 0);
            return true;
        }
        list += span + (list[span] == ',');
    }
    return false;
}

bool kernel_limit(cl_kernel kernel, unsigned long long *limit) {
    const char *list = setting("KERNEL_WORK_GROUP");
    char name[256] = "";
    return list != NULL && target->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL) == 0 &&
           number_for(list, name, limit);
}

static cl_int limit_group(cl_device_id device, cl_kernel kernel, cl_uint dimensions, const size_t *local) {
    unsigned long long limit = 0;
    size_t items = 1;
    for (cl_uint i = 0; i < dimensions; i++) {
        items *= local[i];
    }
    if (limit_of(device, "MAX_WORK_GROUP", &limit) && items > limit) {
        return CL_INVALID_WORK_GROUP_SIZE;
    }
    return device_is_changed(device) && kernel_limit(kernel, &limit) && items > limit ? CL_INVALID_WORK_GROUP_SIZE
                                                                                      : CL_SUCCESS;
}

static cl_int limit_items(cl_device_id device, cl_uint dimensions, const size_t *local) {
    const char *text = setting("MAX_WORK_ITEMS");
    if (text == NULL || !device_is_changed(device)) {
        return CL_SUCCESS;
    }
    for (cl_uint i = 0; i < dimensions; i++) {
        char *end = NULL;
        if (local[i] > strtoull(text, &end, 0)) {
            return CL_INVALID_WORK_ITEM_SIZE;
        }
        text = *end == ',' ? end + 1 : end;
    }
    return CL_SUCCESS;
}

static cl_int limit_local_memory(cl_device_id device, cl_kernel kernel) {
    unsigned long long limit = 0;
    cl_ulong used = 0;
    if (!limit_of(device, "LOCAL_MEMORY", &limit)) {
        return CL_SUCCESS;
    }
    target->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(used), &used, NULL);
    return used > limit ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

static bool is_uniform(cl_uint dimensions, const size_t *global, const size_t *local) {
    for (cl_uint i = 0; i < dimensions; i++) {
        if (local[i] == 0 || global[i] % local[i] != 0) {
            return false;
        }
    }
    return true;
}

cl_int limit_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *global,
                    const size_t *local) {
    const cl_device_id device = device_of_queue(queue);
    if (device == NULL || global == NULL) {
        return CL_SUCCESS;
    }
    cl_int code = limit_local_memory(device, kernel);
    if (code != CL_SUCCESS || local == NULL) {
        return code;
    }
    if (!is_uniform(dimensions, global, local)) {
        return CL_INVALID_WORK_GROUP_SIZE;
    }
    code = limit_items(device, dimensions, local);
    return code != CL_SUCCESS ? code : limit_group(device, kernel, dimensions, local);
}

/* ---- builds ----------------------------------------------------------------------------------------------------- */

/* "OpenCL C 1.2 ..." is 12; 0: not readable. */
static unsigned c_version(const char *text) {
    unsigned major = 0;
    unsigned minor = 0;
    return text != NULL && sscanf(text, "OpenCL C %u.%u", &major, &minor) == 2 ? 10 * major + minor : 0;
}

cl_int limit_build(cl_uint device_count, const cl_device_id *devices, const char *options) {
    const char *wanted = options != NULL ? strstr(options, "-cl-std=CL") : NULL;
    const unsigned played = c_version(setting("C_VERSION"));
    unsigned major = 0;
    unsigned minor = 0;
    if (played == 0 || wanted == NULL || device_count == 0 || devices == NULL || !device_is_changed(devices[0]) ||
        sscanf(wanted, "-cl-std=CL%u.%u", &major, &minor) != 2) {
        return CL_SUCCESS;
    }
    return 10 * major + minor > played ? CL_INVALID_BUILD_OPTIONS : CL_SUCCESS;
}
