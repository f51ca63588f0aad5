/* Runs every kernel with every switch on shapes that fit no tile, for a checker that watches the kernels (oclgrind). It
 * judges only whether calls succeed: results are held to the reference elsewhere, on devices that are faster.
 * Usage: switches list, or switches NAME */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oclattn/oclattn.h>

enum { BATCH = 2, Q_HEADS = 4, KV_HEADS = 2, Q_LEN = 4, KV_LEN = 19, HEAD_DIM = 7, V_DIM = 10, ELEMENTS = 1 << 14 };

/* Inputs are read-only by contract, so one array serves them all. */
static float noise_f32[ELEMENTS];
static uint16_t noise_f16[ELEMENTS], noise_bf16[ELEMENTS];
static uint8_t mask[ELEMENTS];
static float output[ELEMENTS], lse[ELEMENTS], scores[ELEMENTS];
static const int32_t lengths_q[BATCH] = {5, 2}, lengths_kv[BATCH] = {19, 3}, offsets[BATCH] = {-2, 9};
static const int32_t starts_q[BATCH + 1] = {0, 5, 7}, starts_kv[BATCH + 1] = {0, 19, 22};

typedef struct attention_call {
    oclattn_attention_desc desc;
    oclattn_attention_host_args args;
} attention_call;

static void fill_inputs(void) {
    uint32_t state = 12345;
    for (size_t i = 0; i < ELEMENTS; i++) {
        state = state * 1664525u + 1013904223u;
        const uint32_t bits = state >> 20;
        noise_f32[i] = (float)bits / 2048.0f - 1.0f;
        noise_f16[i] = (uint16_t)(0x3800u + (bits & 0x83ffu)); /* 0.5 to 1 */
        noise_bf16[i] = (uint16_t)(0x3f00u + (bits & 0x807fu));
        mask[i] = (uint8_t)(bits & 1u);
    }
}

static const void *noise(oclattn_type type) {
    return type == OCLATTN_F32 ? (const void *)noise_f32 : type == OCLATTN_F16 ? noise_f16 : noise_bf16;
}

static void set_types(attention_call *call, oclattn_type q, oclattn_type kv, oclattn_type o) {
    call->desc.q_type = q;
    call->desc.k_type = call->desc.v_type = kv;
    call->desc.o_type = o;
    call->args.q = noise(q);
    call->args.k = call->args.v = noise(kv);
}

static void attention_call_init(attention_call *call) {
    oclattn_attention_desc_init(&call->desc);
    oclattn_attention_host_args_init(&call->args);
    oclattn_attention_desc *const desc = &call->desc;
    desc->batch = BATCH;
    desc->q_heads = Q_HEADS;
    desc->kv_heads = KV_HEADS;
    desc->q_len = Q_LEN;
    desc->kv_len = KV_LEN;
    desc->head_dim = HEAD_DIM;
    desc->v_dim = V_DIM;
    set_types(call, OCLATTN_F32, OCLATTN_F32, OCLATTN_F32);
    call->args.o = output;
}

/* ---- one switch each -------------------------------------------------------------------------------------------- */

static void plain(attention_call *call) {
    (void)call;
}
static void f16(attention_call *call) {
    set_types(call, OCLATTN_F16, OCLATTN_F16, OCLATTN_F16);
}
static void bf16(attention_call *call) {
    set_types(call, OCLATTN_BF16, OCLATTN_BF16, OCLATTN_BF16);
}
static void f32_over_f16(attention_call *call) {
    set_types(call, OCLATTN_F32, OCLATTN_F16, OCLATTN_F32);
}

static void own_scale(attention_call *call) {
    call->desc.score.flags &= ~OCLATTN_DEFAULT_SCALE;
    call->desc.score.scale = -0.5f;
}

static void softcap(attention_call *call) {
    call->desc.score.softcap = 2.0f;
}

static void mask_full(attention_call *call) {
    call->desc.score.flags |= OCLATTN_MASK;
    call->args.score.mask = mask;
}

static void mask_broadcast(attention_call *call) {
    mask_full(call);
    const int64_t strides[4] = {KV_LEN, 0, 0, 1};
    memcpy(call->desc.score.mask_strides, strides, sizeof strides);
}

static void mask_short(attention_call *call) {
    mask_full(call);
    call->desc.score.mask_kv_len = KV_LEN - 3;
}

static void add_bias(attention_call *call, oclattn_type type) {
    call->desc.score.flags |= OCLATTN_BIAS;
    call->desc.score.bias_type = type;
    call->args.score.bias = noise(type);
}

static void bias_f32(attention_call *call) {
    add_bias(call, OCLATTN_F32);
}
static void bias_f16(attention_call *call) {
    add_bias(call, OCLATTN_F16);
}
static void bias_bf16(attention_call *call) {
    add_bias(call, OCLATTN_BF16);
}

static void bias_scale(attention_call *call) {
    bias_f32(call);
    call->desc.score.flags |= OCLATTN_BIAS_SCALE;
    call->args.score.bias_scale = noise_f32;
}

static void bias_short(attention_call *call) {
    bias_f32(call);
    call->desc.score.bias_kv_len = KV_LEN - 3;
}

static void causal(attention_call *call, oclattn_alignment align) {
    call->desc.score.flags |= OCLATTN_CAUSAL;
    call->desc.score.align = align;
    call->args.score.offsets = align == OCLATTN_ALIGN_OFFSET ? offsets : NULL;
}

static void causal_top_left(attention_call *call) {
    causal(call, OCLATTN_ALIGN_TOP_LEFT);
}
static void causal_bottom_right(attention_call *call) {
    causal(call, OCLATTN_ALIGN_BOTTOM_RIGHT);
}
static void causal_offset(attention_call *call) {
    causal(call, OCLATTN_ALIGN_OFFSET);
}

static void window(attention_call *call) {
    call->desc.score.window_left = 3;
    call->desc.score.window_right = 2;
    call->desc.score.align = OCLATTN_ALIGN_BOTTOM_RIGHT;
}

static void alibi(attention_call *call) {
    call->desc.score.flags |= OCLATTN_ALIBI;
    call->desc.score.align = OCLATTN_ALIGN_BOTTOM_RIGHT;
    call->args.score.alibi_slopes = noise_f32;
}

static void sinks(attention_call *call) {
    call->desc.score.flags |= OCLATTN_SINKS;
    call->args.score.sinks = noise_f32;
}

static void q_lens(attention_call *call) {
    call->desc.score.flags |= OCLATTN_Q_LENS;
    call->args.score.q_lens = lengths_q;
}

static void kv_lens(attention_call *call) {
    call->desc.score.flags |= OCLATTN_KV_LENS;
    call->args.score.kv_lens = lengths_kv;
}

static void starts(attention_call *call) {
    call->desc.score.flags |= OCLATTN_Q_STARTS | OCLATTN_KV_STARTS;
    call->desc.score.q_rows = starts_q[BATCH];
    call->desc.score.kv_rows = starts_kv[BATCH];
    call->args.score.q_starts = starts_q;
    call->args.score.kv_starts = starts_kv;
}

static void want_lse(attention_call *call) {
    call->desc.want_lse = 1;
    call->args.lse = lse;
}

static void want_scores(attention_call *call, oclattn_scores_kind kind) {
    call->desc.scores_kind = kind;
    call->args.scores = scores;
}

static void scores_scaled(attention_call *call) {
    want_scores(call, OCLATTN_SCORES_SCALED);
}
static void scores_capped(attention_call *call) {
    want_scores(call, OCLATTN_SCORES_CAPPED);
}
static void scores_biased(attention_call *call) {
    want_scores(call, OCLATTN_SCORES_BIASED);
}
static void probabilities(attention_call *call) {
    want_scores(call, OCLATTN_PROBABILITIES);
}
static void chunks(attention_call *call) {
    call->desc.kv_chunk = 8;
}
static void no_keys(attention_call *call) {
    call->desc.kv_len = 0;
}

static void bshd(attention_call *call) {
    const int64_t q[3] = {Q_LEN * Q_HEADS * HEAD_DIM, HEAD_DIM, Q_HEADS * HEAD_DIM};
    const int64_t k[3] = {KV_LEN * KV_HEADS * HEAD_DIM, HEAD_DIM, KV_HEADS * HEAD_DIM};
    const int64_t v[3] = {KV_LEN * KV_HEADS * V_DIM, V_DIM, KV_HEADS * V_DIM};
    const int64_t o[3] = {Q_LEN * Q_HEADS * V_DIM, V_DIM, Q_HEADS * V_DIM};
    memcpy(call->desc.q_strides, q, sizeof q);
    memcpy(call->desc.k_strides, k, sizeof k);
    memcpy(call->desc.v_strides, v, sizeof v);
    memcpy(call->desc.o_strides, o, sizeof o);
}

static void one_by_one(attention_call *call) {
    call->desc.q_len = call->desc.kv_len = call->desc.head_dim = call->desc.v_dim = 1;
}

static void wide(attention_call *call) {
    call->desc.batch = 1;
    call->desc.q_heads = call->desc.kv_heads = 1;
    call->desc.q_len = 3;
    call->desc.head_dim = 200;
    call->desc.v_dim = 136;
}

static void many_tiles(attention_call *call) {
    call->desc.batch = 1;
    call->desc.q_heads = call->desc.kv_heads = 1;
    call->desc.q_len = 70;
    call->desc.kv_len = 131;
}

static void all_at_once(attention_call *call) {
    f32_over_f16(call);
    own_scale(call);
    softcap(call);
    mask_full(call);
    bias_scale(call);
    alibi(call);
    window(call);
    causal_offset(call);
    sinks(call);
    q_lens(call);
    kv_lens(call);
    want_lse(call);
}

static void all_in_chunks(attention_call *call) {
    all_at_once(call);
    chunks(call);
}

typedef struct attention_case {
    const char *name;
    void (*apply)(attention_call *call);
} attention_case;

#define CASE(function)                                                                                                 \
    { #function, function }
static const attention_case attention_cases[] = {
    CASE(plain),
    CASE(f16),
    CASE(bf16),
    CASE(f32_over_f16),
    CASE(own_scale),
    CASE(softcap),
    CASE(mask_full),
    CASE(mask_broadcast),
    CASE(mask_short),
    CASE(bias_f32),
    CASE(bias_f16),
    CASE(bias_bf16),
    CASE(bias_scale),
    CASE(bias_short),
    CASE(causal_top_left),
    CASE(causal_bottom_right),
    CASE(causal_offset),
    CASE(window),
    CASE(alibi),
    CASE(sinks),
    CASE(q_lens),
    CASE(kv_lens),
    CASE(starts),
    CASE(want_lse),
    CASE(scores_scaled),
    CASE(scores_capped),
    CASE(scores_biased),
    CASE(probabilities),
    CASE(chunks),
    CASE(no_keys),
    CASE(bshd),
    CASE(one_by_one),
    CASE(wide),
    CASE(many_tiles),
    CASE(all_at_once),
    CASE(all_in_chunks),
};
enum { ATTENTION_CASES = sizeof attention_cases / sizeof attention_cases[0] };

/* Variants are run one by one. All but the portable ones may decline, and say why. */
static oclattn_status unless_declined(oclattn_status status, const char *variant, const oclattn_error *error) {
    const int may_decline = strstr(variant, "portable") == NULL;
    printf("%s: %s\n", variant, status == OCLATTN_OK ? "ran" : error->message);
    return status == OCLATTN_UNSUPPORTED && may_decline ? OCLATTN_OK : status;
}

static oclattn_status run_attention(oclattn_context *context, const attention_case *chosen, const char *variant,
                                    oclattn_error *error) {
    attention_call call;
    attention_call_init(&call);
    chosen->apply(&call);
    call.desc.variant = variant;
    return unless_declined(oclattn_attention_host(context, &call.desc, &call.args, error), variant, error);
}

static oclattn_status run_attention_variants(oclattn_context *context, const attention_case *chosen,
                                             oclattn_error *error) {
    static const char *const variants[] = {"attention_portable", "attention_tiled_cpu", "attention_tiled_gpu",
                                           "attention_few_rows_cpu"};
    oclattn_status status = OCLATTN_OK;
    for (size_t i = 0; i < sizeof variants / sizeof *variants && status == OCLATTN_OK; ++i) {
        status = run_attention(context, chosen, variants[i], error);
    }
    return status;
}

/* ---- F(H): projections, split and merge ------------------------------------------------------------------------- */

typedef struct mha_case {
    const char *name;
    uint32_t flags;
    oclattn_type type;
} mha_case;

#define ALL_BIASES (OCLATTN_MHA_B_Q | OCLATTN_MHA_B_K | OCLATTN_MHA_B_V | OCLATTN_MHA_B_HEAD)
static const mha_case mha_cases[] = {
    {"mha_plain", 0, OCLATTN_F32},
    {"mha_biases", ALL_BIASES, OCLATTN_F32},
    {"mha_cross", OCLATTN_MHA_CROSS, OCLATTN_F32},
    {"mha_out_in", OCLATTN_MHA_WEIGHTS_OUT_IN | ALL_BIASES, OCLATTN_F32},
    {"mha_split_merge", OCLATTN_MHA_SPLIT_MERGE, OCLATTN_F32},
    {"mha_f16", OCLATTN_MHA_SPLIT_MERGE | ALL_BIASES, OCLATTN_F16},
    {"mha_bf16", OCLATTN_MHA_WEIGHTS_OUT_IN | ALL_BIASES, OCLATTN_BF16},
};
enum { MHA_CASES = sizeof mha_cases / sizeof mha_cases[0] };

static oclattn_status run_mha(oclattn_context *context, const mha_case *chosen, const char *projection_variant,
                              oclattn_error *error) {
    const int cross = (chosen->flags & OCLATTN_MHA_CROSS) != 0;
    oclattn_mha_desc desc;
    oclattn_mha_desc_init(&desc);
    desc.flags = chosen->flags;
    desc.x_type = desc.w_type = desc.y_type = chosen->type;
    desc.batch = BATCH;
    desc.q_len = Q_LEN;
    desc.kv_len = cross ? KV_LEN : -1;
    desc.kv_width = cross ? 9 : 0;
    desc.d_model = Q_HEADS * HEAD_DIM;
    desc.n_heads = Q_HEADS;
    desc.n_kv_heads = KV_HEADS;
    desc.projection_variant = projection_variant;
    oclattn_mha_host_args args;
    oclattn_mha_host_args_init(&args);
    const void *const data = noise(chosen->type);
    args.x = args.w_q = args.w_k = args.w_v = args.w_head = data;
    args.kv = cross ? data : NULL;
    args.b_q = (chosen->flags & OCLATTN_MHA_B_Q) != 0 ? data : NULL;
    args.b_k = (chosen->flags & OCLATTN_MHA_B_K) != 0 ? data : NULL;
    args.b_v = (chosen->flags & OCLATTN_MHA_B_V) != 0 ? data : NULL;
    args.b_head = (chosen->flags & OCLATTN_MHA_B_HEAD) != 0 ? data : NULL;
    args.y = output;
    return unless_declined(oclattn_mha_host(context, &desc, &args, error), projection_variant, error);
}

static oclattn_status run_mha_variants(oclattn_context *context, const mha_case *chosen, oclattn_error *error) {
    const oclattn_status status = run_mha(context, chosen, "projection_portable", error);
    return status == OCLATTN_OK ? run_mha(context, chosen, "projection_tiled_cpu", error) : status;
}

/* ---- merge_states ----------------------------------------------------------------------------------------------- */

static oclattn_status run_merge_states(oclattn_context *context, oclattn_error *error) {
    oclattn_merge_states_desc desc;
    oclattn_merge_states_desc_init(&desc);
    desc.rows = 11;
    desc.v_dim = V_DIM;
    oclattn_plan *plan = NULL;
    oclattn_status status = oclattn_merge_states_plan(context, &desc, &plan, error);
    if (status != OCLATTN_OK) {
        return status;
    }
    const size_t bytes[6] = {11 * V_DIM * 4, 11 * 4, 11 * V_DIM * 4, 11 * 4, 11 * V_DIM * 4, 11 * 4};
    cl_mem buffers[6];
    cl_int code = CL_SUCCESS;
    for (int i = 0; i < 6; i++) {
        buffers[i] = clCreateBuffer(oclattn_context_cl(context), CL_MEM_COPY_HOST_PTR, bytes[i], noise_f32, &code);
    }
    const cl_device_id device = oclattn_context_device(context);
    const cl_command_queue queue = clCreateCommandQueue(oclattn_context_cl(context), device, 0, &code);
    oclattn_merge_states_args args;
    oclattn_merge_states_args_init(&args);
    oclattn_tensor *const tensors[6] = {&args.o1, &args.lse1, &args.o2, &args.lse2, &args.o, &args.lse};
    for (int i = 0; i < 6; i++) {
        tensors[i]->buffer = buffers[i];
    }
    status = oclattn_merge_states_enqueue(plan, queue, &args, 0, NULL, NULL, error);
    clFinish(queue);
    clReleaseCommandQueue(queue);
    for (int i = 0; i < 6; i++) {
        clReleaseMemObject(buffers[i]);
    }
    oclattn_plan_destroy(plan);
    return status;
}

/* ---- command line ----------------------------------------------------------------------------------------------- */

static void list_cases(void) {
    for (int i = 0; i < ATTENTION_CASES; i++) {
        puts(attention_cases[i].name);
    }
    for (int i = 0; i < MHA_CASES; i++) {
        puts(mha_cases[i].name);
    }
    puts("merge_states");
}

static oclattn_status run_named(oclattn_context *context, const char *name, oclattn_error *error) {
    for (int i = 0; i < ATTENTION_CASES; i++) {
        if (strcmp(name, attention_cases[i].name) == 0) {
            return run_attention_variants(context, &attention_cases[i], error);
        }
    }
    for (int i = 0; i < MHA_CASES; i++) {
        if (strcmp(name, mha_cases[i].name) == 0) {
            return run_mha_variants(context, &mha_cases[i], error);
        }
    }
    if (strcmp(name, "merge_states") == 0) {
        return run_merge_states(context, error);
    }
    snprintf(error->message, sizeof error->message, "no such case");
    return OCLATTN_INVALID_ARGUMENT;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: switches list | NAME\n");
        return 2;
    }
    if (strcmp(argv[1], "list") == 0) {
        list_cases();
        return 0;
    }
    fill_inputs();
    oclattn_error error = {0};
    oclattn_context *context = NULL;
    oclattn_status status = oclattn_context_create(NULL, &context, &error);
    if (status == OCLATTN_OK) {
        status = run_named(context, argv[1], &error);
    }
    oclattn_context_destroy(context);
    if (status != OCLATTN_OK) {
        fprintf(stderr, "%s: %s: %s\n", argv[1], oclattn_status_string(status), error.message);
        return 1;
    }
    return 0;
}
