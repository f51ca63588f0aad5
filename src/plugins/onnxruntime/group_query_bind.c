#include "group_query.h"

#include "common.h"
#include "convert.h"
#include "prepare.h"

/* seqlens_k counts the keys of each entry without the last one. Those before the new ones are the past; a prompt has
 * none, whatever its padding. */
static oclattn_status set_lengths(const attention_call *call, int32_t *kv_lens, int32_t *past, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const int32_t *lens = call->problem.inputs[SEQLENS_K].data;
    const bool prompt = sizes->kv_len == sizes->q_len;
    for (int64_t b = 0; b < sizes->batch; ++b) {
        if (lens[b] < 0 || lens[b] >= sizes->kv_len || (!prompt && lens[b] + 1 < sizes->q_len)) {
            return refuse(error, OCLATTN_INVALID_ARGUMENT, "seqlens_k[%lld] is %d, with %lld new keys of %lld in all",
                          (long long)b, (int)lens[b], (long long)sizes->q_len, (long long)sizes->kv_len);
        }
        kv_lens[b] = lens[b] + 1;
        past[b] = prompt ? 0 : kv_lens[b] - (int32_t)sizes->q_len;
    }
    return OCLATTN_OK;
}

static oclattn_status bind_lengths(attention_call *call, int32_t **kv_lens, int32_t **past, oclattn_error *error) {
    const int64_t batch = call->problem.sizes.batch;
    operand_place unused;
    operand_place *offsets = call->problem.node->options.causal ? &call->operands[OPERAND_OFFSETS] : &unused;
    RETURN_IF_ERROR(bind_integers(call, SCRATCH_KV_LENS, batch, &call->operands[OPERAND_KV_LENS], kv_lens, error));
    RETURN_IF_ERROR(bind_integers(call, SCRATCH_OFFSETS, batch, offsets, past, error));
    return set_lengths(call, *kv_lens, *past, error);
}

/* Where query, key or value lies. */
static operand_place place_of(const attention_call *call, int input) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    const int64_t width = sizes->head_dim;
    operand_place place = operand_of(group_query_kv(inputs, input));
    if (!group_query_is_packed(inputs)) {
        set_strides(&place, 3, input == QUERY ? sizes->q_heads : sizes->kv_heads, sizes->q_len, width);
        return place;
    }
    set_strides(&place, 3, sizes->q_heads + 2 * sizes->kv_heads, sizes->q_len, width);
    place.offset = input == QUERY ? 0 : (sizes->q_heads + (input - KEY) * sizes->kv_heads) * width;
    return place;
}

static oclattn_status rotate(attention_call *call, int input, const int32_t *past, const int32_t *kv_lens,
                             operand_place *place, oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    const host_tensor *cosines = &inputs[COS_CACHE];
    if (!call->problem.node->options.rotary || input == VALUE) {
        return OCLATTN_OK;
    }
    for (int64_t b = 0; b < sizes->batch; ++b) {
        if (kv_lens[b] > cosines->dims[0]) {
            return refuse(error, OCLATTN_INVALID_ARGUMENT, "cos_cache has %lld positions, %d are needed",
                          (long long)cosines->dims[0], (int)kv_lens[b]);
        }
    }
    const prepared_rows rows = {.element = inputs[QUERY].element,
                                .batch = sizes->batch,
                                .heads = input == QUERY ? sizes->q_heads : sizes->kv_heads,
                                .rows = sizes->q_len,
                                .width = sizes->head_dim};
    const rotary_tables tables = {.cosines = cosines->data,
                                  .sines = inputs[SIN_CACHE].data,
                                  .positions = cosines->dims[0],
                                  .pairs = cosines->dims[1],
                                  .interleaved = call->problem.node->options.rotary_interleaved,
                                  .first = past};
    return prepare_rotated(call, &rows, &tables, input == QUERY ? SCRATCH_QUERY : SCRATCH_KEY, place, error);
}

static oclattn_status bind_kv_part(attention_call *call, int input, const int32_t *past, const int32_t *kv_lens,
                                   oclattn_error *error) {
    const attention_sizes *sizes = &call->problem.sizes;
    const host_tensor *inputs = call->problem.inputs;
    const bool key = input == KEY;
    kv_part part = {.role = key ? OPERAND_K : OPERAND_V,
                    .fresh = place_of(call, input),
                    .element = group_query_kv(inputs, input)->element,
                    .width = sizes->head_dim,
                    .past = &inputs[key ? PAST_KEY : PAST_VALUE],
                    .past_capacity = sizes->past_len,
                    .past_rows = past,
                    .present = key ? PRESENT_KEY : PRESENT_VALUE,
                    .capacity = sizes->kv_len > sizes->past_len ? sizes->kv_len : sizes->past_len,
                    .scratch = key ? SCRATCH_KEYS : SCRATCH_VALUES};
    RETURN_IF_ERROR(rotate(call, input, past, kv_lens, &part.fresh, error));
    return bind_kv(call, &part, error);
}

static oclattn_status bind_sinks(attention_call *call, oclattn_error *error) {
    const host_tensor *sinks = &call->problem.inputs[HEAD_SINK];
    const int64_t heads = call->problem.sizes.q_heads;
    operand_place *operand = &call->operands[OPERAND_SINKS];
    if (!group_query_has_sinks(&call->problem)) {
        return OCLATTN_OK;
    }
    operand->bytes = (size_t)heads * sizeof(float);
    RETURN_IF_ERROR(lane_scratch(call->lane, SCRATCH_SINKS, operand->bytes, &operand->memory, error));
    for (int64_t h = 0; h < heads; ++h) {
        ((float *)operand->memory)[h] = tensor_given(sinks) ? load_float(sinks->data, sinks->element, h) : 0.0f;
    }
    return OCLATTN_OK;
}

oclattn_status group_query_bind(attention_call *call, oclattn_error *error) {
    const host_tensor *inputs = call->problem.inputs;
    int32_t *kv_lens = NULL, *past = NULL;
    RETURN_IF_ERROR(bind_lengths(call, &kv_lens, &past, error));
    call->operands[OPERAND_Q] = place_of(call, QUERY);
    RETURN_IF_ERROR(rotate(call, QUERY, past, kv_lens, &call->operands[OPERAND_Q], error));
    RETURN_IF_ERROR(bind_kv_part(call, KEY, past, kv_lens, error));
    RETURN_IF_ERROR(bind_kv_part(call, VALUE, past, kv_lens, error));
    RETURN_IF_ERROR(bind_sinks(call, error));
    if (tensor_given(&inputs[ATTENTION_BIAS])) {
        call->operands[OPERAND_BIAS] = operand_broadcast(&inputs[ATTENTION_BIAS]);
    }
    return bind_output(call, OUTPUT, 3, inputs[QUERY].element, error);
}
