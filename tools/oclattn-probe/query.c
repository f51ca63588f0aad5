#include "query.h"

#include <stdlib.h>
#include <string.h>

#include "device/error.h"
#include "device/text.h"

/* What a query says of its length is believed up to here. */
#define MAX_ANSWER_BYTES ((size_t)1 << 20)
#define REASON_SIZE 160

/* A platform or a device: exactly one of the two is set. */
typedef struct query_target {
    cl_platform_id platform;
    cl_device_id device;
} query_target;

typedef struct query_answer {
    char *bytes; /* followed by a 0 that drivers may have forgotten; free it */
    size_t length;
    char reason[REASON_SIZE]; /* where there is none */
} query_answer;

static cl_int query(query_target target, cl_uint param, size_t size, void *value, size_t *returned) {
    return target.platform ? clGetPlatformInfo(target.platform, param, size, value, returned)
                           : clGetDeviceInfo(target.device, param, size, value, returned);
}

static void refuse_code(query_answer *answer, cl_int code) {
    snprintf(answer->reason, sizeof answer->reason, "%s (%d)", cl_error_name(code), (int)code);
}

static query_answer ask(query_target target, cl_uint param) {
    query_answer answer = {0};
    size_t size = 0;
    cl_int code = query(target, param, 0, NULL, &size);
    if (code != CL_SUCCESS) {
        refuse_code(&answer, code);
        return answer;
    }
    if (size > MAX_ANSWER_BYTES) {
        snprintf(answer.reason, sizeof answer.reason, "the driver claims an answer of %zu bytes", size);
        return answer;
    }
    answer.bytes = calloc(size + 1, 1);
    code = answer.bytes && size > 0 ? query(target, param, size, answer.bytes, NULL) : CL_SUCCESS;
    if (!answer.bytes) {
        refuse_code(&answer, CL_OUT_OF_HOST_MEMORY);
    } else if (code != CL_SUCCESS) {
        free(answer.bytes);
        answer.bytes = NULL;
        refuse_code(&answer, code);
    }
    answer.length = size;
    return answer;
}

static json_t *refused(query_answer *answer, const char *sentence) {
    snprintf(answer->reason, sizeof answer->reason, "%s", sentence);
    return json_null();
}

static json_t *wrong_length(query_answer *answer, size_t expected) {
    snprintf(answer->reason, sizeof answer->reason, "the driver answers with %zu bytes instead of %zu",
             answer->length, expected);
    return json_null();
}

static json_t *text_value(const property *p, query_answer *answer) {
    char *clean = malloc(answer->length + 1);
    if (!clean) {
        return refused(answer, "out of memory");
    }
    text_clean(clean, answer->length + 1, answer->bytes, answer->length);
    json_t *value = clean[0] == '\0' && !p->may_be_empty ? refused(answer, "the driver answers with nothing")
                                                         : json_string(clean);
    free(clean);
    return value ? value : refused(answer, "the driver's text cannot be written");
}

static unsigned long long unsigned_value(const query_answer *answer) {
    cl_uint narrow = 0;
    cl_ulong wide = 0;
    if (answer->length == sizeof narrow) {
        memcpy(&narrow, answer->bytes, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, answer->bytes, sizeof wide);
    return wide;
}

static json_t *number_value(const property *p, query_answer *answer) {
    const unsigned long long value = unsigned_value(answer);
    const bool believed = value >= p->least && (p->most == 0 || value <= p->most);
    if (!believed) {
        char sentence[REASON_SIZE];
        snprintf(sentence, sizeof sentence, "the driver says %llu, which cannot be", value);
        return refused(answer, sentence);
    }
    return json_integer((json_int_t)value);
}

static json_t *numbers_value(query_answer *answer) {
    json_t *list = json_array();
    if (answer->length == 0 || answer->length % sizeof(size_t) != 0) {
        json_decref(list);
        return wrong_length(answer, 3 * sizeof(size_t));
    }
    for (size_t at = 0; at < answer->length; at += sizeof(size_t)) {
        size_t value = 0;
        memcpy(&value, answer->bytes + at, sizeof value);
        json_array_append_new(list, json_integer((json_int_t)(value & INT64_MAX)));
    }
    return list;
}

static json_t *type_value(query_answer *answer) {
    static const struct {
        cl_device_type bit;
        const char *word;
    } types[] = {{CL_DEVICE_TYPE_GPU, "gpu"},
                 {CL_DEVICE_TYPE_CPU, "cpu"},
                 {CL_DEVICE_TYPE_ACCELERATOR, "accelerator"},
                 {CL_DEVICE_TYPE_CUSTOM, "custom"}};
    const unsigned long long value = unsigned_value(answer);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (value & types[i].bit) {
            return json_string(types[i].word);
        }
    }
    return refused(answer, "the driver names no type");
}

static json_t *bits_value(const property *p, const query_answer *answer) {
    const unsigned long long value = unsigned_value(answer);
    json_t *list = json_array();
    for (size_t i = 0; p->words[i]; i++) {
        if (value >> i & 1) {
            json_array_append_new(list, json_string(p->words[i]));
        }
    }
    return list;
}

static json_t *value_of(const property *p, query_answer *answer) {
    if (!answer->bytes) {
        return json_null();
    }
    if (p->bytes > 0 && answer->length != p->bytes) {
        return wrong_length(answer, p->bytes);
    }
    switch (p->kind) {
    case PROPERTY_TEXT:
        return text_value(p, answer);
    case PROPERTY_NUMBER:
        return number_value(p, answer);
    case PROPERTY_FLAG:
        return json_boolean(unsigned_value(answer) != 0);
    case PROPERTY_IS_ONE:
        return json_boolean(unsigned_value(answer) == 1);
    case PROPERTY_NUMBERS:
        return numbers_value(answer);
    case PROPERTY_TYPE:
        return type_value(answer);
    case PROPERTY_BITS:
        return bits_value(p, answer);
    default:
        return json_null();
    }
}

static bool is_derived(const property *p) {
    return p->kind == PROPERTY_WORD || p->kind == PROPERTY_MATRIX || p->kind == PROPERTY_SUBGROUPS;
}

static void set_fact(json_t *record, const char *key, json_t *value, const char *reason) {
    json_object_set_new(json_object_get(record, "facts"), key, value);
    if (json_is_null(value)) {
        json_object_set_new(json_object_get(record, "unknown"), key, json_string(reason));
    }
}

static json_t *matrix_words(const char *extensions) {
    json_t *list = json_array();
    while (*extensions) {
        const size_t length = strcspn(extensions, " ");
        char word[128];
        snprintf(word, sizeof word, "%.*s", (int)length, extensions);
        if (strstr(word, "matrix") || strstr(word, "cl_qcom_ml_ops")) {
            json_array_append_new(list, json_string(word));
        }
        extensions += length;
        extensions += strspn(extensions, " ");
    }
    return list;
}

/* The rule of the library: an extension, or sub-groups of the core, which came with OpenCL 2.1. */
static bool has_subgroups(const json_t *facts, const char *extensions) {
    unsigned major = 0, minor = 0;
    const char *version = json_string_value(json_object_get(facts, "device_version"));
    if (text_has_word(extensions, "cl_khr_subgroups") || text_has_word(extensions, "cl_intel_subgroups")) {
        return true;
    }
    return version && sscanf(version, "OpenCL %3u.%3u", &major, &minor) == 2 &&
           (major > 2 || (major == 2 && minor >= 1)) &&
           json_integer_value(json_object_get(facts, "max_sub_groups")) > 0;
}

static json_t *derived_value(const property *p, const json_t *facts, const char *extensions) {
    switch (p->kind) {
    case PROPERTY_WORD:
        return json_boolean(text_has_word(extensions, p->words[0]));
    case PROPERTY_MATRIX:
        return matrix_words(extensions);
    default:
        return json_boolean(has_subgroups(facts, extensions));
    }
}

static json_t *read_facts(query_target target, const property *properties, size_t count) {
    json_t *record = json_pack("{s:{}, s:{}}", "facts", "unknown");
    const json_t *facts = json_object_get(record, "facts");
    for (size_t i = 0; i < count; i++) {
        if (is_derived(&properties[i])) {
            continue;
        }
        query_answer answer = ask(target, properties[i].param);
        json_t *value = value_of(&properties[i], &answer);
        set_fact(record, properties[i].key, value, answer.reason);
        free(answer.bytes);
    }
    const char *extensions = json_string_value(json_object_get(facts, "extensions"));
    for (size_t i = 0; i < count; i++) {
        if (is_derived(&properties[i])) {
            set_fact(record, properties[i].key,
                     extensions ? derived_value(&properties[i], facts, extensions) : json_null(),
                     "the extensions are not known");
        }
    }
    return record;
}

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

static cl_device_id *list_devices(cl_platform_id platform, cl_uint *count, cl_int *code) {
    *count = 0;
    *code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, count);
    if (*code != CL_SUCCESS || *count == 0) {
        return NULL;
    }
    cl_device_id *devices = calloc(*count, sizeof *devices);
    *code = devices ? clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, *count, devices, NULL) : CL_OUT_OF_HOST_MEMORY;
    if (*code != CL_SUCCESS) {
        free(devices);
        return NULL;
    }
    return devices;
}

static void print_json(json_t *value, FILE *to) {
    json_dumpf(value, to, JSON_COMPACT);
    fputc('\n', to);
    json_decref(value);
}

void query_count(FILE *to, void *unused) {
    cl_uint count = 0;
    cl_int code = CL_SUCCESS;
    (void)unused;
    free(list_platforms(&count, &code));
    print_json(json_pack("{s:i, s:i, s:s}", "platforms", (int)count, "code", (int)code, "name", cl_error_name(code)),
               to);
}

static void add_devices(json_t *record, cl_platform_id platform) {
    cl_uint count = 0;
    cl_int code = CL_SUCCESS;
    json_t *list = json_array();
    cl_device_id *devices = list_devices(platform, &count, &code);
    for (cl_uint i = 0; devices && i < count; i++) {
        json_array_append_new(
            list, read_facts((query_target){.device = devices[i]}, device_properties, device_property_count));
    }
    free(devices);
    json_object_set_new(record, "devices", list);
    json_object_set_new(record, "problem", json_null());
    if (code != CL_SUCCESS && code != CL_DEVICE_NOT_FOUND) {
        json_object_set_new(record, "problem",
                            json_sprintf("clGetDeviceIDs failed: %s (%d)", cl_error_name(code), (int)code));
    }
}

void query_platform(FILE *to, void *data) {
    const cl_uint index = (cl_uint) * (const int *)data;
    cl_uint count = 0;
    cl_int code = CL_SUCCESS;
    cl_platform_id *platforms = list_platforms(&count, &code);
    if (!platforms || index >= count) {
        free(platforms);
        return;
    }
    json_t *record =
        read_facts((query_target){.platform = platforms[index]}, platform_properties, platform_property_count);
    json_object_set_new(record, "same_as", json_null());
    for (cl_uint i = 0; i < index; i++) {
        if (platforms[i] == platforms[index]) {
            json_object_set_new(record, "same_as", json_integer(i));
            break;
        }
    }
    add_devices(record, platforms[index]);
    free(platforms);
    print_json(record, to);
}

cl_device_id query_device(int platform_index, int device_index, cl_platform_id *platform, char *problem, size_t size) {
    cl_uint count = 0;
    cl_int code = CL_SUCCESS;
    cl_device_id found = NULL;
    cl_platform_id *platforms = list_platforms(&count, &code);
    if (platforms && (cl_uint)platform_index < count) {
        *platform = platforms[platform_index];
        cl_device_id *devices = list_devices(*platform, &count, &code);
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
