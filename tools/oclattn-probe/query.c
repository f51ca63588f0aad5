#include "query.h"

#include <stdlib.h>

#include "device/error.h"
#include "facts.h"

/* Of one platform; a driver that counts more is not believed. */
enum { MOST_DEVICES = 64 };

/* NULL: none; *code says why, CL_SUCCESS that there are none. */
static cl_platform_id *list_platforms(cl_uint *count, cl_int *code) {
    *count = 0;
    *code = clGetPlatformIDs(0, NULL, count);
    if (*code != CL_SUCCESS || *count == 0) {
        return NULL;
    }
    cl_platform_id *platforms = calloc(*count, sizeof *platforms);
    *code = platforms ? clGetPlatformIDs(*count, platforms, NULL) : CL_OUT_OF_HOST_MEMORY;
    if (*code != CL_SUCCESS) {
        free(platforms);
        return NULL;
    }
    return platforms;
}

/* As many as the driver does hand out. */
static cl_uint count_given(const cl_device_id *devices, cl_uint most) {
    cl_uint count = 0;
    while (count < most && devices[count]) {
        count++;
    }
    return count;
}

/* NULL: none; *code says why. `claimed` is what the driver counts. */
static cl_device_id *list_devices(cl_platform_id platform, cl_uint *count, cl_uint *claimed, cl_int *code) {
    *count = *claimed = 0;
    *code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, claimed);
    if (*code != CL_SUCCESS || *claimed == 0) {
        return NULL;
    }
    const cl_uint room = *claimed < MOST_DEVICES ? *claimed : MOST_DEVICES;
    cl_device_id *devices = calloc(room, sizeof *devices);
    *code = devices ? clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, room, devices, NULL) : CL_OUT_OF_HOST_MEMORY;
    if (*code != CL_SUCCESS) {
        free(devices);
        return NULL;
    }
    *count = count_given(devices, room);
    return devices;
}

static void print_json(json_t *value, FILE *to) {
    json_dumpf(value, to, JSON_COMPACT);
    fputc('\n', to);
    fflush(to);
    json_decref(value);
}

void query_count(FILE *to, void *unused) {
    cl_uint count = 0;
    cl_int code = CL_SUCCESS;
    (void)unused;
    free(list_platforms(&count, &code));
    print_json(
        json_pack("{s:I, s:i, s:s}", "platforms", (json_int_t)count, "code", (int)code, "name", cl_error_name(code)),
        to);
}

static json_t *device_problem(cl_int code, cl_uint count, cl_uint claimed) {
    if (code != CL_SUCCESS && code != CL_DEVICE_NOT_FOUND) {
        return json_sprintf("clGetDeviceIDs failed: %s (%d)", cl_error_name(code), (int)code);
    }
    if (count < claimed) {
        return json_sprintf("the driver counts %u devices, and %u of them are looked at here", claimed, count);
    }
    return json_null();
}

static json_t *read_devices(cl_platform_id platform) {
    cl_uint count = 0, claimed = 0;
    cl_int code = CL_SUCCESS;
    json_t *list = json_array();
    cl_device_id *devices = list_devices(platform, &count, &claimed, &code);
    for (cl_uint i = 0; i < count; i++) {
        json_array_append_new(
            list, facts_read((query_target){.device = devices[i]}, device_properties, device_property_count));
    }
    free(devices);
    return json_pack("{s:o, s:o}", "devices", list, "problem", device_problem(code, count, claimed));
}

static json_t *same_platform(const cl_platform_id *platforms, cl_uint index) {
    for (cl_uint i = 0; i < index; i++) {
        if (platforms[i] == platforms[index]) {
            return json_integer(i);
        }
    }
    return json_null();
}

void query_platform(FILE *to, void *data) {
    const cl_uint index = (cl_uint) * (const int *)data;
    cl_uint count = 0;
    cl_int code = CL_SUCCESS;
    cl_platform_id *platforms = list_platforms(&count, &code);
    if (platforms && index < count) {
        json_t *record =
            facts_read((query_target){.platform = platforms[index]}, platform_properties, platform_property_count);
        json_object_set_new(record, "same_as", same_platform(platforms, index));
        print_json(record, to);
        print_json(read_devices(platforms[index]), to);
    }
    free(platforms);
}

cl_device_id query_device(int platform_index, int device_index, cl_platform_id *platform, char *problem, size_t size) {
    cl_uint count = 0, claimed = 0;
    cl_int code = CL_SUCCESS;
    cl_device_id found = NULL;
    cl_platform_id *platforms = list_platforms(&count, &code);
    if (platforms && (cl_uint)platform_index < count) {
        *platform = platforms[platform_index];
        cl_device_id *devices = list_devices(*platform, &count, &claimed, &code);
        found = devices && (cl_uint)device_index < count ? devices[device_index] : NULL;
        free(devices);
    }
    free(platforms);
    if (!found) {
        snprintf(problem, size, "device %d:%d is gone: %s (%d)", platform_index, device_index, cl_error_name(code),
                 (int)code);
    }
    return found;
}
