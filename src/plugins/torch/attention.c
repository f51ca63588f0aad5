#include "attention.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tensors.h"

/* In the order of the schema, tensors first. */
enum { Q, K, V, MASK, BIAS, ALIBI, SINKS, Q_LENS, KV_LENS, OFFSETS, TENSORS };
enum { CAUSAL = TENSORS, ALIGN, WINDOW_LEFT, WINDOW_RIGHT, SOFTCAP, SCALE, ARGUMENTS };

static const char *const names[TENSORS] = {"q",     "k",     "v",      "mask",    "bias",
                                           "alibi", "sinks", "q_lens", "kv_lens", "offsets"};

typedef struct attention_call {
    const torch_api *api;
    torch_tensor tensors[TENSORS], o;
    bool causal, has_scale;
    int64_t align, window_left, window_right;
    double softcap, scale;
    oclattn_attention_desc desc;
} attention_call;

static torch_api the_api;
static atomic_uint_fast64_t calls;

/* ---- the context: one per process, on the device that oclattn chooses ------------------------------------------- */

static pthread_mutex_t context_lock = PTHREAD_MUTEX_INITIALIZER;
static oclattn_context *context;

static oclattn_status get_context(oclattn_error *error) {
    pthread_mutex_lock(&context_lock);
    const oclattn_status status = context != NULL ? OCLATTN_OK : oclattn_context_create(NULL, &context, error);
    pthread_mutex_unlock(&context_lock);
    return status;
}

/* ---- from the stack ------------------------------------------------------------------------------------------------
 */

/* The value of an optional, whose place on the heap is given back; 0 where there is none. */
static torch_value take_optional(const torch_api *api, torch_value value, bool *given) {
    torch_value *place = (torch_value *)(uintptr_t)value;
    *given = place != NULL;
    if (place == NULL) {
        return 0;
    }
    const torch_value inner = *place;
    api->torch_delete_stable_ivalue(place);
    return inner;
}

static double as_double(torch_value value) {
    double number;
    memcpy(&number, &value, sizeof(number));
    return number;
}

static void take_arguments(attention_call *call, const torch_value *stack) {
    for (int i = 0; i < TENSORS; ++i) {
        bool given = true;
        const torch_value value = i <= V ? stack[i] : take_optional(call->api, stack[i], &given);
        call->tensors[i] = (torch_tensor){.name = names[i], .handle = (torch_tensor_handle)(uintptr_t)value};
    }
    call->o.name = "o";
    call->causal = (stack[CAUSAL] & 1) != 0;
    call->align = (int64_t)stack[ALIGN];
    call->window_left = (int64_t)stack[WINDOW_LEFT];
    call->window_right = (int64_t)stack[WINDOW_RIGHT];
    call->softcap = as_double(stack[SOFTCAP]);
    call->scale = as_double(take_optional(call->api, stack[SCALE], &call->has_scale));
}

static void release(attention_call *call) {
    for (int i = 0; i < TENSORS; ++i) {
        tensor_release(call->api, &call->tensors[i]);
    }
    tensor_release(call->api, &call->o);
}

/* ---- the descriptor ------------------------------------------------------------------------------------------------
 */

static oclattn_status read_tensors(attention_call *call, oclattn_error *error) {
    for (int i = 0; i < TENSORS; ++i) {
        torch_tensor *tensor = &call->tensors[i];
        RETURN_IF_ERROR(tensor_read(call->api, tensor, error));
        if (i > V) {
            continue;
        }
        if (tensor->dim != 4) {
            return refuse(error, OCLATTN_INVALID_ARGUMENT,
                          "%s has %lld dimensions; it is [batch, heads, length, width]", tensor->name,
                          (long long)tensor->dim);
        }
        RETURN_IF_ERROR(tensor_make_rows_contiguous(call->api, tensor, error));
    }
    return OCLATTN_OK;
}

static oclattn_status check_shapes(const attention_call *call, oclattn_error *error) {
    const int64_t *q = call->tensors[Q].sizes, *k = call->tensors[K].sizes, *v = call->tensors[V].sizes;
    if (q[0] == k[0] && q[0] == v[0] && k[1] == v[1] && k[2] == v[2] && q[3] == k[3]) {
        return OCLATTN_OK;
    }
    return refuse(
        error, OCLATTN_INVALID_ARGUMENT,
        "q [%lld, %lld, %lld, %lld], k [%lld, %lld, %lld, %lld] and v [%lld, %lld, %lld, %lld] do not fit: they are "
        "[batch, heads, queries, head_dim], [batch, kv_heads, keys, head_dim], [batch, kv_heads, keys, v_dim]",
        (long long)q[0], (long long)q[1], (long long)q[2], (long long)q[3], (long long)k[0], (long long)k[1],
        (long long)k[2], (long long)k[3], (long long)v[0], (long long)v[1], (long long)v[2], (long long)v[3]);
}

static oclattn_status describe_tensors(attention_call *call, oclattn_error *error) {
    oclattn_attention_desc *desc = &call->desc;
    const torch_tensor *q = &call->tensors[Q], *k = &call->tensors[K], *v = &call->tensors[V];
    RETURN_IF_ERROR(tensor_float_type(call->api, q, &desc->q_type, error));
    RETURN_IF_ERROR(tensor_float_type(call->api, k, &desc->k_type, error));
    RETURN_IF_ERROR(tensor_float_type(call->api, v, &desc->v_type, error));
    desc->o_type = desc->q_type;
    desc->batch = q->sizes[0];
    desc->q_heads = q->sizes[1];
    desc->q_len = q->sizes[2];
    desc->head_dim = q->sizes[3];
    desc->kv_heads = k->sizes[1];
    desc->kv_len = k->sizes[2];
    desc->v_dim = v->sizes[3];
    memcpy(desc->q_strides, q->strides, sizeof(desc->q_strides));
    memcpy(desc->k_strides, k->strides, sizeof(desc->k_strides));
    memcpy(desc->v_strides, v->strides, sizeof(desc->v_strides));
    return OCLATTN_OK;
}

static oclattn_status describe_masks(attention_call *call, oclattn_error *error) {
    oclattn_score_options *score = &call->desc.score;
    const torch_tensor *mask = &call->tensors[MASK], *bias = &call->tensors[BIAS];
    const int64_t wanted[4] = {call->desc.batch, call->desc.q_heads, call->desc.q_len, call->desc.kv_len};
    if (mask->handle != NULL) {
        if (mask->dtype != call->api->aoti_torch_dtype_bool() && mask->dtype != call->api->aoti_torch_dtype_uint8()) {
            return refuse(error, OCLATTN_INVALID_ARGUMENT,
                          "mask must be bool or uint8, where true means attend; numbers to add to scores are the bias");
        }
        score->flags |= OCLATTN_MASK;
        RETURN_IF_ERROR(tensor_broadcast(mask, wanted, score->mask_strides, error));
    }
    if (bias->handle != NULL) {
        score->flags |= OCLATTN_BIAS;
        RETURN_IF_ERROR(tensor_float_type(call->api, bias, &score->bias_type, error));
        RETURN_IF_ERROR(tensor_broadcast(bias, wanted, score->bias_strides, error));
    }
    return OCLATTN_OK;
}

static oclattn_status describe_vectors(attention_call *call, oclattn_error *error) {
    const struct {
        int tensor;
        uint32_t flag;
        bool per_head;
    } vectors[] = {{ALIBI, OCLATTN_ALIBI, true},
                   {SINKS, OCLATTN_SINKS, true},
                   {Q_LENS, OCLATTN_Q_LENS, false},
                   {KV_LENS, OCLATTN_KV_LENS, false},
                   {OFFSETS, 0, false}};
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); ++i) {
        const torch_tensor *tensor = &call->tensors[vectors[i].tensor];
        if (tensor->handle == NULL) {
            continue;
        }
        call->desc.score.flags |= vectors[i].flag;
        RETURN_IF_ERROR(vectors[i].per_head
                            ? tensor_check_vector(tensor, call->desc.q_heads, call->api->aoti_torch_dtype_float32(),
                                                  "float32 per query head", error)
                            : tensor_check_vector(tensor, call->desc.batch, call->api->aoti_torch_dtype_int32(),
                                                  "int32 per batch entry", error));
    }
    return OCLATTN_OK;
}

static oclattn_status describe_numbers(attention_call *call, oclattn_error *error) {
    oclattn_score_options *score = &call->desc.score;
    if (call->align < OCLATTN_ALIGN_UNSET || call->align > OCLATTN_ALIGN_BOTTOM_RIGHT) {
        return refuse(error, OCLATTN_INVALID_ARGUMENT,
                      "align is %lld; it is 0 (unset), 1 (top-left) or 2 (bottom-right), and offsets say others",
                      (long long)call->align);
    }
    score->flags |= call->causal ? OCLATTN_CAUSAL : 0;
    score->align = call->tensors[OFFSETS].handle != NULL ? OCLATTN_ALIGN_OFFSET : (oclattn_alignment)call->align;
    score->window_left = call->window_left;
    score->window_right = call->window_right;
    score->softcap = (float)call->softcap;
    if (call->has_scale) {
        score->flags &= ~OCLATTN_DEFAULT_SCALE;
        score->scale = (float)call->scale;
    }
    return OCLATTN_OK;
}

/* ---- the computation -----------------------------------------------------------------------------------------------
 */

static oclattn_status compute(attention_call *call, oclattn_error *error) {
    const torch_tensor *tensors = call->tensors;
    const int64_t sizes[4] = {call->desc.batch, call->desc.q_heads, call->desc.q_len, call->desc.v_dim};
    RETURN_IF_ERROR(tensor_new(call->api, sizes, tensors[Q].dtype, &call->o, error));
    oclattn_attention_host_args args;
    oclattn_attention_host_args_init(&args);
    args.q = tensors[Q].data;
    args.k = tensors[K].data;
    args.v = tensors[V].data;
    args.o = call->o.data;
    args.score.mask = tensors[MASK].data;
    args.score.bias = tensors[BIAS].data;
    args.score.alibi_slopes = tensors[ALIBI].data;
    args.score.sinks = tensors[SINKS].data;
    args.score.q_lens = tensors[Q_LENS].data;
    args.score.kv_lens = tensors[KV_LENS].data;
    args.score.offsets = tensors[OFFSETS].data;
    RETURN_IF_ERROR(get_context(error));
    return oclattn_attention_host(context, &call->desc, &args, error);
}

static oclattn_status run(attention_call *call, oclattn_error *error) {
    oclattn_attention_desc_init(&call->desc);
    RETURN_IF_ERROR(read_tensors(call, error));
    RETURN_IF_ERROR(check_shapes(call, error));
    RETURN_IF_ERROR(describe_tensors(call, error));
    RETURN_IF_ERROR(describe_masks(call, error));
    RETURN_IF_ERROR(describe_vectors(call, error));
    RETURN_IF_ERROR(describe_numbers(call, error));
    return compute(call, error);
}

void attention_kernel(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    oclattn_error error = {.status = OCLATTN_OK};
    attention_call call = {.api = &the_api};
    the_api.aoti_torch_check(inputs == ARGUMENTS && outputs == 1, __func__, __FILE__, __LINE__,
                             "oclattn::attention was registered with another schema");
    take_arguments(&call, stack);
    const oclattn_status status = run(&call, &error);
    if (status == OCLATTN_OK) {
        atomic_fetch_add(&calls, 1);
        stack[0] = (torch_value)(uintptr_t)call.o.handle;
        call.o.handle = NULL;
    }
    release(&call);
    the_api.aoti_torch_check(status == OCLATTN_OK, __func__, __FILE__, __LINE__, error.message);
}

void attention_set_api(const torch_api *api) {
    the_api = *api;
}

uint64_t attention_calls(void) {
    return atomic_load(&calls);
}
