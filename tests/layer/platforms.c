/* Which platforms and devices there are. */
#include "parts.h"

#include <string.h>

#define PLATFORM_NOT_FOUND_KHR (-1001)

static cl_int list_twice(cl_uint capacity, cl_platform_id *platforms, cl_uint *count) {
    cl_uint real = 0;
    cl_int code = target->clGetPlatformIDs(0, NULL, &real);
    if (code == CL_SUCCESS && platforms != NULL) {
        code = target->clGetPlatformIDs(capacity < real ? capacity : real, platforms, NULL);
    }
    if (code == CL_SUCCESS && platforms != NULL && capacity > real) {
        const cl_uint rest = capacity - real < real ? capacity - real : real;
        memcpy(platforms + real, platforms, rest * sizeof(*platforms));
    }
    if (count != NULL) {
        *count = 2 * real;
    }
    return code;
}

static cl_int CL_API_CALL layer_clGetPlatformIDs(cl_uint capacity, cl_platform_id *platforms, cl_uint *count) {
    const cl_int code = fault(CALL_clGetPlatformIDs);
    if (code != CL_SUCCESS) {
        return code;
    }
    if (setting("NO_PLATFORMS") != NULL) {
        if (count != NULL) {
            *count = 0;
        }
        return PLATFORM_NOT_FOUND_KHR;
    }
    if (setting("TWICE") != NULL) {
        return list_twice(capacity, platforms, count);
    }
    return target->clGetPlatformIDs(capacity, platforms, count);
}

/* Asked for devices of one type, the driver would answer by the type that it knows. */
static cl_device_type played_type(cl_platform_id platform, cl_device_type type) {
    unsigned long long played = 0;
    if (!number_setting("DEVICE_TYPE", &played) || !platform_is_changed(platform)) {
        return type;
    }
    return (type & (played | CL_DEVICE_TYPE_DEFAULT)) != 0 ? CL_DEVICE_TYPE_ALL : CL_DEVICE_TYPE_CUSTOM;
}

static cl_int CL_API_CALL layer_clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint capacity,
                                               cl_device_id *devices, cl_uint *count) {
    const char *empty = setting("NO_DEVICES");
    const char *broken = setting("BROKEN");
    const cl_int code = fault(CALL_clGetDeviceIDs);
    if (code != CL_SUCCESS) {
        return code;
    }
    if (broken != NULL && platform_matches(platform, broken)) {
        return CL_OUT_OF_HOST_MEMORY;
    }
    if (empty != NULL && platform_matches(platform, empty)) {
        if (count != NULL) {
            *count = 0;
        }
        return CL_DEVICE_NOT_FOUND;
    }
    return target->clGetDeviceIDs(platform, played_type(platform, type), capacity, devices, count);
}

void install_platforms(cl_icd_dispatch *table) {
    REPLACE(clGetPlatformIDs);
    REPLACE(clGetDeviceIDs);
}
