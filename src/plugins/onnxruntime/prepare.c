#include "prepare.h"

#include <string.h>

#include "common.h"
#include "convert.h"

/* The row (b, s, h) of the result and where it comes from. */
typedef struct row_pair {
    const char *from;
    char *to;
} row_pair;

static row_pair row_at(const prepared_rows *rows, const operand_place *place, void *memory, int64_t b, int64_t s,
                       int64_t h) {
    const int64_t bytes = (int64_t)element_bytes(rows->element);
    const int64_t from = place->offset + b * place->strides[0] + h * place->strides[1] + s * place->strides[2];
    const int64_t to = ((b * rows->rows + s) * rows->heads + h) * rows->width;
    return (row_pair){(const char *)place->memory + from * bytes, (char *)memory + to * bytes};
}

static oclattn_status make_result(attention_call *call, const prepared_rows *rows, scratch_slot slot,
                                  operand_place *result, oclattn_error *error) {
    const int64_t elements = rows->batch * rows->rows * rows->heads * rows->width;
    *result = (operand_place){.bytes = (size_t)elements * element_bytes(rows->element)};
    set_strides(result, 3, rows->heads, rows->rows, rows->width);
    return lane_scratch(call->lane, slot, result->bytes, &result->memory, error);
}

/* ---- bias ------------------------------------------------------------------------------------------------------- */

static void add_bias_f32(const float *from, const float *bias, int64_t width, float *to) {
    for (int64_t i = 0; i < width; ++i) {
        to[i] = from[i] + bias[i];
    }
}

static void add_bias(ort_element element, row_pair row, const void *bias, int64_t offset, int64_t width) {
    if (element == ORT_FLOAT) {
        add_bias_f32((const float *)row.from, (const float *)bias + offset, width, (float *)row.to);
        return;
    }
    for (int64_t i = 0; i < width; ++i) {
        store_float(row.to, element, i, load_float(row.from, element, i) + load_float(bias, element, offset + i));
    }
}

oclattn_status prepare_biased(attention_call *call, const prepared_rows *rows, const void *bias, int64_t bias_offset,
                              scratch_slot slot, operand_place *place, oclattn_error *error) {
    operand_place result;
    RETURN_IF_ERROR(make_result(call, rows, slot, &result, error));
    for (int64_t b = 0; b < rows->batch; ++b) {
        for (int64_t s = 0; s < rows->rows; ++s) {
            for (int64_t h = 0; h < rows->heads; ++h) {
                add_bias(rows->element, row_at(rows, place, result.memory, b, s, h), bias,
                         bias_offset + h * rows->width, rows->width);
            }
        }
    }
    *place = result;
    return OCLATTN_OK;
}

/* ---- rotary positions ------------------------------------------------------------------------------------------- */

static void rotate(ort_element element, row_pair row, const rotary_tables *tables, int64_t position, int64_t width) {
    const int64_t step = tables->interleaved ? 2 : 1, apart = tables->interleaved ? 1 : tables->pairs;
    for (int64_t i = 0; i < tables->pairs; ++i) {
        const float a = load_float(row.from, element, i * step);
        const float b = load_float(row.from, element, i * step + apart);
        const float cosine = load_float(tables->cosines, element, position * tables->pairs + i);
        const float sine = load_float(tables->sines, element, position * tables->pairs + i);
        store_float(row.to, element, i * step, a * cosine - b * sine);
        store_float(row.to, element, i * step + apart, b * cosine + a * sine);
    }
    const size_t bytes = element_bytes(element), done = (size_t)(2 * tables->pairs) * bytes;
    memcpy(row.to + done, row.from + done, (size_t)width * bytes - done);
}

oclattn_status prepare_rotated(attention_call *call, const prepared_rows *rows, const rotary_tables *tables,
                               scratch_slot slot, operand_place *place, oclattn_error *error) {
    operand_place result;
    RETURN_IF_ERROR(make_result(call, rows, slot, &result, error));
    for (int64_t b = 0; b < rows->batch; ++b) {
        for (int64_t s = 0; s < rows->rows; ++s) {
            const int64_t wanted = tables->first[b] + s;
            const int64_t position = wanted < tables->positions ? wanted : tables->positions - 1;
            for (int64_t h = 0; h < rows->heads; ++h) {
                rotate(rows->element, row_at(rows, place, result.memory, b, s, h), tables, position, rows->width);
            }
        }
    }
    *place = result;
    return OCLATTN_OK;
}

/* ---- masks ------------------------------------------------------------------------------------------------------ */

void prepare_mask(const int32_t *from, int64_t count, uint8_t *to) {
    for (int64_t i = 0; i < count; ++i) {
        to[i] = from[i] != 0;
    }
}
