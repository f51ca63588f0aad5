#include "cache.h"
#include "common.h"

operand_place operand_of(const host_tensor *tensor) {
    return (operand_place){.memory = tensor->data,
                           .bytes = (size_t)tensor_elements(tensor) * element_bytes(tensor->element)};
}

void set_strides(operand_place *operand, size_t rank, int64_t heads, int64_t rows, int64_t width) {
    operand->strides[0] = heads * rows * width;
    operand->strides[1] = rank == 3 ? width : rows * width;
    operand->strides[2] = rank == 3 ? heads * width : width;
}

operand_place operand_broadcast(const host_tensor *tensor) {
    operand_place operand = operand_of(tensor);
    int64_t stride = 1;
    for (size_t i = 0; i < tensor->rank; ++i) { /* from the last dimension on, which is not repeated */
        const int64_t size = tensor->dims[tensor->rank - 1 - i];
        operand.strides[3 - i] = size == 1 && i > 0 ? 0 : stride;
        stride *= size;
    }
    return operand;
}

oclattn_status bind_integers(attention_call *call, scratch_slot which, int64_t count, operand_place *operand,
                             int32_t **values, oclattn_error *error) {
    void *memory = NULL;
    const size_t bytes = (size_t)count * sizeof(int32_t);
    RETURN_IF_ERROR(lane_scratch(call->lane, which, bytes, &memory, error));
    *values = memory;
    *operand = (operand_place){.memory = memory, .bytes = bytes};
    return OCLATTN_OK;
}

oclattn_status bind_output(attention_call *call, int index, size_t rank, ort_element element, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const int64_t as_rows[] = {sizes->batch, sizes->q_len, sizes->q_heads * sizes->v_dim};
    const int64_t as_heads[] = {sizes->batch, sizes->q_heads, sizes->q_len, sizes->v_dim};
    operand_place *operand = &call->operands[OPERAND_O];
    operand->bytes = (size_t)(as_rows[0] * as_rows[1] * as_rows[2]) * element_bytes(element);
    set_strides(operand, rank, sizes->q_heads, sizes->q_len, sizes->v_dim);
    return tensor_output(call->host, call->context, call->problem.node->output_at[index],
                         rank == 3 ? as_rows : as_heads, rank, &operand->memory, error);
}

static oclattn_status make_present(attention_call *call, const kv_part *part, const int64_t dims[4], size_t bytes,
                                   void **present, oclattn_error *error) {
    const attention_node *node = call->problem.node;
    if (node->outputs[part->present]) {
        return tensor_output(call->host, call->context, node->output_at[part->present], dims, 4, present, error);
    }
    return lane_scratch(call->lane, part->scratch, bytes, present, error);
}

static void append(const attention_call *call, const kv_part *part, void *present) {
    const attention_sizes *sizes = &call->problem.sizes;
    const int64_t bytes = (int64_t)element_bytes(part->element);
    const int64_t *strides = part->fresh.strides;
    const cache_append parts = {
        .batch = sizes->batch,
        .heads = sizes->kv_heads,
        .row_bytes = (size_t)(part->width * bytes),
        .past = part->past->data,
        .past_capacity = part->past_capacity,
        .past_rows = part->past_rows,
        .fresh = (const char *)part->fresh.memory + part->fresh.offset * bytes,
        .fresh_rows = sizes->new_len,
        .fresh_strides = {strides[0] * bytes, strides[1] * bytes, strides[2] * bytes},
        .present = present,
        .capacity = part->capacity,
    };
    cache_append_run(call, &parts);
}

oclattn_status bind_kv(attention_call *call, const kv_part *part, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const int64_t dims[] = {sizes->batch, sizes->kv_heads, part->capacity, part->width};
    const size_t bytes = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]) * element_bytes(part->element);
    operand_place *operand = &call->operands[part->role];
    void *present = NULL;
    if (part->past_capacity == 0 && !call->problem.node->outputs[part->present]) {
        *operand = part->fresh;
        return OCLATTN_OK;
    }
    RETURN_IF_ERROR(make_present(call, part, dims, bytes, &present, error));
    append(call, part, present);
    *operand = (operand_place){.memory = present, .bytes = bytes};
    set_strides(operand, 4, sizes->kv_heads, part->capacity, part->width);
    return OCLATTN_OK;
}
