/* What is done to queries and keys before attention, in the host's memory: biases, rotary positions. */
#ifndef OCLATTN_ORT_PREPARE_H
#define OCLATTN_ORT_PREPARE_H

#include "operator.h"

/* Rows of heads; results lie [batch, rows, heads, width]. */
typedef struct prepared_rows {
    ort_element element;
    int64_t batch, heads, rows, width;
} prepared_rows;

/* place + bias[offset + head * width + column], in memory of the call; `place` becomes the result's. */
oclattn_status prepare_biased(attention_call *call, const prepared_rows *rows, const void *bias, int64_t bias_offset,
                              scratch_slot slot, operand_place *place, oclattn_error *error);

/* Angles of rotary positions: tables of cosines and sines, [positions, pairs]. */
typedef struct rotary_tables {
    const void *cosines, *sines;
    int64_t positions, pairs;
    bool interleaved;     /* pairs are columns 2i and 2i + 1, else i and i + pairs */
    const int32_t *first; /* [batch], the position of row 0 */
} rotary_tables;

/* Turns the pair (a, b) of each row at position p by its angle: (a cos - b sin, b cos + a sin). Columns beyond the
 * pairs stay. A row beyond the last position, which must be padding, takes that one's angles. Source: Su et al.,
 * "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021. */
oclattn_status prepare_rotated(attention_call *call, const prepared_rows *rows, const rotary_tables *tables,
                               scratch_slot slot, operand_place *place, oclattn_error *error);

/* int32, where 0 hides, as bytes. */
void prepare_mask(const int32_t *from, int64_t count, uint8_t *to);

#endif
