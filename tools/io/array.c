#include "array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [ARRAY_BOOL] = {"bool", 1},   [ARRAY_U8] = {"uint8", 1},    [ARRAY_I32] = {"int32", 4},
    [ARRAY_I64] = {"int64", 8},   [ARRAY_F16] = {"float16", 2}, [ARRAY_BF16] = {"bfloat16", 2},
    [ARRAY_F32] = {"float32", 4}, [ARRAY_F64] = {"float64", 8},
};

size_t array_type_bytes(array_type type) {
    return types[type].bytes;
}

const char *array_type_name(array_type type) {
    return types[type].name;
}

bool array_type_is_float(array_type type) {
    return type >= ARRAY_F16;
}

bool shape_count(const int64_t *shape, int rank, size_t element_bytes, size_t *count) {
    const int64_t most = INT64_MAX / (int64_t)element_bytes;
    int64_t without_zeros = 1;
    bool empty = false;
    for (int d = 0; d < rank; d++) {
        if (shape[d] == 0) {
            empty = true;
            continue;
        }
        if (without_zeros > most / shape[d]) {
            return false;
        }
        without_zeros *= shape[d];
    }
    *count = empty ? 0 : (size_t)without_zeros;
    return true;
}

bool array_create(host_array *array, array_type type, int rank, const int64_t *shape, const char *what, failure *f) {
    char text[SHAPE_TEXT_SIZE];
    host_array made = {.type = type, .rank = rank};
    if (!shape_count(shape, rank, types[type].bytes, &made.count)) {
        return fail_with(f, EXIT_BAD_INPUT, "%s: the sizes of %s overflow", what, shape_text(shape, rank, text));
    }
    if (rank > 0) {
        memcpy(made.shape, shape, (size_t)rank * sizeof *shape);
    }
    made.data = calloc(made.count > 0 ? made.count : 1, types[type].bytes);
    if (!made.data) {
        return fail_with(f, EXIT_RUNTIME, "out of memory for %s %s of %s", what, shape_text(shape, rank, text),
                         types[type].name);
    }
    *array = made;
    return true;
}

void array_free(host_array *array) {
    free(array->data);
    *array = (host_array){0};
}

const char *shape_text(const int64_t *shape, int rank, char text[SHAPE_TEXT_SIZE]) {
    size_t used = (size_t)snprintf(text, SHAPE_TEXT_SIZE, "[");
    for (int d = 0; d < rank; d++) {
        used += (size_t)snprintf(text + used, SHAPE_TEXT_SIZE - used, "%s%lld", d ? ", " : "", (long long)shape[d]);
    }
    snprintf(text + used, SHAPE_TEXT_SIZE - used, "]");
    return text;
}

const char *array_shape_text(const host_array *array, char text[SHAPE_TEXT_SIZE]) {
    return shape_text(array->shape, array->rank, text);
}

double array_value(const host_array *array, size_t index) {
    switch (array->type) {
    case ARRAY_BOOL:
    case ARRAY_U8:
        return ((const uint8_t *)array->data)[index];
    case ARRAY_I32:
        return ((const int32_t *)array->data)[index];
    case ARRAY_I64:
        return (double)((const int64_t *)array->data)[index];
    case ARRAY_F16:
        return f16_to_double(((const uint16_t *)array->data)[index]);
    case ARRAY_BF16:
        return bf16_to_double(((const uint16_t *)array->data)[index]);
    case ARRAY_F32:
        return (double)((const float *)array->data)[index];
    default:
        return ((const double *)array->data)[index];
    }
}

void array_set_float(host_array *array, size_t index, double value) {
    switch (array->type) {
    case ARRAY_F16:
        ((uint16_t *)array->data)[index] = f16_from_double(value);
        break;
    case ARRAY_BF16:
        ((uint16_t *)array->data)[index] = bf16_from_double(value);
        break;
    case ARRAY_F32:
        ((float *)array->data)[index] = (float)value;
        break;
    case ARRAY_F64:
        ((double *)array->data)[index] = value;
        break;
    default:
        break;
    }
}

bool array_convert(const host_array *from, array_type type, host_array *to, const char *what, failure *f) {
    if (!array_create(to, type, from->rank, from->shape, what, f)) {
        return false;
    }
    if (from->type == type) {
        memcpy(to->data, from->data, from->count * types[type].bytes);
        return true;
    }
    for (size_t i = 0; i < from->count; i++) {
        array_set_float(to, i, array_value(from, i));
    }
    return true;
}
