/* An OpenCL driver for tests: it has devices to ask and none to run, and lies or breaks down on command.
 *
 *   What happens, and when
 *   FAKE_CONSTRUCTOR=WHAT  when it is loaded
 *   FAKE_LOAD=WHAT         when the loader asks for platforms
 *   FAKE_PLATFORM=WHAT     when a platform is asked for anything
 *   FAKE_DEVICES=WHAT      when a platform is asked for devices; also "none" and "error"
 *   FAKE_QUERY=WHAT        when a device is asked for its name
 *   FAKE_LATE=WHAT         when a device is asked for its extensions, after all else
 *       WHAT: "crash" (SIGABRT), "segv", "hang", "stop", "exit" (code 7), "exit0", "print" (on stdout, and goes on) or
 *       "flood" (prints for ever)
 *   FAKE_ONLY=TEXT         only in a library whose path holds it
 *
 *   What there is
 *   FAKE_PLATFORMS=N       platforms; 1 without it
 *   FAKE_COUNT=N           devices of each, all equal; 1 without it
 *   FAKE_TYPE=N            2: CPU, 4: GPU (without it), 8: accelerator
 *   FAKE_VERSION=TEXT      CL_DEVICE_VERSION, FAKE_EXTENSIONS=TEXT CL_DEVICE_EXTENSIONS
 *
 *   Lies, any number of them
 *   FAKE_LIES=A,B,...      zero_clock, huge_clock; texts: empty_texts, unterminated, not_utf8, controls, wide, long,
 *                          huge_text (1 MiB), blank, percent; numbers: zeros, huge_numbers, short_numbers; sizes:
 *                          claims_much (2^40 bytes), announces_more, announces_less, grows (from one call to the next);
 *                          fail_all (every query of a device but its name), old_device (OpenCL 1.2 under a platform of
 *                          3.0: newer queries fail), counts_more (2^32 - 1 devices, and hands out the real ones)
 *   FAKE_SEED=N            any of these lies, query by query, as the seed has it */
#include <stdlib.h>
#include <string.h>

#include <CL/cl_icd.h>

#include "fake_answers.h"

#define EXPORTED __attribute__((visibility("default")))

struct _cl_platform_id {
    const cl_icd_dispatch *dispatch;
};

struct _cl_device_id {
    const cl_icd_dispatch *dispatch;
};

enum { MOST_PLATFORMS = 20000, MOST_DEVICES = 300 };

static cl_icd_dispatch table;
static struct _cl_platform_id platforms[MOST_PLATFORMS];
static struct _cl_device_id devices[MOST_DEVICES];

static cl_uint number_of(const char *variable, cl_uint otherwise, cl_uint most) {
    const char *text = getenv(variable);
    const cl_uint number = text != NULL ? (cl_uint)strtoul(text, NULL, 10) : otherwise;
    return number < most ? number : most;
}

__attribute__((constructor)) static void when_loaded(void) {
    fake_breakdown("FAKE_CONSTRUCTOR");
}

/* ---- devices ---------------------------------------------------------------------------------------------------- */

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
    {CL_DEVICE_PROFILING_TIMER_RESOLUTION, 52, sizeof(size_t)},
    {CL_DEVICE_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 8},
};

static cl_int answer_listed_number(const fake_query *q) {
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i].param == q->param) {
            return fake_answer_number(q, numbers[i].value, numbers[i].width);
        }
    }
    return CL_INVALID_VALUE;
}

static cl_int answer_sizes(const fake_query *q) {
    size_t sizes[3] = {1024, 1024, 64};
    if (fake_lies("zeros") || fake_chance(q->param, 5, 8) == 1) {
        memset(sizes, 0, sizeof(sizes));
    }
    if (fake_lies("huge_numbers") || fake_chance(q->param, 5, 8) == 2) {
        memset(sizes, 0xFF, sizeof(sizes));
    }
    return fake_answer(q, sizes, fake_lies("short_numbers") ? sizeof(sizes) - 1 : sizeof(sizes));
}

static cl_int answer_extensions(const fake_query *q) {
    static const char *const lists[] = {"cl_khr_fp16 cl_khr_byte_addressable_store", "cl_khr_fp16  cl_khr_fp64   ",
                                        "cl_khr_fp16cl_khr_fp64cl_khr_subgroups", " cl_x_matrix", ""};
    const char *asked = getenv("FAKE_EXTENSIONS");
    fake_breakdown("FAKE_LATE");
    return fake_answer_text(q, asked != NULL ? asked : lists[fake_chance(q->param, 6, 5)]);
}

static const char *device_version(void) {
    static const char *const versions[] = {"OpenCL 3.0 fake", "OpenCL 1.1 fake", "OpenCL 99.7", "OpenCL", "",
                                           "OpenCL -1.x",     "OpenCL 1.2",      "3.0"};
    const char *asked = getenv("FAKE_VERSION");
    if (asked != NULL) {
        return asked;
    }
    return fake_lies("old_device") ? "OpenCL 1.2 fake" : versions[fake_chance(CL_DEVICE_VERSION, 7, 8)];
}

static cl_ulong played_type(void) {
    const char *type = getenv("FAKE_TYPE");
    return type != NULL ? strtoull(type, NULL, 0) : CL_DEVICE_TYPE_GPU;
}

static cl_int answer_device(const fake_query *q) {
    const cl_platform_id owner = &platforms[0];
    const cl_ulong type = played_type();
    const cl_bool yes = CL_TRUE;
    switch (q->param) {
    case CL_DEVICE_NAME:
        fake_breakdown("FAKE_QUERY");
        return fake_answer_text(q, "Fake GPU");
    case CL_DEVICE_VENDOR:
        return fake_answer_text(q, "Fake vendor");
    case CL_DRIVER_VERSION:
        return fake_answer_text(q, "1.0 fake");
    case CL_DEVICE_VERSION:
        return fake_answer_text(q, device_version());
    case CL_DEVICE_OPENCL_C_VERSION:
        return fake_answer_text(q, "OpenCL C 1.2 fake");
    case CL_DEVICE_PROFILE:
        return fake_answer_text(q, "FULL_PROFILE");
    case CL_DEVICE_EXTENSIONS:
        return answer_extensions(q);
    case CL_DEVICE_TYPE:
        return fake_answer(q, &type, sizeof(type));
    case CL_DEVICE_PLATFORM:
        return fake_answer(q, &owner, sizeof(owner));
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
        return fake_answer_number(q, fake_lies("zero_clock") ? 0 : fake_lies("huge_clock") ? 4000000000u : 1500, 4);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return answer_sizes(q);
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
        return fake_answer(q, &yes, sizeof(yes));
    default:
        return answer_listed_number(q);
    }
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param, size_t size, void *value,
                                          size_t *returned) {
    const fake_query q = {param, size, value, returned};
    if (device == NULL) {
        return CL_INVALID_DEVICE;
    }
    return fake_lies("fail_all") && param != CL_DEVICE_NAME ? CL_INVALID_VALUE : answer_device(&q);
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id asked, cl_device_type type, cl_uint capacity,
                                         cl_device_id *found, cl_uint *count) {
    const char *what = getenv("FAKE_DEVICES");
    const cl_uint number = number_of("FAKE_COUNT", 1, MOST_DEVICES);
    (void)asked;
    fake_breakdown("FAKE_DEVICES");
    if (what != NULL && strcmp(what, "error") == 0) {
        return CL_OUT_OF_HOST_MEMORY;
    }
    if ((what != NULL && strcmp(what, "none") == 0) || (type & (played_type() | CL_DEVICE_TYPE_DEFAULT)) == 0) {
        return CL_DEVICE_NOT_FOUND;
    }
    for (cl_uint i = 0; found != NULL && i < number && i < capacity; i++) {
        devices[i].dispatch = &table;
        found[i] = &devices[i];
    }
    if (count != NULL) {
        *count = fake_lies("counts_more") || fake_chance(0, 8, 16) == 1 ? ~(cl_uint)0 : number;
    }
    return CL_SUCCESS;
}

/* ---- platforms -------------------------------------------------------------------------------------------------- */

static cl_int CL_API_CALL get_platform_info(cl_platform_id asked, cl_platform_info param, size_t size, void *value,
                                            size_t *returned) {
    const fake_query q = {param, size, value, returned};
    (void)asked;
    fake_breakdown("FAKE_PLATFORM");
    switch (param) {
    case CL_PLATFORM_NAME:
        return fake_answer_text(&q, "Fake platform");
    case CL_PLATFORM_VENDOR:
        return fake_answer_text(&q, "Fake vendor");
    case CL_PLATFORM_VERSION:
        return fake_answer_text(&q, "OpenCL 3.0 fake");
    case CL_PLATFORM_PROFILE:
        return fake_answer_text(&q, "FULL_PROFILE");
    /* These two are the loader's, which goes without the platform if they are wrong. */
    case CL_PLATFORM_EXTENSIONS:
    case CL_PLATFORM_ICD_SUFFIX_KHR: {
        const char *text = param == CL_PLATFORM_EXTENSIONS ? "cl_khr_icd" : "FAKE";
        if (value != NULL && size > strlen(text)) {
            memcpy(value, text, strlen(text) + 1);
        }
        if (returned != NULL) {
            *returned = strlen(text) + 1;
        }
        return CL_SUCCESS;
    }
    default:
        return CL_INVALID_VALUE;
    }
}

EXPORTED cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id asked, cl_platform_info param, size_t size, void *value,
                                              size_t *returned) {
    return get_platform_info(asked, param, size, value, returned);
}

EXPORTED cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id *found, cl_uint *count) {
    const cl_uint number = number_of("FAKE_PLATFORMS", 1, MOST_PLATFORMS);
    fake_breakdown("FAKE_LOAD");
    table.clGetPlatformInfo = get_platform_info;
    table.clGetDeviceIDs = get_device_ids;
    table.clGetDeviceInfo = get_device_info;
    for (cl_uint i = 0; i < number; i++) {
        platforms[i].dispatch = &table;
        if (found != NULL && i < capacity) {
            found[i] = &platforms[i];
        }
    }
    if (count != NULL) {
        *count = number;
    }
    return CL_SUCCESS;
}

EXPORTED void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
    union {
        cl_int(CL_API_CALL *function)(cl_uint, cl_platform_id *, cl_uint *);
        void *address;
    } platform_ids = {clIcdGetPlatformIDsKHR};
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? platform_ids.address : NULL;
}
