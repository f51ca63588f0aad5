#include "problems.h"

#include <string.h>

#include "plan/variant.h"
#include "recording.h"

/* The main switches: what a variant may compile for, and the shapes that make the chooser take another one. */
typedef struct switches {
    const char *name;
    uint32_t flags;
    int64_t q_len, kv_len, kv_heads, window_left;
    float softcap;
    oclattn_scores_kind scores;
} switches;

#define EVERYTHING                                                                                                     \
    (OCLATTN_CAUSAL | OCLATTN_MASK | OCLATTN_BIAS | OCLATTN_BIAS_SCALE | OCLATTN_ALIBI | OCLATTN_SINKS |               \
     OCLATTN_Q_LENS | OCLATTN_KV_LENS)

static const switches all_switches[] = {
    {.name = "plain", .q_len = 1024, .kv_len = 1024, .kv_heads = 8, .window_left = -1},
    {.name = "causal", .flags = OCLATTN_CAUSAL, .q_len = 1024, .kv_len = 1024, .kv_heads = 8, .window_left = -1},
    {.name = "mask", .flags = OCLATTN_MASK, .q_len = 1024, .kv_len = 1024, .kv_heads = 8, .window_left = -1},
    {.name = "bias", .flags = OCLATTN_BIAS, .q_len = 1024, .kv_len = 1024, .kv_heads = 8, .window_left = -1},
    {.name = "full",
     .flags = EVERYTHING,
     .q_len = 1024,
     .kv_len = 1024,
     .kv_heads = 8,
     .window_left = 511,
     .softcap = 30.0f},
    {.name = "decode", .q_len = 1, .kv_len = 4096, .kv_heads = 8, .window_left = -1},
    {.name = "decode-gqa", .q_len = 1, .kv_len = 4096, .kv_heads = 2, .window_left = -1},
    {.name = "scores",
     .q_len = 1024,
     .kv_len = 1024,
     .kv_heads = 8,
     .window_left = -1,
     .scores = OCLATTN_PROBABILITIES},
};

static const struct {
    const char *name;
    oclattn_type q, kv, o;
} types[] = {{"f32", OCLATTN_F32, OCLATTN_F32, OCLATTN_F32},
             {"f16", OCLATTN_F16, OCLATTN_F16, OCLATTN_F16},
             {"bf16", OCLATTN_BF16, OCLATTN_BF16, OCLATTN_BF16}};

static const int64_t head_dims[] = {64, 128, 256};

enum {
    SWITCHES = sizeof all_switches / sizeof all_switches[0],
    TYPES = sizeof types / sizeof types[0],
    HEAD_DIMS = sizeof head_dims / sizeof head_dims[0]
};

/* What the planned problem is called in the report. */
typedef struct label {
    const char *type, *switches;
    int64_t head_dim;
    bool by_default;
} label;

static void take_recorded(json_t *kernels, const label *of) {
    json_t *taken = recording_take();
    for (size_t i = 0; i < json_array_size(taken); ++i) {
        json_t *kernel = json_array_get(taken, i);
        json_object_set_new(kernel, "type", json_string(of->type));
        json_object_set_new(kernel, "head_dim", json_integer(of->head_dim));
        json_object_set_new(kernel, "switches", json_string(of->switches));
        json_object_set_new(kernel, "by_default", json_boolean(of->by_default));
        json_array_append(kernels, kernel);
    }
    json_decref(taken);
}

/* What a plan by name refuses is another variant's work. */
static oclattn_status finish_plan(oclattn_status status, oclattn_plan *const *plan, json_t *kernels, const label *of) {
    if (status == OCLATTN_OK) {
        oclattn_plan_destroy(*plan);
        take_recorded(kernels, of);
    }
    return status == OCLATTN_UNSUPPORTED && !of->by_default ? OCLATTN_OK : status;
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

static oclattn_attention_desc attention_desc(size_t type, size_t head_dim, const switches *with, const char *wanted) {
    oclattn_attention_desc desc;
    oclattn_attention_desc_init(&desc);
    desc.q_type = types[type].q;
    desc.k_type = desc.v_type = types[type].kv;
    desc.o_type = types[type].o;
    desc.batch = 1;
    desc.q_heads = 8;
    desc.kv_heads = with->kv_heads;
    desc.q_len = with->q_len;
    desc.kv_len = with->kv_len;
    desc.head_dim = desc.v_dim = head_dims[head_dim];
    desc.scores_kind = with->scores;
    desc.variant = wanted;
    desc.score.flags |= with->flags;
    desc.score.align = OCLATTN_ALIGN_BOTTOM_RIGHT;
    desc.score.softcap = with->softcap;
    desc.score.window_left = with->window_left;
    return desc;
}

static oclattn_status plan_attention(oclattn_context *context, const char *wanted, json_t *kernels,
                                     oclattn_error *error) {
    for (size_t i = 0; i < (size_t)TYPES * HEAD_DIMS * SWITCHES; ++i) {
        const size_t type = i / (HEAD_DIMS * SWITCHES);
        const size_t head_dim = i / SWITCHES % HEAD_DIMS;
        const switches *with = &all_switches[i % SWITCHES];
        const oclattn_attention_desc desc = attention_desc(type, head_dim, with, wanted);
        const label of = {types[type].name, with->name, head_dims[head_dim], wanted == NULL};
        oclattn_plan *plan = NULL;
        const oclattn_status status = oclattn_attention_plan(context, &desc, &plan, error);
        RETURN_IF_ERROR(finish_plan(status, &plan, kernels, &of));
    }
    return OCLATTN_OK;
}

/* ---- the rest, which compiles the same for all types ------------------------------------------------------------ */

static const label for_all = {"any", "plain", 0, true};

static oclattn_status plan_projection(oclattn_context *context, const char *wanted, json_t *kernels,
                                      oclattn_error *error) {
    oclattn_projection_desc desc;
    oclattn_projection_desc_init(&desc);
    desc.batch = 1;
    desc.rows = 1024;
    desc.in_dim = desc.out_dim = 768;
    desc.variant = wanted;
    oclattn_plan *plan = NULL;
    return finish_plan(oclattn_projection_plan(context, &desc, &plan, error), &plan, kernels, &for_all);
}

static oclattn_status plan_heads(oclattn_context *context, json_t *kernels, oclattn_error *error) {
    oclattn_heads_desc desc;
    oclattn_heads_desc_init(&desc);
    desc.batch = 1;
    desc.rows = 1024;
    desc.heads = 8;
    desc.head_dim = 64;
    oclattn_plan *plan = NULL;
    RETURN_IF_ERROR(finish_plan(oclattn_split_plan(context, &desc, &plan, error), &plan, kernels, &for_all));
    return finish_plan(oclattn_merge_plan(context, &desc, &plan, error), &plan, kernels, &for_all);
}

static oclattn_status plan_merge_states(oclattn_context *context, json_t *kernels, oclattn_error *error) {
    oclattn_merge_states_desc desc;
    oclattn_merge_states_desc_init(&desc);
    desc.rows = 1024;
    desc.v_dim = 64;
    oclattn_plan *plan = NULL;
    return finish_plan(oclattn_merge_states_plan(context, &desc, &plan, error), &plan, kernels, &for_all);
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

static bool ends_in(const char *name, const char *end) {
    const size_t length = strlen(name), end_length = strlen(end);
    return length >= end_length && strcmp(name + length - end_length, end) == 0;
}

typedef oclattn_status (*plan_function)(oclattn_context *context, const char *wanted, json_t *kernels,
                                        oclattn_error *error);

static oclattn_status plan_variants(oclattn_context *context, plan_kind operation, plan_function plan, json_t *kernels,
                                    oclattn_error *error) {
    const char *name;
    for (size_t i = 0; (name = variant_name(operation, i)) != NULL; ++i) {
        if (!ends_in(name, "_cpu")) {
            RETURN_IF_ERROR(plan(context, name, kernels, error));
        }
    }
    return OCLATTN_OK;
}

oclattn_status problems_plan(oclattn_context *context, json_t *kernels, oclattn_error *error) {
    RETURN_IF_ERROR(plan_attention(context, NULL, kernels, error));
    RETURN_IF_ERROR(plan_variants(context, PLAN_ATTENTION, plan_attention, kernels, error));
    RETURN_IF_ERROR(plan_variants(context, PLAN_PROJECTION, plan_projection, kernels, error));
    RETURN_IF_ERROR(plan_heads(context, kernels, error));
    return plan_merge_states(context, kernels, error);
}
