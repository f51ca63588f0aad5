#include "attention_problem.h"

#include <assert.h>
#include <math.h>

#include "check.h"

enum { LARGEST_HEAD = 1024 };

/* A window at least this wide has no bound: positions cannot differ by as much. */
#define UNBOUNDED_WINDOW (LARGEST_SIZE * 4)

static const uint32_t known_flags = OCLATTN_DEFAULT_SCALE | OCLATTN_CAUSAL | OCLATTN_MASK | OCLATTN_BIAS |
                                    OCLATTN_BIAS_SCALE | OCLATTN_ALIBI | OCLATTN_SINKS | OCLATTN_Q_LENS |
                                    OCLATTN_KV_LENS | OCLATTN_Q_STARTS | OCLATTN_KV_STARTS | OCLATTN_RUNTIME_LENGTHS;

static_assert(OCLATTN_CAUSAL == USES_CAUSAL && OCLATTN_MASK == USES_MASK && OCLATTN_BIAS == USES_BIAS &&
                  OCLATTN_BIAS_SCALE == USES_BIAS_SCALE && OCLATTN_ALIBI == USES_ALIBI && OCLATTN_SINKS == USES_SINKS &&
                  OCLATTN_Q_LENS == USES_Q_LENS && OCLATTN_KV_LENS == USES_KV_LENS &&
                  OCLATTN_Q_STARTS == USES_Q_STARTS && OCLATTN_KV_STARTS == USES_KV_STARTS,
              "kernels know the public flags by the same bits");
static_assert((int)OCLATTN_ALIGN_BOTTOM_RIGHT == ALIGN_BOTTOM_RIGHT && (int)OCLATTN_ALIGN_OFFSET == ALIGN_OFFSET &&
                  (int)OCLATTN_SCORES_SCALED == SCORES_SCALED && (int)OCLATTN_SCORES_CAPPED == SCORES_CAPPED &&
                  (int)OCLATTN_SCORES_BIASED == SCORES_BIASED,
              "kernels know the public enums by the same values");

static bool has(const oclattn_score_options *options, uint32_t flag) {
    return (options->flags & flag) != 0;
}

static oclattn_status check_numbers(const oclattn_score_options *options, oclattn_error *error) {
    if (!has(options, OCLATTN_DEFAULT_SCALE) && !isfinite(options->scale)) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "scale is %f; it must be a finite number",
                         (double)options->scale);
    }
    if (!isfinite(options->softcap) || options->softcap < 0.0f) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "softcap is %f; it must be positive, or 0 for none",
                         (double)options->softcap);
    }
    RETURN_IF_ERROR(check_size("window_left", options->window_left, -1, INT64_MAX, error));
    RETURN_IF_ERROR(check_size("window_right", options->window_right, -1, INT64_MAX, error));
    RETURN_IF_ERROR(check_size("mask_kv_len", options->mask_kv_len, -1, LARGEST_SIZE, error));
    return check_size("bias_kv_len", options->bias_kv_len, -1, LARGEST_SIZE, error);
}

static oclattn_status check_packing(const char *rows_name, int64_t rows, bool packed, oclattn_error *error) {
    if (!packed && rows != 0) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "%s is %lld, but the flag for packed rows is not set",
                         rows_name, (long long)rows);
    }
    return check_size(rows_name, rows, 0, LARGEST_SIZE, error);
}

oclattn_status score_options_check(const oclattn_score_options *options, oclattn_error *error) {
    RETURN_IF_ERROR(check_flags("score.flags", options->flags, known_flags, error));
    RETURN_IF_ERROR(check_reserved(options->reserved, sizeof(options->reserved) / sizeof(options->reserved[0]), error));
    if (options->reserved_type != 0) {
        return error_set(error, OCLATTN_UNSUPPORTED, "reserved_type is set: this library does not know its meaning");
    }
    if (options->align < OCLATTN_ALIGN_UNSET || options->align > OCLATTN_ALIGN_OFFSET) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "align is %d: unknown", (int)options->align);
    }
    RETURN_IF_ERROR(check_numbers(options, error));
    if (has(options, OCLATTN_BIAS)) {
        RETURN_IF_ERROR(check_type("bias_type", options->bias_type, error));
    } else if (has(options, OCLATTN_BIAS_SCALE)) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "OCLATTN_BIAS_SCALE is set without OCLATTN_BIAS");
    }
    RETURN_IF_ERROR(check_packing("q_rows", options->q_rows, has(options, OCLATTN_Q_STARTS), error));
    return check_packing("kv_rows", options->kv_rows, has(options, OCLATTN_KV_STARTS), error);
}

static oclattn_status check_sizes(const oclattn_attention_desc *desc, oclattn_error *error) {
    RETURN_IF_ERROR(check_size("batch", desc->batch, 0, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("q_heads", desc->q_heads, 1, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("kv_heads", desc->kv_heads, 1, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("q_len", desc->q_len, 0, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("kv_len", desc->kv_len, 0, LARGEST_SIZE, error));
    RETURN_IF_ERROR(check_size("head_dim", desc->head_dim, 1, LARGEST_HEAD, error));
    RETURN_IF_ERROR(check_size("v_dim", desc->v_dim, 1, LARGEST_HEAD, error));
    RETURN_IF_ERROR(check_size("kv_chunk", desc->kv_chunk, 0, INT64_MAX, error));
    if (desc->q_heads % desc->kv_heads != 0) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT,
                         "q_heads (%lld) is not a multiple of kv_heads (%lld): each KV head serves as many query heads",
                         (long long)desc->q_heads, (long long)desc->kv_heads);
    }
    const int64_t rows = multiply_sizes(multiply_sizes(desc->batch, desc->q_heads), desc->q_len);
    if (multiply_sizes(rows, LARGEST_HEAD) > TENSOR_LARGEST || multiply_sizes(rows, desc->kv_len) > TENSOR_LARGEST) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "batch * q_heads * q_len is %lld: too many rows to count",
                         (long long)rows);
    }
    return OCLATTN_OK;
}

static oclattn_status check_types(const oclattn_attention_desc *desc, oclattn_error *error) {
    RETURN_IF_ERROR(check_type("q_type", desc->q_type, error));
    RETURN_IF_ERROR(check_type("k_type", desc->k_type, error));
    RETURN_IF_ERROR(check_type("v_type", desc->v_type, error));
    return check_type("o_type", desc->o_type, error);
}

static oclattn_status check_outputs(const oclattn_attention_desc *desc, oclattn_error *error) {
    RETURN_IF_ERROR(check_size("want_lse", desc->want_lse, 0, 1, error));
    if (desc->scores_kind < OCLATTN_SCORES_NONE || desc->scores_kind > OCLATTN_PROBABILITIES) {
        return error_set(error, OCLATTN_INVALID_ARGUMENT, "scores_kind is %d: unknown", (int)desc->scores_kind);
    }
    return OCLATTN_OK;
}

/* Nothing is guessed: where a row stands among the keys must be said, unless there is only one way to see it. */
static oclattn_status check_alignment(const oclattn_attention_desc *desc, oclattn_error *error) {
    const oclattn_score_options *options = &desc->score;
    const bool windowed = options->window_left >= 0 || options->window_right >= 0;
    const bool asks = windowed || has(options, OCLATTN_CAUSAL) || has(options, OCLATTN_ALIBI);
    const bool varies =
        has(options, OCLATTN_RUNTIME_LENGTHS | OCLATTN_Q_LENS | OCLATTN_KV_LENS | OCLATTN_Q_STARTS | OCLATTN_KV_STARTS);
    if (!asks || options->align != OCLATTN_ALIGN_UNSET || (!varies && desc->q_len == desc->kv_len)) {
        return OCLATTN_OK;
    }
    return error_set(error, OCLATTN_INVALID_ARGUMENT,
                     "align is not set: %s needs to know where query row 0 stands among the keys, and q_len (%lld) and "
                     "kv_len (%lld) are not %s; set it to top-left, bottom-right or an offset",
                     has(options, OCLATTN_CAUSAL) ? "causal"
                     : windowed                   ? "a window"
                                                  : "ALiBi",
                     (long long)desc->q_len, (long long)desc->kv_len, varies ? "both fixed" : "equal");
}

static tensor_spec heads_spec(const char *name, oclattn_type type, int64_t heads, int64_t width) {
    return (tensor_spec){.name = name,
                         .used = true,
                         .element_bytes = oclattn_type_bytes(type),
                         .rank = 3,
                         .dims = {0, heads, 0},
                         .width = width};
}

static tensor_spec vector_spec(const char *name, bool used, size_t element_bytes, int64_t length) {
    return (tensor_spec){.name = name,
                         .used = used,
                         .element_bytes = element_bytes,
                         .rank = 1,
                         .dims = {length},
                         .strides = {1},
                         .width = 1};
}

static void make_strided_specs(attention_problem *problem) {
    const oclattn_attention_desc *desc = &problem->desc;
    tensor_spec *specs = problem->specs;
    specs[ATTENTION_Q] = heads_spec("q", desc->q_type, desc->q_heads, desc->head_dim);
    specs[ATTENTION_K] = heads_spec("k", desc->k_type, desc->kv_heads, desc->head_dim);
    specs[ATTENTION_V] = heads_spec("v", desc->v_type, desc->kv_heads, desc->v_dim);
    specs[ATTENTION_O] = heads_spec("o", desc->o_type, desc->q_heads, desc->v_dim);
    specs[ATTENTION_O].output = true;
    specs[ATTENTION_LSE] = heads_spec("lse", OCLATTN_F32, desc->q_heads, 1);
    specs[ATTENTION_LSE].used = desc->want_lse == 1;
    specs[ATTENTION_LSE].output = true;
    specs[ATTENTION_SCORES] = heads_spec("scores", OCLATTN_F32, desc->q_heads, 0);
    specs[ATTENTION_SCORES].used = desc->scores_kind != OCLATTN_SCORES_NONE;
    specs[ATTENTION_SCORES].output = true;
    specs[ATTENTION_MASK] = (tensor_spec){.name = "mask",
                                          .used = has(&desc->score, OCLATTN_MASK),
                                          .element_bytes = 1,
                                          .rank = 4,
                                          .dims = {desc->batch, desc->q_heads},
                                          .width = 1};
    specs[ATTENTION_BIAS] = specs[ATTENTION_MASK];
    specs[ATTENTION_BIAS].name = "bias";
    specs[ATTENTION_BIAS].used = has(&desc->score, OCLATTN_BIAS);
    specs[ATTENTION_BIAS].element_bytes =
        specs[ATTENTION_BIAS].used ? oclattn_type_bytes(desc->score.bias_type) : sizeof(float);
}

static void make_vector_specs(attention_problem *problem) {
    const oclattn_attention_desc *desc = &problem->desc;
    const oclattn_score_options *options = &desc->score;
    tensor_spec *specs = problem->specs;
    specs[ATTENTION_BIAS_SCALE] =
        vector_spec("bias_scale", has(options, OCLATTN_BIAS_SCALE), sizeof(float), desc->q_heads);
    specs[ATTENTION_SLOPES] = vector_spec("alibi_slopes", has(options, OCLATTN_ALIBI), sizeof(float), desc->q_heads);
    specs[ATTENTION_SINKS] = vector_spec("sinks", has(options, OCLATTN_SINKS), sizeof(float), desc->q_heads);
    specs[ATTENTION_Q_LENS] = vector_spec("q_lens", has(options, OCLATTN_Q_LENS), sizeof(int32_t), desc->batch);
    specs[ATTENTION_KV_LENS] = vector_spec("kv_lens", has(options, OCLATTN_KV_LENS), sizeof(int32_t), desc->batch);
    specs[ATTENTION_Q_STARTS] =
        vector_spec("q_starts", has(options, OCLATTN_Q_STARTS), sizeof(int32_t), desc->batch + 1);
    specs[ATTENTION_KV_STARTS] =
        vector_spec("kv_starts", has(options, OCLATTN_KV_STARTS), sizeof(int32_t), desc->batch + 1);
    specs[ATTENTION_OFFSETS] =
        vector_spec("offsets", options->align == OCLATTN_ALIGN_OFFSET, sizeof(int32_t), desc->batch);
}

/* A packed tensor has rows of its own number, and no batch dimension. */
static void set_rows(tensor_spec *spec, bool packed, int64_t packed_rows, int64_t batch, int64_t length) {
    spec->dims[0] = packed ? 1 : batch;
    spec->dims[2] = packed ? packed_rows : length;
}

void attention_problem_set_lengths(attention_problem *problem, int64_t q_len, int64_t kv_len) {
    const oclattn_attention_desc *desc = &problem->desc;
    const oclattn_score_options *options = &desc->score;
    const bool q_packed = has(options, OCLATTN_Q_STARTS);
    const bool kv_packed = has(options, OCLATTN_KV_STARTS);
    tensor_spec *specs = problem->specs;
    problem->q_len = q_len;
    problem->kv_len = kv_len;
    set_rows(&specs[ATTENTION_Q], q_packed, options->q_rows, desc->batch, q_len);
    set_rows(&specs[ATTENTION_O], q_packed, options->q_rows, desc->batch, q_len);
    set_rows(&specs[ATTENTION_LSE], q_packed, options->q_rows, desc->batch, q_len);
    set_rows(&specs[ATTENTION_K], kv_packed, options->kv_rows, desc->batch, kv_len);
    set_rows(&specs[ATTENTION_V], kv_packed, options->kv_rows, desc->batch, kv_len);
    set_rows(&specs[ATTENTION_SCORES], false, 0, desc->batch, q_len);
    specs[ATTENTION_SCORES].width = kv_len;
    specs[ATTENTION_MASK].dims[2] = q_len;
    specs[ATTENTION_BIAS].dims[2] = q_len;
    specs[ATTENTION_MASK].dims[3] = options->mask_kv_len < 0 ? kv_len : options->mask_kv_len;
    specs[ATTENTION_BIAS].dims[3] = options->bias_kv_len < 0 ? kv_len : options->bias_kv_len;
}

static oclattn_status set_strides(attention_problem *problem, oclattn_error *error) {
    const oclattn_attention_desc *desc = &problem->desc;
    tensor_spec *specs = problem->specs;
    const int64_t *const strides[ATTENTION_STRIDED] = {[ATTENTION_Q] = desc->q_strides,
                                                       [ATTENTION_K] = desc->k_strides,
                                                       [ATTENTION_V] = desc->v_strides,
                                                       [ATTENTION_O] = desc->o_strides,
                                                       [ATTENTION_LSE] = desc->lse_strides,
                                                       [ATTENTION_SCORES] = desc->scores_strides,
                                                       [ATTENTION_MASK] = desc->score.mask_strides,
                                                       [ATTENTION_BIAS] = desc->score.bias_strides};
    for (int t = 0; t < ATTENTION_STRIDED; ++t) {
        if (specs[t].used) {
            RETURN_IF_ERROR(tensor_spec_set_strides(&specs[t], strides[t], error));
        }
    }
    return OCLATTN_OK;
}

oclattn_status attention_problem_make(const oclattn_attention_desc *desc, attention_problem *problem,
                                      oclattn_error *error) {
    RETURN_IF_ERROR(check_types(desc, error));
    RETURN_IF_ERROR(check_sizes(desc, error));
    RETURN_IF_ERROR(check_outputs(desc, error));
    RETURN_IF_ERROR(score_options_check(&desc->score, error));
    RETURN_IF_ERROR(check_alignment(desc, error));
    *problem = (attention_problem){.desc = *desc};
    make_strided_specs(problem);
    make_vector_specs(problem);
    attention_problem_set_lengths(problem, desc->q_len, desc->kv_len);
    return set_strides(problem, error);
}

int64_t attention_rows(const attention_problem *problem) {
    return problem->desc.batch * problem->desc.q_heads * problem->q_len;
}

static int window_features(const oclattn_score_options *options) {
    const bool left = options->window_left >= 0 && options->window_left < UNBOUNDED_WINDOW;
    const bool right = options->window_right >= 0 && options->window_right < UNBOUNDED_WINDOW;
    return (left ? USES_WINDOW_LEFT : 0) | (right ? USES_WINDOW_RIGHT : 0);
}

void attention_problem_params(const attention_problem *problem, attention_params *params) {
    const oclattn_attention_desc *desc = &problem->desc;
    const oclattn_score_options *options = &desc->score;
    const float default_scale = (float)(1.0 / sqrt((double)desc->head_dim));
    *params = (attention_params){
        .batch = desc->batch,
        .q_heads = desc->q_heads,
        .kv_heads = desc->kv_heads,
        .q_len = problem->q_len,
        .kv_len = problem->kv_len,
        .q_rows = options->q_rows,
        .kv_rows = options->kv_rows,
        .mask_kv_len = problem->specs[ATTENTION_MASK].dims[3],
        .bias_kv_len = problem->specs[ATTENTION_BIAS].dims[3],
        .window_left = options->window_left,
        .window_right = options->window_right,
        .scale = has(options, OCLATTN_DEFAULT_SCALE) ? default_scale : options->scale,
        .softcap = options->softcap,
        .features = (int)options->flags | window_features(options) | (options->softcap > 0.0f ? USES_SOFTCAP : 0) |
                    (desc->want_lse ? USES_LSE : 0),
        .align = (int)options->align,
        .head_dim = (int)desc->head_dim,
        .v_dim = (int)desc->v_dim,
        .q_type = (int)desc->q_type,
        .o_type = (int)desc->o_type,
        .bias_type = (int)options->bias_type,
        .scores_kind = (int)desc->scores_kind,
    };
    for (int t = 0; t < ATTENTION_STRIDED; ++t) {
        for (int d = 0; d < problem->specs[t].rank; ++d) {
            params->strides[t][d] = problem->specs[t].strides[d];
        }
    }
}
