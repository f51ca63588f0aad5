#include <stdlib.h>

#include "../program/context.h"
#include "../program/process.h"

void oclattn_context_options_init(oclattn_context_options *options) {
    if (options) {
        *options = (oclattn_context_options){.struct_size = sizeof *options};
    }
}

static oclattn_status check_options(const oclattn_context_options *options, oclattn_error *error) {
    if (options->struct_size == 0) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "options->struct_size is 0: initialise the struct with "
                         "oclattn_context_options_init");
    }
    if (options->struct_size > sizeof *options) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "options->struct_size is %zu and this library (%s) "
                         "knows %zu: the program was compiled with a newer header", options->struct_size,
                         oclattn_version(), sizeof *options);
    }
    if (options->struct_size < sizeof *options) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "options->struct_size is %zu, smaller than any release had: "
                         "initialise the struct with oclattn_context_options_init", options->struct_size);
    }
    const int level = (int)options->log_level;
    if (level < OCLATTN_LOG_NONE || level > OCLATTN_LOG_DEBUG) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "options->log_level %d is unknown: it is one of "
                         "OCLATTN_LOG_NONE, _WARNING, _INFO and _DEBUG", level);
    }
    return OCLATTN_OK;
}

/* Copies the caller's options, or the defaults, after checking them and the process; clears *context. */
static oclattn_status begin(const oclattn_context_options *given, oclattn_context **context,
                            oclattn_context_options *options, logger *log, oclattn_error *error) {
    if (!context) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "context is NULL: it receives the new context");
    }
    *context = NULL;
    oclattn_context_options_init(options);
    if (given) {
        RETURN_IF_ERROR(check_options(given, error));
        *options = *given;
    }
    RETURN_IF_ERROR(process_check(error));
    *log = (logger){.write = options->log, .user = options->log_user, .level = options->log_level};
    return OCLATTN_OK;
}

static oclattn_status create_on(const device_record *record, const logger *log, const char *cache_dir,
                                oclattn_context **context, oclattn_error *error) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)record->platform, 0};
    cl_int code;
    const cl_context cl = clCreateContext(properties, 1, &record->id, NULL, NULL, &code);
    if (!cl) {
        return error_from_cl(error, code, "clCreateContext");
    }
    const oclattn_status status = context_new(cl, record, log, cache_dir, context, error);
    clReleaseContext(cl);
    return status;
}

static oclattn_status choose_and_create(const oclattn_context_options *options, const device_list *list,
                                        const logger *log, oclattn_context **context, oclattn_error *error) {
    size_t index;
    RETURN_IF_ERROR(device_choose(list, options->device, log, &index, error));
    return create_on(&list->items[index], log, options->cache_dir, context, error);
}

oclattn_status oclattn_context_create(const oclattn_context_options *options, oclattn_context **context,
                                      oclattn_error *error) {
    oclattn_context_options copy = {0};
    logger log;
    RETURN_IF_ERROR(begin(options, context, &copy, &log, error));
    device_list list = {0};
    oclattn_status status = device_list_read(&list, &log, error);
    if (status == OCLATTN_OK) {
        status = choose_and_create(&copy, &list, &log, context, error);
    }
    device_list_clear(&list);
    return status;
}

/* CL_INVALID_DEVICE where the context does not list the device. */
static cl_int find_device(cl_context cl, cl_device_id device) {
    size_t bytes = 0;
    cl_int code = clGetContextInfo(cl, CL_CONTEXT_DEVICES, 0, NULL, &bytes);
    if (code != CL_SUCCESS) {
        return code;
    }
    cl_device_id *devices = calloc(1, bytes + sizeof *devices);
    if (!devices) {
        return CL_OUT_OF_HOST_MEMORY;
    }
    code = clGetContextInfo(cl, CL_CONTEXT_DEVICES, bytes, devices, NULL);
    bool found = false;
    for (size_t i = 0; code == CL_SUCCESS && i < bytes / sizeof *devices; i++) {
        found = found || devices[i] == device;
    }
    free(devices);
    return code != CL_SUCCESS || found ? code : CL_INVALID_DEVICE;
}

/* PoCL lists the whole device of a context that was made on a part of it: there the driver has the last word. */
static cl_int find_part_of_device(cl_context cl, cl_device_id part) {
    cl_device_id whole = NULL;
    if (clGetDeviceInfo(part, CL_DEVICE_PARENT_DEVICE, sizeof whole, &whole, NULL) != CL_SUCCESS || !whole) {
        return CL_INVALID_DEVICE;
    }
    cl_int code = find_device(cl, whole);
    if (code != CL_SUCCESS) {
        return code;
    }
    const cl_command_queue queue = clCreateCommandQueue(cl, part, 0, &code);
    if (queue) {
        clReleaseCommandQueue(queue);
    }
    return code;
}

static oclattn_status check_device(cl_context cl, cl_device_id device, oclattn_error *error) {
    if (!cl || !device) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "%s is NULL", cl ? "device" : "cl_ctx");
    }
    cl_int code = find_device(cl, device);
    if (code == CL_INVALID_DEVICE) {
        code = find_part_of_device(cl, device);
    }
    if (code == CL_INVALID_DEVICE) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "device is not one of the devices of cl_ctx");
    }
    return code == CL_SUCCESS ? OCLATTN_OK : error_from_cl(error, code, "clGetContextInfo of cl_ctx");
}

oclattn_status oclattn_context_create_from_cl(const oclattn_context_options *options, cl_context cl_ctx,
                                              cl_device_id device, oclattn_context **context, oclattn_error *error) {
    oclattn_context_options copy = {0};
    logger log;
    RETURN_IF_ERROR(begin(options, context, &copy, &log, error));
    RETURN_IF_ERROR(check_device(cl_ctx, device, error));
    device_record record = {.id = device, .platform_index = -1, .device_index = -1, .alias_of = -1};
    device_caps_read(&record.caps, device);
    RETURN_IF_ERROR(context_new(cl_ctx, &record, &log, copy.cache_dir, context, error));
    log_line(&log, OCLATTN_LOG_INFO, "device of the caller's context: %s (%s, driver %s)", record.caps.name,
             record.caps.platform_name, record.caps.driver_version);
    return OCLATTN_OK;
}

void oclattn_context_destroy(oclattn_context *context) {
    context_release(context);
}

cl_context oclattn_context_cl(const oclattn_context *context) {
    return context ? context->cl : NULL;
}

cl_device_id oclattn_context_device(const oclattn_context *context) {
    return context ? context->device : NULL;
}
