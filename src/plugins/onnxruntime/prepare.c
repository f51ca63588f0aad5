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

typedef struct bias_work {
    const prepared_rows *rows;
    const operand_place *place;
    const void *bias;
    int64_t bias_offset;
    void *result;
} bias_work;

/* Row `row` of all heads; entries of the batch follow each other. */
static void add_bias_to_row(void *user, size_t row) {
    const bias_work *work = user;
    const prepared_rows *rows = work->rows;
    const int64_t b = (int64_t)row / rows->rows, s = (int64_t)row % rows->rows;
    for (int64_t h = 0; h < rows->heads; ++h) {
        add_bias(rows->element, row_at(rows, work->place, work->result, b, s, h), work->bias,
                 work->bias_offset + h * rows->width, rows->width);
    }
}

oclattn_status prepare_biased(attention_call *call, const prepared_rows *rows, const void *bias, int64_t bias_offset,
                              scratch_slot slot, operand_place *place, oclattn_error *error) {
    operand_place result;
    RETURN_IF_ERROR(make_result(call, rows, slot, &result, error));
    bias_work work = {rows, place, bias, bias_offset, result.memory};
    call_parallel(call, add_bias_to_row, (size_t)(rows->batch * rows->rows), result.bytes, &work);
    *place = result;
    return OCLATTN_OK;
}

/* ---- rotary positions ------------------------------------------------------------------------------------------- */

/* Halves of float32, the usual case, in a form that compilers make vectors of. */
static void rotate_halves_f32(const float *from, const float *cosines, const float *sines, int64_t pairs,
                              float *restrict to) {
    for (int64_t i = 0; i < pairs; ++i) {
        to[i] = from[i] * cosines[i] - from[i + pairs] * sines[i];
        to[i + pairs] = from[i + pairs] * cosines[i] + from[i] * sines[i];
    }
}

static void rotate_pairs(ort_element element, row_pair row, const rotary_tables *tables, int64_t position) {
    const int64_t step = tables->interleaved ? 2 : 1, apart = tables->interleaved ? 1 : tables->pairs;
    for (int64_t i = 0; i < tables->pairs; ++i) {
        const float a = load_float(row.from, element, i * step);
        const float b = load_float(row.from, element, i * step + apart);
        const float cosine = load_float(tables->cosines, element, position * tables->pairs + i);
        const float sine = load_float(tables->sines, element, position * tables->pairs + i);
        store_float(row.to, element, i * step, a * cosine - b * sine);
        store_float(row.to, element, i * step + apart, b * cosine + a * sine);
    }
}

static void rotate(ort_element element, row_pair row, const rotary_tables *tables, int64_t position, int64_t width) {
    if (element == ORT_FLOAT && !tables->interleaved) {
        rotate_halves_f32((const float *)row.from, (const float *)tables->cosines + position * tables->pairs,
                          (const float *)tables->sines + position * tables->pairs, tables->pairs, (float *)row.to);
    } else {
        rotate_pairs(element, row, tables, position);
    }
    const size_t bytes = element_bytes(element), done = (size_t)(2 * tables->pairs) * bytes;
    memcpy(row.to + done, row.from + done, (size_t)width * bytes - done);
}

typedef struct rotary_work {
    const prepared_rows *rows;
    const operand_place *place;
    const rotary_tables *tables;
    void *result;
} rotary_work;

static void rotate_row(void *user, size_t row) {
    const rotary_work *work = user;
    const prepared_rows *rows = work->rows;
    const rotary_tables *tables = work->tables;
    const int64_t b = (int64_t)row / rows->rows, s = (int64_t)row % rows->rows;
    const int64_t wanted = tables->first[b] + s;
    const int64_t position = wanted < tables->positions ? wanted : tables->positions - 1;
    for (int64_t h = 0; h < rows->heads; ++h) {
        rotate(rows->element, row_at(rows, work->place, work->result, b, s, h), tables, position, rows->width);
    }
}

oclattn_status prepare_rotated(attention_call *call, const prepared_rows *rows, const rotary_tables *tables,
                               scratch_slot slot, operand_place *place, oclattn_error *error) {
    operand_place result;
    RETURN_IF_ERROR(make_result(call, rows, slot, &result, error));
    rotary_work work = {rows, place, tables, result.memory};
    call_parallel(call, rotate_row, (size_t)(rows->batch * rows->rows), result.bytes, &work);
    *place = result;
    return OCLATTN_OK;
}

/* ---- masks ------------------------------------------------------------------------------------------------------ */

void prepare_mask(const int32_t *from, int64_t count, uint8_t *to) {
    for (int64_t i = 0; i < count; ++i) {
        to[i] = from[i] != 0;
    }
}
