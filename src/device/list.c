#include "list.h"

#include <stdlib.h>
#include <string.h>

/* What the ICD loader answers where no driver is installed (cl_khr_icd). */
#define PLATFORM_NOT_FOUND_KHR (-1001)

/* Of one platform; a driver that counts more is not believed. */
enum { MOST_DEVICES = 1024 };

static void log_skipped(const logger *log, cl_platform_id platform, int platform_index, cl_int code) {
    char name[128];
    platform_text_read(platform, CL_PLATFORM_NAME, name, sizeof(name));
    if (code == CL_SUCCESS || code == CL_DEVICE_NOT_FOUND) {
        log_line(log, OCLATTN_LOG_INFO, "platform %d (%s) is skipped: it has no devices", platform_index, name);
    } else {
        log_line(log, OCLATTN_LOG_WARNING, "platform %d (%s) is skipped: clGetDeviceIDs failed: %s (%d)",
                 platform_index, name, cl_error_name(code), (int)code);
    }
}

static oclattn_status append_devices(device_list *list, cl_platform_id platform, int platform_index,
                                     const cl_device_id *ids, cl_uint count, oclattn_error *error) {
    device_record *items = realloc(list->items, (list->count + count) * sizeof(*items));
    if (items == NULL) {
        return error_no_memory(error);
    }
    list->items = items;
    for (cl_uint i = 0; i < count && ids[i] != NULL; i++) {
        device_record *record = &items[list->count++];
        *record = (device_record){.platform = platform,
                                  .id = ids[i],
                                  .platform_index = platform_index,
                                  .device_index = (int)i,
                                  .alias_of = -1};
        device_caps_read(&record->caps, ids[i]);
    }
    return OCLATTN_OK;
}

static oclattn_status read_devices(device_list *list, cl_platform_id platform, int platform_index, const logger *log,
                                   oclattn_error *error) {
    cl_uint count = 0;
    cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    if (code != CL_SUCCESS || count == 0) {
        log_skipped(log, platform, platform_index, code);
        return OCLATTN_OK;
    }
    count = count < MOST_DEVICES ? count : MOST_DEVICES;
    cl_device_id *ids = calloc(count, sizeof(*ids));
    if (ids == NULL) {
        return error_no_memory(error);
    }
    oclattn_status status = OCLATTN_OK;
    code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, NULL);
    if (code == CL_SUCCESS) {
        status = append_devices(list, platform, platform_index, ids, count, error);
    } else {
        log_skipped(log, platform, platform_index, code);
    }
    free(ids);
    return status;
}

static void log_aliases(const device_list *list, const logger *log) {
    for (size_t i = 0; i < list->count; i++) {
        const device_record *record = &list->items[i];
        if (record->alias_of >= 0) {
            const device_record *first = &list->items[record->alias_of];
            log_line(log, OCLATTN_LOG_INFO, "device %d:%d is %d:%d again (%s), its driver is registered twice: skipped",
                     record->platform_index, record->device_index, first->platform_index, first->device_index,
                     record->caps.name);
        }
    }
}

static oclattn_status read_platforms(device_list *list, const cl_platform_id *platforms, const logger *log,
                                     oclattn_error *error) {
    for (size_t i = 0; i < list->platform_count; i++) {
        RETURN_IF_ERROR(read_devices(list, platforms[i], (int)i, log, error));
    }
    device_list_mark_aliases(list);
    log_aliases(list, log);
    return OCLATTN_OK;
}

oclattn_status device_list_read(device_list *list, const logger *log, oclattn_error *error) {
    memset(list, 0, sizeof(*list));
    cl_uint count = 0;
    cl_int code = clGetPlatformIDs(0, NULL, &count);
    if (code == PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && count == 0)) {
        log_line(log, OCLATTN_LOG_INFO, "the OpenCL loader finds no platform");
        return OCLATTN_OK;
    }
    if (code != CL_SUCCESS) {
        return error_from_cl(error, code, "clGetPlatformIDs");
    }
    cl_platform_id *platforms = calloc(count, sizeof(*platforms));
    if (platforms == NULL) {
        return error_no_memory(error);
    }
    oclattn_status status = OCLATTN_OK;
    code = clGetPlatformIDs(count, platforms, NULL);
    if (code == CL_SUCCESS) {
        list->platform_count = count;
        status = read_platforms(list, platforms, log, error);
    } else {
        status = error_from_cl(error, code, "clGetPlatformIDs");
    }
    free(platforms);
    return status;
}

void device_list_clear(device_list *list) {
    free(list->items);
    memset(list, 0, sizeof(*list));
}
