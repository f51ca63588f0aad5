/* An OpenCL driver for tests: it has devices to ask and none to run, and lies or breaks down on command.
 *
 *   FAKE_LOAD=WHAT     what happens when the loader asks for platforms
 *   FAKE_DEVICES=WHAT  what happens when the platform is asked for devices; also "none" and "error"
 *   FAKE_QUERY=WHAT    what happens when a device is asked for its name
 *       WHAT: "crash", "hang", "exit" or "print" (on stdout, and goes on)
 *   FAKE_COUNT=N       devices, all equal; 1 without it, at most 4
 *   FAKE_TYPE=N        2: CPU, 4: GPU (without it), 8: accelerator
 *   FAKE_LIES=A,B,...  zero_clock, huge_clock, empty_texts, unterminated, not_utf8, zeros (numbers), huge_numbers,
 *                      short_numbers, fail_all (every query of a device but its name), old_device (OpenCL 1.2 under a
 *                      platform of 3.0: newer queries fail), claims_much (an answer of 2^40 bytes) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <CL/cl_icd.h>

#define EXPORTED __attribute__((visibility("default")))

struct _cl_platform_id {
    const cl_icd_dispatch *dispatch;
};

struct _cl_device_id {
    const cl_icd_dispatch *dispatch;
};

enum { MOST_DEVICES = 4 };

static cl_icd_dispatch table;
static struct _cl_platform_id platform = {&table};
static struct _cl_device_id devices[MOST_DEVICES];

static void misbehave(const char *variable) {
    const char *what = getenv(variable);
    if (what == NULL) {
        return;
    }
    if (strcmp(what, "crash") == 0) {
        abort();
    }
    if (strcmp(what, "exit") == 0) {
        exit(7);
    }
    if (strcmp(what, "print") == 0) {
        printf("{\"a driver\": \"prints\"}\n");
        fflush(stdout);
    }
    while (strcmp(what, "hang") == 0) {
        pause();
    }
}

static int lies(const char *about) {
    const char *list = getenv("FAKE_LIES");
    const size_t length = strlen(about);
    while (list != NULL && *list != '\0') {
        const size_t span = strcspn(list, ",");
        if (span == length && strncmp(list, about, length) == 0) {
            return 1;
        }
        list += span + (list[span] == ',');
    }
    return 0;
}

static cl_int answer(size_t size, void *value, size_t *returned, const void *data, size_t length) {
    if (value != NULL && size < length) {
        return CL_INVALID_VALUE;
    }
    if (value != NULL && length > 0) {
        memcpy(value, data, length);
    }
    if (returned != NULL) {
        *returned = length;
    }
    return CL_SUCCESS;
}

static cl_int answer_text(size_t size, void *value, size_t *returned, const char *text) {
    if (lies("claims_much") && returned != NULL) {
        *returned = (size_t)1 << 40;
        return CL_SUCCESS;
    }
    if (lies("empty_texts")) {
        return answer(size, value, returned, "", 0);
    }
    if (lies("not_utf8")) {
        text = "F\xFF\xFE\x01\xC3 GPU\xED\xA0\x80";
    }
    return answer(size, value, returned, text, strlen(text) + (lies("unterminated") ? 0 : 1));
}

static cl_int answer_number(size_t size, void *value, size_t *returned, cl_ulong number, size_t width) {
    const cl_ulong wide = lies("zeros") ? 0 : lies("huge_numbers") ? ~(cl_ulong)0 : number;
    const cl_uint narrow = (cl_uint)wide;
    if (lies("short_numbers")) {
        return answer(size, value, returned, &wide, 1);
    }
    return width == sizeof(narrow) ? answer(size, value, returned, &narrow, width)
                                   : answer(size, value, returned, &wide, width);
}

typedef struct number_answer {
    cl_device_info param;
    cl_ulong value;
    size_t width;
} number_answer;

static const number_answer numbers[] = {
    {CL_DEVICE_VENDOR_ID, 0xFA4E, 4},
    {CL_DEVICE_MAX_COMPUTE_UNITS, 4, 4},
    {CL_DEVICE_ADDRESS_BITS, 64, 4},
    {CL_DEVICE_GLOBAL_MEM_SIZE, (cl_ulong)1 << 33, 8},
    {CL_DEVICE_MAX_MEM_ALLOC_SIZE, (cl_ulong)1 << 31, 8},
    {CL_DEVICE_LOCAL_MEM_SIZE, 32768, 8},
    {CL_DEVICE_LOCAL_MEM_TYPE, CL_LOCAL, 4},
    {CL_DEVICE_MAX_WORK_GROUP_SIZE, 1024, sizeof(size_t)},
    {CL_DEVICE_MAX_PARAMETER_SIZE, 1024, sizeof(size_t)},
    {CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024, 4},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 1, 4},
    {CL_DEVICE_HOST_UNIFIED_MEMORY, 0, 4},
    {CL_DEVICE_ENDIAN_LITTLE, 1, 4},
};

static cl_int answer_listed_number(cl_device_info param, size_t size, void *value, size_t *returned) {
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i].param == param) {
            return answer_number(size, value, returned, numbers[i].value, numbers[i].width);
        }
    }
    return CL_INVALID_VALUE;
}

static cl_ulong played_type(void) {
    const char *type = getenv("FAKE_TYPE");
    return type != NULL ? strtoull(type, NULL, 0) : CL_DEVICE_TYPE_GPU;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param, size_t size, void *value,
                                          size_t *returned) {
    const cl_bool yes = CL_TRUE;
    const cl_platform_id owner = &platform;
    const size_t sizes[3] = {1024, 1024, 64};
    const cl_ulong type = played_type();
    const cl_uint clock = lies("zero_clock") ? 0 : lies("huge_clock") ? 4000000000u : 1500;
    (void)device;
    if (lies("fail_all") && param != CL_DEVICE_NAME) {
        return CL_INVALID_VALUE;
    }
    switch (param) {
    case CL_DEVICE_NAME:
        misbehave("FAKE_QUERY");
        return answer_text(size, value, returned, "Fake GPU");
    case CL_DEVICE_VENDOR:
        return answer_text(size, value, returned, "Fake vendor");
    case CL_DRIVER_VERSION:
        return answer_text(size, value, returned, "1.0 fake");
    case CL_DEVICE_VERSION:
        return answer_text(size, value, returned, lies("old_device") ? "OpenCL 1.2 fake" : "OpenCL 3.0 fake");
    case CL_DEVICE_OPENCL_C_VERSION:
        return answer_text(size, value, returned, "OpenCL C 1.2 fake");
    case CL_DEVICE_PROFILE:
        return answer_text(size, value, returned, "FULL_PROFILE");
    case CL_DEVICE_EXTENSIONS:
        return answer_text(size, value, returned, "cl_khr_fp16 cl_khr_byte_addressable_store");
    case CL_DEVICE_TYPE:
        return answer(size, value, returned, &type, sizeof(type));
    case CL_DEVICE_PLATFORM:
        return answer(size, value, returned, &owner, sizeof(owner));
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
        return answer(size, value, returned, &clock, sizeof(clock));
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return answer(size, value, returned, sizes, sizeof(sizes));
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
        return answer(size, value, returned, &yes, sizeof(yes));
    default:
        return answer_listed_number(param, size, value, returned);
    }
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id asked, cl_device_type type, cl_uint capacity,
                                         cl_device_id *found, cl_uint *count) {
    const char *wanted = getenv("FAKE_COUNT");
    const char *what = getenv("FAKE_DEVICES");
    cl_uint number = wanted != NULL ? (cl_uint)strtoul(wanted, NULL, 10) : 1;
    (void)asked;
    misbehave("FAKE_DEVICES");
    if (what != NULL && strcmp(what, "error") == 0) {
        return CL_OUT_OF_HOST_MEMORY;
    }
    if ((what != NULL && strcmp(what, "none") == 0) || (type & (played_type() | CL_DEVICE_TYPE_DEFAULT)) == 0) {
        return CL_DEVICE_NOT_FOUND;
    }
    number = number > MOST_DEVICES ? MOST_DEVICES : number;
    for (cl_uint i = 0; found != NULL && i < number && i < capacity; i++) {
        devices[i].dispatch = &table;
        found[i] = &devices[i];
    }
    if (count != NULL) {
        *count = number;
    }
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id asked, cl_platform_info param, size_t size, void *value,
                                            size_t *returned) {
    (void)asked;
    switch (param) {
    case CL_PLATFORM_NAME:
        return answer(size, value, returned, "Fake platform", sizeof("Fake platform"));
    case CL_PLATFORM_VENDOR:
        return answer(size, value, returned, "Fake vendor", sizeof("Fake vendor"));
    case CL_PLATFORM_VERSION:
        return answer(size, value, returned, "OpenCL 3.0 fake", sizeof("OpenCL 3.0 fake"));
    case CL_PLATFORM_PROFILE:
        return answer(size, value, returned, "FULL_PROFILE", sizeof("FULL_PROFILE"));
    case CL_PLATFORM_EXTENSIONS:
        return answer(size, value, returned, "cl_khr_icd", sizeof("cl_khr_icd"));
    case CL_PLATFORM_ICD_SUFFIX_KHR:
        return answer(size, value, returned, "FAKE", sizeof("FAKE"));
    default:
        return CL_INVALID_VALUE;
    }
}

EXPORTED cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id asked, cl_platform_info param, size_t size, void *value,
                                              size_t *returned) {
    return get_platform_info(asked, param, size, value, returned);
}

EXPORTED cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id *found, cl_uint *count) {
    misbehave("FAKE_LOAD");
    table.clGetPlatformInfo = get_platform_info;
    table.clGetDeviceIDs = get_device_ids;
    table.clGetDeviceInfo = get_device_info;
    if (found != NULL && capacity > 0) {
        found[0] = &platform;
    }
    if (count != NULL) {
        *count = 1;
    }
    return CL_SUCCESS;
}

EXPORTED void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
    union {
        cl_int(CL_API_CALL *function)(cl_uint, cl_platform_id *, cl_uint *);
        void *address;
    } platforms = {clIcdGetPlatformIDsKHR};
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? platforms.address : NULL;
}
