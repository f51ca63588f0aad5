#include <stdio.h>
#include <string.h>

#include "../device/device.h"
#include "../program/context.h"
#include "../program/process.h"

void oclattn_device_info_init(oclattn_device_info *info) {
    if (info == NULL) {
        return;
    }
    memset(info, 0, sizeof(*info));
    info->struct_size = sizeof(*info);
    info->platform_index = -1;
    info->device_index = -1;
    info->alias_of = -1;
}

static oclattn_status check_initialised(const oclattn_device_info *info, oclattn_error *error) {
    if (info->struct_size == sizeof(*info)) {
        return OCLATTN_OK;
    }
    return error_set(error, OCLATTN_INVALID_ARGUMENT,
                     "oclattn_device_info.struct_size is %zu and must be %zu: call oclattn_device_info_init first, "
                     "with the header of the library that is loaded (%s)",
                     info->struct_size, sizeof(*info), oclattn_version());
}

static void fill_info(oclattn_device_info *info, const device_caps *caps) {
    snprintf(info->name, sizeof(info->name), "%s", caps->name);
    snprintf(info->vendor, sizeof(info->vendor), "%s", caps->vendor);
    snprintf(info->platform, sizeof(info->platform), "%s", caps->platform_name);
    snprintf(info->driver, sizeof(info->driver), "%s", caps->driver_version);
    info->type = caps->type;
    info->compute_units = caps->compute_units;
    info->global_memory_bytes = caps->global_memory_bytes;
    info->max_allocation_bytes = caps->max_allocation_bytes;
    info->local_memory_bytes = caps->local_memory_bytes;
    info->max_work_group_size = caps->max_work_group_size;
    info->host_unified_memory = caps->host_unified_memory;
    info->has_fp16 = caps->has_fp16;
    info->has_fp64 = caps->has_fp64;
    info->has_subgroups = caps->has_subgroups;
}

oclattn_status oclattn_context_device_info(const oclattn_context *context, oclattn_device_info *info,
                                           oclattn_error *error) {
    if (context == NULL || info == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "oclattn_context_device_info: %s is NULL",
                         context == NULL ? "context" : "info");
    }
    RETURN_IF_ERROR(check_initialised(info, error));
    fill_info(info, &context->caps);
    info->platform_index = context->platform_index;
    info->device_index = context->device_index;
    info->alias_of = -1;
    return OCLATTN_OK;
}

static void fill_infos(oclattn_device_info *infos, size_t capacity, const device_list *list) {
    for (size_t i = 0; i < capacity && i < list->count; i++) {
        const device_record *record = &list->items[i];
        fill_info(&infos[i], &record->caps);
        infos[i].platform_index = record->platform_index;
        infos[i].device_index = record->device_index;
        infos[i].alias_of = record->alias_of;
    }
}

static oclattn_status check_list_arguments(const oclattn_device_info *infos, size_t capacity, const size_t *count,
                                           oclattn_error *error) {
    if (count == NULL) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "oclattn_devices_list: count is NULL");
    }
    if (infos == NULL && capacity > 0) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "oclattn_devices_list: infos is NULL and capacity is %zu",
                         capacity);
    }
    for (size_t i = 0; i < capacity; i++) {
        RETURN_IF_ERROR(check_initialised(&infos[i], error));
    }
    return OCLATTN_OK;
}

oclattn_status oclattn_devices_list(oclattn_device_info *infos, size_t capacity, size_t *count,
                                    oclattn_error *error) {
    RETURN_IF_ERROR(check_list_arguments(infos, capacity, count, error));
    *count = 0;
    RETURN_IF_ERROR(process_check(error));
    device_list list;
    const oclattn_status status = device_list_read(&list, NULL, error);
    if (status == OCLATTN_OK) {
        fill_infos(infos, capacity, &list);
        *count = list.count;
    }
    device_list_clear(&list);
    return status;
}
