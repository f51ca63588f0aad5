#include "guarded.h"

#include <reference.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements --------------------------------------------------------------------------------------------------- */

size_t element_bytes(element type) {
    return type == ELEMENT_U8 ? 1 : type == ELEMENT_F16 || type == ELEMENT_BF16 ? 2 : 4;
}

double element_read(element type, const void *from) {
    uint16_t half;
    float single;
    int32_t integer;
    memcpy(&half, from, type == ELEMENT_U8 ? 1 : sizeof half);
    switch (type) {
    case ELEMENT_F16:
        return reference_from_f16(half);
    case ELEMENT_BF16:
        return reference_from_bf16(half);
    case ELEMENT_U8:
        return *(const unsigned char *)from;
    case ELEMENT_I32:
        memcpy(&integer, from, sizeof integer);
        return integer;
    default:
        memcpy(&single, from, sizeof single);
        return single;
    }
}

void element_write(element type, void *to, double value) {
    const float single = (float)value;
    const uint16_t half = type == ELEMENT_F16 ? reference_to_f16(value) : reference_to_bf16(single);
    if (type == ELEMENT_F32) {
        memcpy(to, &single, sizeof single);
    } else if (type == ELEMENT_U8) {
        *(unsigned char *)to = (unsigned char)value;
    } else if (type == ELEMENT_I32) {
        const int32_t integer = (int32_t)value;
        memcpy(to, &integer, sizeof integer);
    } else {
        memcpy(to, &half, sizeof half);
    }
}

/* ---- storage ---------------------------------------------------------------------------------------------------- */

/* The 16-bit patterns are NaN both as f16 and as bf16. A mask's gaps say "visible", an integer's are far off. */
static const uint32_t gap_bits_32 = 0x7fc0dead, element_bits_32 = 0x7fe1bad1;
static const uint16_t gap_bits_16 = 0x7fda, element_bits_16 = 0x7fe1;
static const unsigned char gap_bits_8 = 0xa5;

static void write_pattern(const storage *memory, int64_t index, bool is_gap) {
    const size_t bytes = element_bytes(memory->type);
    unsigned char *to = memory->image + (size_t)index * bytes;
    if (bytes == 4) {
        memcpy(to, is_gap ? &gap_bits_32 : &element_bits_32, 4);
    } else if (bytes == 2) {
        memcpy(to, is_gap ? &gap_bits_16 : &element_bits_16, 2);
    } else {
        *to = gap_bits_8;
    }
}

storage *storage_new(element type, int64_t count, bool is_output) {
    storage *memory = must_allocate(sizeof *memory);
    const size_t bytes = (size_t)count * element_bytes(type);
    *memory = (storage){.type = type, .count = count, .is_output = is_output};
    memory->image = must_allocate(bytes);
    memory->result = must_allocate(bytes);
    memory->written = must_allocate((size_t)count);
    memset(memory->written, 0, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        write_pattern(memory, i, true);
    }
    return memory;
}

void storage_free(storage *memory) {
    if (memory) {
        buffer_free(memory->buffer);
        free(memory->written);
        free(memory->result);
        free(memory->image);
        free(memory);
    }
}

void storage_upload(storage *memory) {
    const size_t bytes = (size_t)memory->count * element_bytes(memory->type);
    if (!memory->buffer) {
        memory->buffer = buffer_new(bytes, memory->image);
    } else {
        buffer_write(memory->buffer, bytes, memory->image);
    }
}

void storage_download(storage *memory) {
    buffer_read(memory->buffer, (size_t)memory->count * element_bytes(memory->type), memory->result);
}

const char *storage_damage(const storage *memory) {
    const size_t bytes = element_bytes(memory->type);
    for (int64_t i = 0; i < memory->count; i++) {
        const size_t at = (size_t)i * bytes;
        if (!memory->written[i] && memcmp(memory->image + at, memory->result + at, bytes) != 0) {
            return memory->is_output ? "an output was written outside its elements" : "an input was changed";
        }
    }
    return NULL;
}

bool storage_is_untouched(const storage *memory, int64_t index) {
    const size_t bytes = element_bytes(memory->type);
    const void *bits = bytes == 4 ? (const void *)&element_bits_32 : &element_bits_16;
    return memcmp(memory->result + (size_t)index * bytes, bits, bytes) == 0;
}

/* ---- views ------------------------------------------------------------------------------------------------------ */

void contiguous_strides(const int64_t shape[4], int64_t strides[4]) {
    strides[3] = 1;
    for (int i = 2; i >= 0; i--) {
        strides[i] = strides[i + 1] * shape[i + 1];
    }
}

int64_t view_count(const view *tensor) {
    return tensor->shape[0] * tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
}

int64_t view_address(const view *tensor, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t *strides = tensor->strides;
    return tensor->offset + a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3];
}

/* The address of element `n` in the order of the shape. */
static int64_t address_of(const view *tensor, int64_t n) {
    int64_t at = tensor->offset;
    for (int i = 3; i >= 0; i--) {
        at += n % tensor->shape[i] * tensor->strides[i];
        n /= tensor->shape[i];
    }
    return at;
}

static unsigned char *image_at(const view *tensor, int64_t address) {
    return tensor->memory->image + (size_t)address * element_bytes(tensor->memory->type);
}

static const unsigned char *result_at(const view *tensor, int64_t address) {
    return tensor->memory->result + (size_t)address * element_bytes(tensor->memory->type);
}

view view_new(element type, const int64_t shape[4], const int64_t strides[4], bool is_output, int64_t before,
              int64_t after) {
    view tensor = {.offset = before};
    int64_t reach = 1;
    for (int i = 0; i < 4; i++) {
        tensor.shape[i] = shape[i];
        tensor.strides[i] = strides[i];
        reach += (shape[i] > 0 ? shape[i] - 1 : 0) * strides[i];
    }
    const int64_t count = view_count(&tensor);
    tensor.memory = storage_new(type, before + (count ? reach : 0) + after, is_output);
    for (int64_t n = 0; is_output && n < count; n++) {
        write_pattern(tensor.memory, address_of(&tensor, n), false);
    }
    return tensor;
}

double view_get(const view *tensor, int64_t a, int64_t b, int64_t c, int64_t d) {
    return element_read(tensor->memory->type, image_at(tensor, view_address(tensor, a, b, c, d)));
}

double view_result(const view *tensor, int64_t a, int64_t b, int64_t c, int64_t d) {
    return element_read(tensor->memory->type, result_at(tensor, view_address(tensor, a, b, c, d)));
}

void view_set(const view *tensor, int64_t a, int64_t b, int64_t c, int64_t d, double value) {
    element_write(tensor->memory->type, image_at(tensor, view_address(tensor, a, b, c, d)), value);
}

void view_fill(const view *tensor, double value) {
    const int64_t count = view_count(tensor);
    for (int64_t n = 0; n < count; n++) {
        element_write(tensor->memory->type, image_at(tensor, address_of(tensor, n)), value);
    }
}

void view_fill_from(const view *tensor, const double *values) {
    const int64_t count = view_count(tensor);
    for (int64_t n = 0; n < count; n++) {
        element_write(tensor->memory->type, image_at(tensor, address_of(tensor, n)), values[n]);
    }
}

void view_fill_random(const view *tensor, random_source *source, double magnitude) {
    const int64_t count = view_count(tensor);
    for (int64_t n = 0; n < count; n++) {
        element_write(tensor->memory->type, image_at(tensor, address_of(tensor, n)), magnitude * random_unit(source));
    }
}

double *view_results(const view *tensor) {
    const int64_t count = view_count(tensor);
    double *values = must_allocate((size_t)count * sizeof *values);
    for (int64_t n = 0; n < count; n++) {
        values[n] = element_read(tensor->memory->type, result_at(tensor, address_of(tensor, n)));
    }
    return values;
}

bool view_same_bits(const view *a, const view *b) {
    const int64_t count = view_count(a);
    const size_t bytes = element_bytes(a->memory->type);
    for (int64_t n = 0; n < count; n++) {
        if (memcmp(result_at(a, address_of(a, n)), result_at(b, address_of(b, n)), bytes) != 0) {
            return false;
        }
    }
    return true;
}

oclattn_tensor view_tensor(const view *tensor, bool with_strides) {
    if (!tensor->memory) {
        return (oclattn_tensor){0};
    }
    return (oclattn_tensor){tensor->memory->buffer, tensor->offset, with_strides ? tensor->strides : NULL};
}
