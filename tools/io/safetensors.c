#include "safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "input_file.h"

/* The limit of the format's own reader. */
#define MOST_HEADER_BYTES 100000000u

struct safetensors {
    input_file in;
    json_t *header;
    uint64_t data_start, data_bytes;
};

typedef struct tensor_entry {
    const char *dtype;
    int rank;
    int64_t shape[ARRAY_MAX_RANK];
    uint64_t begin, end; /* bytes, counted from data_start */
} tensor_entry;

/* Bytes of one element; 0 for a type that this reader has not heard of. */
static size_t dtype_bytes(const char *dtype) {
    static const struct {
        const char *name;
        size_t bytes;
    } known[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"U64", 8}, {"I32", 4},
                 {"U32", 4}, {"I16", 2}, {"U16", 2}, {"I8", 1},   {"U8", 1},  {"BOOL", 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(dtype, known[i].name) == 0) {
            return known[i].bytes;
        }
    }
    return 0;
}

static bool read_sizes(const json_t *list, int64_t *sizes, size_t most, size_t *count) {
    *count = json_array_size(list);
    if (!json_is_array(list) || *count > most) {
        return false;
    }
    for (size_t i = 0; i < *count; i++) {
        const json_t *size = json_array_get(list, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0) {
            return false;
        }
        sizes[i] = (int64_t)json_integer_value(size);
    }
    return true;
}

static bool parse_entry(const safetensors *file, const char *name, const json_t *json, tensor_entry *entry,
                        failure *f) {
    int64_t offsets[2];
    size_t rank = 0, offset_count = 0;
    const json_t *dtype = json_object_get(json, "dtype");
    if (!json_is_string(dtype) || !read_sizes(json_object_get(json, "shape"), entry->shape, ARRAY_MAX_RANK, &rank) ||
        !read_sizes(json_object_get(json, "data_offsets"), offsets, 2, &offset_count) || offset_count != 2) {
        return input_fail(&file->in, f, "tensor %.60s needs a dtype, a shape of at most 8 sizes and two data_offsets",
                          name);
    }
    entry->dtype = json_string_value(dtype);
    entry->rank = (int)rank;
    entry->begin = (uint64_t)offsets[0];
    entry->end = (uint64_t)offsets[1];
    return true;
}

static bool check_entry(const safetensors *file, const char *name, const tensor_entry *entry, failure *f) {
    char shape[SHAPE_TEXT_SIZE];
    size_t count = 0;
    const size_t element = dtype_bytes(entry->dtype);
    if (entry->begin > entry->end) {
        return input_fail(&file->in, f, "tensor %.60s ends before it begins", name);
    }
    if (entry->end > file->data_bytes) {
        return input_fail(&file->in, f, "it is truncated: tensor %.60s ends at byte %llu of %llu", name,
                          (unsigned long long)entry->end, (unsigned long long)file->data_bytes);
    }
    if (!shape_count(entry->shape, entry->rank, element ? element : 1, &count)) {
        return input_fail(&file->in, f, "the sizes of tensor %.60s, %s, overflow", name,
                          shape_text(entry->shape, entry->rank, shape));
    }
    if (element && (uint64_t)count * element != entry->end - entry->begin) {
        return input_fail(&file->in, f, "tensor %.60s, %s of %.8s, needs %llu bytes, not %llu", name,
                          shape_text(entry->shape, entry->rank, shape), entry->dtype,
                          (unsigned long long)count * element, (unsigned long long)(entry->end - entry->begin));
    }
    return true;
}

static bool check_entries(safetensors *file, failure *f) {
    uint64_t most = 0;
    const char *name;
    json_t *json;
    json_object_foreach(file->header, name, json) {
        tensor_entry entry = {0};
        if (strcmp(name, "__metadata__") == 0) {
            continue;
        }
        if (!parse_entry(file, name, json, &entry, f) || !check_entry(file, name, &entry, f)) {
            return false;
        }
        most = entry.end > most ? entry.end : most;
    }
    if (most != file->data_bytes) {
        return input_fail(&file->in, f, "it holds %llu bytes that belong to no tensor",
                          (unsigned long long)(file->data_bytes - most));
    }
    return true;
}

static bool parse_header(safetensors *file, const char *text, size_t length, failure *f) {
    json_error_t error;
    file->header = length && text[0] == '{' ? json_loadb(text, length, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (!file->header) {
        return input_fail(&file->in, f, "it is not a .safetensors file, or its header is damaged");
    }
    return check_entries(file, f);
}

static bool read_header(safetensors *file, failure *f) {
    uint8_t start[8];
    if (!input_read(&file->in, start, sizeof start, f)) {
        return false;
    }
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) {
        length = length << 8 | start[i];
    }
    if (length > MOST_HEADER_BYTES) {
        return input_fail(&file->in, f, "it is not a .safetensors file");
    }
    if (length > file->in.bytes - sizeof start) {
        return input_fail(&file->in, f, "it is not a .safetensors file, or truncated within its header");
    }
    file->data_start = sizeof start + length;
    file->data_bytes = file->in.bytes - file->data_start;
    char *text = malloc((size_t)length + 1);
    if (!text) {
        return fail_memory(f, file->in.path);
    }
    const bool good = input_read(&file->in, text, (size_t)length, f) && parse_header(file, text, (size_t)length, f);
    free(text);
    return good;
}

safetensors *safetensors_open(const char *label, const char *path, failure *f) {
    safetensors *file = calloc(1, sizeof *file);
    if (!file) {
        fail_memory(f, path);
        return NULL;
    }
    if (!input_open(&file->in, label, path, f) || !read_header(file, f)) {
        safetensors_close(file);
        return NULL;
    }
    return file;
}

void safetensors_close(safetensors *file) {
    if (!file) {
        return;
    }
    input_close(&file->in);
    json_decref(file->header);
    free(file);
}

bool safetensors_has(const safetensors *file, const char *name) {
    return strcmp(name, "__metadata__") != 0 && json_object_get(file->header, name) != NULL;
}

static bool fail_missing(const safetensors *file, const char *wanted, failure *f) {
    char names[300] = "";
    size_t used = 0;
    const char *name;
    json_t *json;
    json_object_foreach(file->header, name, json) {
        if (strcmp(name, "__metadata__") != 0 && used + strlen(name) + 6 < sizeof names) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
        }
    }
    return input_fail(&file->in, f, "it has no tensor named %.60s; it has %s", wanted, names);
}

static bool float_type(const char *dtype, array_type *type) {
    static const struct {
        const char *name;
        array_type type;
    } known[] = {{"F64", ARRAY_F64}, {"F32", ARRAY_F32}, {"F16", ARRAY_F16}, {"BF16", ARRAY_BF16}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(dtype, known[i].name) == 0) {
            *type = known[i].type;
            return true;
        }
    }
    return false;
}

bool safetensors_read(safetensors *file, const char *name, host_array *array, failure *f) {
    tensor_entry entry = {0};
    array_type type;
    *array = (host_array){0};
    if (!safetensors_has(file, name)) {
        return fail_missing(file, name, f);
    }
    if (!parse_entry(file, name, json_object_get(file->header, name), &entry, f)) {
        return false;
    }
    if (!float_type(entry.dtype, &type)) {
        return input_fail(&file->in, f, "tensor %.60s is of type %.16s; F32, F16, BF16 and F64 are supported", name,
                          entry.dtype);
    }
    if (!array_create(array, type, entry.rank, entry.shape, name, f)) {
        return false;
    }
    if (!input_seek(&file->in, file->data_start + entry.begin, f) ||
        !input_read(&file->in, array->data, array->count * array_type_bytes(type), f)) {
        array_free(array);
        return false;
    }
    return true;
}
