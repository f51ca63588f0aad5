#include "multi_head.h"

#include "common.h"
#include "prepare.h"

static oclattn_status bind_padding(attention_call *call, oclattn_error *error) {
    const host_tensor *mask = &call->problem.inputs[KEY_PADDING_MASK];
    const attention_sizes *sizes = &call->problem.sizes;
    operand_place *operand = &call->operands[OPERAND_MASK];
    if (!tensor_given(mask)) {
        return OCLATTN_OK;
    }
    if (mask->rank == 1) {
        call->operands[OPERAND_KV_LENS] =
            (operand_place){.memory = mask->data, .bytes = (size_t)sizes->batch * sizeof(int32_t)};
        return OCLATTN_OK;
    }
    operand->bytes = (size_t)tensor_elements(mask);
    RETURN_IF_ERROR(lane_scratch(call->lane, SCRATCH_MASK, operand->bytes, &operand->memory, error));
    prepare_mask(mask->data, tensor_elements(mask), operand->memory);
    operand->strides[0] = (mask->rank == 3 ? sizes->q_len : 1) * sizes->kv_len;
    operand->strides[2] = mask->rank == 3 ? sizes->kv_len : 0;
    operand->strides[3] = 1;
    return OCLATTN_OK;
}

/* Part `index` of `parts` packed ones: [batch, rows, heads, parts, width]. */
static operand_place packed_part(const host_tensor *tensor, int64_t heads, int64_t rows, int64_t width, int64_t parts,
                                 int64_t index) {
    operand_place operand = operand_of(tensor);
    operand.offset = index * width;
    operand.strides[0] = rows * heads * parts * width;
    operand.strides[1] = parts * width;
    operand.strides[2] = heads * parts * width;
    return operand;
}

/* Where query, key or value lies. */
static operand_place place_of(const attention_call *call, int input) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    const int64_t width = input == VALUE ? sizes->v_dim : sizes->head_dim;
    const int64_t rows = input == QUERY ? sizes->q_len : sizes->new_len;
    if (multi_head_all_packed(inputs)) {
        return packed_part(&inputs[QUERY], sizes->q_heads, rows, width, 3, input);
    }
    if (multi_head_kv_packed(inputs) && input != QUERY) {
        return packed_part(&inputs[KEY], sizes->q_heads, rows, width, 2, input - KEY);
    }
    operand_place operand = operand_of(&inputs[input]);
    set_strides(&operand, inputs[input].rank, sizes->q_heads, rows, width);
    return operand;
}

/* The bias of query, key and value lies in one row. Keys given as heads come from a cache, which has it already. */
static oclattn_status add_bias(attention_call *call, int input, operand_place *place, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    static const scratch_slot slots[] = {SCRATCH_QUERY, SCRATCH_KEY, SCRATCH_VALUE};
    const bool cached = inputs[input].rank == 4;
    if (!tensor_given(&inputs[BIAS]) || cached) {
        return OCLATTN_OK;
    }
    const prepared_rows rows = {.element = inputs[QUERY].element,
                                .batch = sizes->batch,
                                .heads = sizes->q_heads,
                                .rows = input == QUERY ? sizes->q_len : sizes->new_len,
                                .width = input == VALUE ? sizes->v_dim : sizes->head_dim};
    return prepare_biased(call, &rows, inputs[BIAS].data, input * sizes->q_heads * sizes->head_dim, slots[input], place,
                          error);
}

static oclattn_status bind_kv_part(attention_call *call, int input, const int32_t *past_rows, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    const bool key = input == KEY;
    kv_part part = {.role = key ? OPERAND_K : OPERAND_V,
                    .fresh = place_of(call, input),
                    .element = (key ? multi_head_key(inputs) : multi_head_value(inputs))->element,
                    .width = key ? sizes->head_dim : sizes->v_dim,
                    .past = &inputs[key ? PAST_KEY : PAST_VALUE],
                    .past_capacity = sizes->past_len,
                    .past_rows = past_rows,
                    .present = key ? PRESENT_KEY : PRESENT_VALUE,
                    .capacity = sizes->kv_len,
                    .scratch = key ? SCRATCH_KEYS : SCRATCH_VALUES};
    RETURN_IF_ERROR(add_bias(call, input, &part.fresh, error));
    return bind_kv(call, &part, error);
}

oclattn_status multi_head_bind(attention_call *call, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    operand_place unused;
    const bool offset = call->problem.desc.score.align == OCLATTN_ALIGN_OFFSET;
    int32_t *offsets = NULL;
    RETURN_IF_ERROR(bind_integers(call, SCRATCH_OFFSETS, sizes->batch,
                                  offset ? &call->operands[OPERAND_OFFSETS] : &unused, &offsets, error));
    for (int64_t b = 0; b < sizes->batch; ++b) {
        offsets[b] = (int32_t)sizes->past_len;
    }
    call->operands[OPERAND_Q] = place_of(call, QUERY);
    RETURN_IF_ERROR(add_bias(call, QUERY, &call->operands[OPERAND_Q], error));
    RETURN_IF_ERROR(bind_kv_part(call, KEY, offsets, error));
    RETURN_IF_ERROR(bind_kv_part(call, VALUE, offsets, error));
    RETURN_IF_ERROR(bind_padding(call, error));
    if (tensor_given(&inputs[ATTENTION_BIAS])) {
        call->operands[OPERAND_BIAS] = operand_broadcast(&inputs[ATTENTION_BIAS]);
    }
    return bind_output(call, OUTPUT, 3, inputs[QUERY].element, error);
}
