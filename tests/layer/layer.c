/* The layer's two entry points and its settings. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

const cl_icd_dispatch *target;
static cl_icd_dispatch table;

EXPORTED cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param, size_t size, void *value, size_t *size_returned) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    switch (param) {
    case CL_LAYER_API_VERSION:
        return answer(size, value, size_returned, &version, sizeof(version));
    case CL_LAYER_NAME:
        return answer(size, value, size_returned, "oclattn test layer", sizeof("oclattn test layer"));
    default:
        return CL_INVALID_VALUE;
    }
}

/* A loader older than this header has a shorter table. */
static void copy_target(cl_uint entries) {
    const size_t bytes = entries * sizeof(void *);
    memcpy(&table, target, bytes < sizeof(table) ? bytes : sizeof(table));
}

EXPORTED cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target_dispatch,
                                        cl_uint *entries_returned, const cl_icd_dispatch **layer_dispatch) {
    if (target_dispatch == NULL || entries_returned == NULL || layer_dispatch == NULL) {
        return CL_INVALID_VALUE;
    }
    target = target_dispatch;
    copy_target(entries);
    install_objects(&table);
    install_programs(&table);
    install_enqueues(&table);
    install_images(&table);
    install_shared(&table);
    install_queries(&table);
    install_kernel_queries(&table);
    install_passed_on(&table);
    install_platforms(&table);
    report_at_exit();
    *entries_returned = (cl_uint)(sizeof(table) / sizeof(void *));
    *layer_dispatch = &table;
    return CL_SUCCESS;
}

const char *setting(const char *name) {
    char variable[64];
    snprintf(variable, sizeof(variable), "OCLATTN_LAYER_%s", name);
    return getenv(variable);
}

bool number_setting(const char *name, unsigned long long *value) {
    const char *text = setting(name);
    if (text == NULL || text[0] == '\0') {
        return false;
    }
    *value = strtoull(text, NULL, 0);
    return true;
}

cl_int answer(size_t size, void *value, size_t *size_returned, const void *data, size_t length) {
    if (value != NULL && size < length) {
        return CL_INVALID_VALUE;
    }
    if (value != NULL && length > 0) {
        memcpy(value, data, length);
    }
    if (size_returned != NULL) {
        *size_returned = length;
    }
    return CL_SUCCESS;
}

cl_int answer_text(size_t size, void *value, size_t *size_returned, const char *text) {
    const size_t final_zero = setting("UNTERMINATED") == NULL ? 1 : 0;
    return answer(size, value, size_returned, text, strlen(text) + final_zero);
}

bool platform_matches(cl_platform_id platform, const char *part) {
    char name[256] = "";
    if (target->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL) != CL_SUCCESS) {
        return false;
    }
    return strstr(name, part) != NULL;
}

bool platform_is_changed(cl_platform_id platform) {
    const char *on = setting("ON");
    return on == NULL || platform_matches(platform, on);
}

bool device_is_changed(cl_device_id device) {
    cl_platform_id platform = NULL;
    if (setting("ON") == NULL) {
        return true;
    }
    return target->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) == CL_SUCCESS &&
           platform_is_changed(platform);
}
