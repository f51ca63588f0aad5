#include "score.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/npy.h"

#define FIELD(name) offsetof(score_options, name)

static const option_spec score_specs[] = {
    {"scale", "X", OPTION_TEXT, FIELD(scale), "factor of q.k (default 1/sqrt(head_dim)); 0 and below are fine"},
    {"softcap", "X", OPTION_TEXT, FIELD(softcap), "scores become X tanh(score / X); 0: off"},
    {"mask", "FILE", OPTION_TEXT, FIELD(mask),
     "bool or uint8, true = attend; broadcast to [batch, heads, q_len, kv_len]"},
    {"bias", "FILE", OPTION_TEXT, FIELD(bias), "floats added to the scores, -inf = hidden; broadcast alike"},
    {"bias-scale", "FILE", OPTION_TEXT, FIELD(bias_scale), "floats [heads]: factor of the bias, per head"},
    {"causal", NULL, OPTION_FLAG, FIELD(causal), "hide key j from query i if j > i + offset; see --align"},
    {"window", "L,R", OPTION_TEXT, FIELD(window), "hide keys more than L before or R after i + offset; -1: no bound"},
    {"align", "WHERE", OPTION_TEXT, FIELD(align),
     "the offset: top-left (0), bottom-right (kv_len - q_len), N, or FILE [batch]"},
    {"alibi", "FILE|auto", OPTION_TEXT, FIELD(alibi),
     "slopes [heads]: -slope |i + offset - j|; auto: the standard ones"},
    {"sinks", "FILE", OPTION_TEXT, FIELD(sinks), "floats [heads]: one extra logit in each softmax's denominator"},
    {"q-lens", "FILE", OPTION_TEXT, FIELD(q_lens), "integers [batch]: rows from there on are 0"},
    {"kv-lens", "FILE", OPTION_TEXT, FIELD(kv_lens), "integers [batch]: keys from there on are hidden"},
};

option_group score_option_group(score_options *options) {
    return (option_group){"Scores", score_specs, sizeof score_specs / sizeof score_specs[0], options};
}

/* ---- numbers and words ------------------------------------------------------------------------------------------ */

static bool parse_softcap(const char *text, oclattn_score_options *score, failure *f) {
    if (!text) {
        return true;
    }
    if (!parse_float("--softcap", text, &score->softcap, f)) {
        return false;
    }
    return score->softcap >= 0 ? true : fail_with(f, EXIT_BAD_INPUT, "--softcap must be 0 or more, not '%s'", text);
}

static bool parse_align(const char *text, oclattn_score_options *score) {
    if (!text) {
        return true;
    }
    if (strcmp(text, "top-left") == 0) {
        score->align = OCLATTN_ALIGN_TOP_LEFT;
    } else if (strcmp(text, "bottom-right") == 0) {
        score->align = OCLATTN_ALIGN_BOTTOM_RIGHT;
    } else {
        score->align = OCLATTN_ALIGN_OFFSET;
    }
    return true;
}

static bool parse_window(const char *text, oclattn_score_options *score, failure *f) {
    int64_t sides[2];
    if (!text) {
        return true;
    }
    if (!parse_integers("--window", text, 2, -1, sides, f)) {
        return false;
    }
    score->window_left = sides[0];
    score->window_right = sides[1];
    return true;
}

bool score_parse(const score_options *options, oclattn_score_options *score, failure *f) {
    if (options->scale) {
        score->flags &= ~OCLATTN_DEFAULT_SCALE;
        if (!parse_float("--scale", options->scale, &score->scale, f)) {
            return false;
        }
    }
    if (options->bias_scale && !options->bias) {
        return fail_with(f, EXIT_BAD_INPUT, "--bias-scale needs --bias");
    }
    score->flags |= options->causal ? OCLATTN_CAUSAL : 0;
    return parse_softcap(options->softcap, score, f) && parse_align(options->align, score) &&
           parse_window(options->window, score, f);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

bool load_integers(const char *label, const char *path, int64_t count, bool clamp, host_array *array, failure *f) {
    host_array raw;
    char shape[SHAPE_TEXT_SIZE];
    if (!npy_read(label, path, &raw, f)) {
        return false;
    }
    bool good = true;
    if (raw.type != ARRAY_I32 && raw.type != ARRAY_I64) {
        good = fail_with(f, EXIT_BAD_INPUT, "%s %s: it holds %s; int32 or int64 is needed", label, path,
                         array_type_name(raw.type));
    } else if (raw.rank != 1 || (count >= 0 && raw.shape[0] != count)) {
        good = count >= 0 ? fail_with(f, EXIT_BAD_INPUT, "%s %s: its shape is %s; [%lld] is needed", label, path,
                                      array_shape_text(&raw, shape), (long long)count)
                          : fail_with(f, EXIT_BAD_INPUT, "%s %s: its shape is %s; one dimension is needed", label, path,
                                      array_shape_text(&raw, shape));
    }
    good = good && array_create(array, ARRAY_I32, 1, raw.shape, label, f);
    for (size_t i = 0; good && i < raw.count; i++) {
        const int64_t value = raw.type == ARRAY_I32 ? ((const int32_t *)raw.data)[i] : ((const int64_t *)raw.data)[i];
        if (!clamp && (value < INT32_MIN || value > INT32_MAX)) {
            good = fail_with(f, EXIT_BAD_INPUT, "%s %s: %lld does not fit into int32", label, path, (long long)value);
        }
        ((int32_t *)array->data)[i] = (int32_t)(value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value);
    }
    array_free(&raw);
    return good;
}

static bool load_head_floats(const char *label, const char *path, int64_t heads, host_array *array, failure *f) {
    char shape[SHAPE_TEXT_SIZE];
    if (!load_floats(label, path, OCLATTN_F32, array, f)) {
        return false;
    }
    if (array->rank != 1 || array->shape[0] != heads) {
        return fail_with(f, EXIT_BAD_INPUT, "%s %s: its shape is %s; one number per query head is needed, [%lld]",
                         label, path, array_shape_text(array, shape), (long long)heads);
    }
    return true;
}

/* numpy's rule, with one addition: a last dimension shorter than kv_len, but not 1, hides the keys beyond it. */
static bool broadcast(const char *label, const char *path, const host_array *array, const score_sizes *sizes,
                      int64_t strides[4], int64_t *kv_len, failure *f) {
    const int64_t full[4] = {sizes->batch, sizes->heads, sizes->q_len, sizes->kv_len};
    char found[SHAPE_TEXT_SIZE], wanted[SHAPE_TEXT_SIZE];
    int64_t stride = 1;
    bool good = array->rank <= 4;
    for (int d = 3; good && d >= 0; d--) {
        const int dimension = d - (4 - array->rank);
        const int64_t size = dimension >= 0 ? array->shape[dimension] : 1;
        good = size == full[d] || size == 1 || (d == 3 && size < full[3]);
        strides[d] = size == 1 ? 0 : stride;
        stride *= size;
        if (d == 3) {
            *kv_len = size == 1 ? full[3] : size;
        }
    }
    return good ? true
                : fail_with(f, EXIT_BAD_INPUT,
                            "%s %s: its shape is %s, which does not broadcast to [batch, heads, q_len, kv_len] = %s",
                            label, path, array_shape_text(array, found), shape_text(full, 4, wanted));
}

static bool load_mask(const char *path, const score_sizes *sizes, oclattn_score_options *score, host_array *mask,
                      failure *f) {
    if (!path) {
        return true;
    }
    if (!npy_read("--mask", path, mask, f)) {
        return false;
    }
    if (mask->type != ARRAY_BOOL && mask->type != ARRAY_U8) {
        return fail_with(f, EXIT_BAD_INPUT, "--mask %s: it holds %s; bool or uint8 is needed (floats go to --bias)",
                         path, array_type_name(mask->type));
    }
    score->flags |= OCLATTN_MASK;
    return broadcast("--mask", path, mask, sizes, score->mask_strides, &score->mask_kv_len, f);
}

/* A finite float64 beyond float32 stays finite: it is a number, and -inf would hide the key. */
static void bias_to_f32(host_array *wide) {
    const double *from = wide->data;
    for (size_t i = 0; i < wide->count; i++) {
        if (isfinite(from[i])) {
            ((double *)wide->data)[i] = fmin(fmax(from[i], -(double)FLT_MAX), (double)FLT_MAX);
        }
    }
}

static bool load_bias(const char *path, const score_sizes *sizes, oclattn_score_options *score, host_array *bias,
                      failure *f) {
    host_array raw;
    if (!path) {
        return true;
    }
    if (!npy_read("--bias", path, &raw, f)) {
        return false;
    }
    bool good = array_type_is_float(raw.type);
    if (!good) {
        fail_with(f, EXIT_BAD_INPUT, "--bias %s: it holds %s; float16, float32 or float64 is needed%s", path,
                  array_type_name(raw.type), raw.type == ARRAY_BOOL ? " (booleans go to --mask)" : "");
    }
    if (raw.type == ARRAY_F64) {
        bias_to_f32(&raw);
    }
    score->flags |= OCLATTN_BIAS;
    score->bias_type = raw.type == ARRAY_F16 ? OCLATTN_F16 : OCLATTN_F32;
    good = good && broadcast("--bias", path, &raw, sizes, score->bias_strides, &score->bias_kv_len, f) &&
           array_convert(&raw, array_type_of(score->bias_type), bias, "--bias", f);
    array_free(&raw);
    return good;
}

static bool load_slopes(const char *alibi, int64_t heads, oclattn_score_options *score, host_array *slopes,
                        failure *f) {
    if (!alibi) {
        return true;
    }
    score->flags |= OCLATTN_ALIBI;
    if (strcmp(alibi, "auto") != 0) {
        return load_head_floats("--alibi", alibi, heads, slopes, f);
    }
    if (!array_create(slopes, ARRAY_F32, 1, &heads, "--alibi", f)) {
        return false;
    }
    oclattn_alibi_slopes(heads, slopes->data);
    return true;
}

static bool load_offsets(const char *align, int64_t batch, const oclattn_score_options *score, host_array *offsets,
                         failure *f) {
    int64_t offset = 0;
    if (score->align != OCLATTN_ALIGN_OFFSET) {
        return true;
    }
    if (!is_integer(align)) {
        return load_integers("--align", align, batch, false, offsets, f);
    }
    if (!parse_integer("--align", align, INT32_MIN, INT32_MAX, &offset, f) ||
        !array_create(offsets, ARRAY_I32, 1, &batch, "--align", f)) {
        return false;
    }
    for (int64_t b = 0; b < batch; b++) {
        ((int32_t *)offsets->data)[b] = (int32_t)offset;
    }
    return true;
}

static bool load_lens(const char *label, const char *path, int64_t batch, uint32_t flag, oclattn_score_options *score,
                      host_array *lens, failure *f) {
    score->flags |= path ? flag : 0;
    return !path || load_integers(label, path, batch, true, lens, f);
}

static bool load_optional_head_floats(const char *label, const char *path, int64_t heads, uint32_t flag,
                                      oclattn_score_options *score, host_array *array, failure *f) {
    score->flags |= path ? flag : 0;
    return !path || load_head_floats(label, path, heads, array, f);
}

bool score_load(const score_options *options, const score_sizes *sizes, oclattn_score_options *score, score_data *data,
                failure *f) {
    return load_mask(options->mask, sizes, score, &data->mask, f) &&
           load_bias(options->bias, sizes, score, &data->bias, f) &&
           load_optional_head_floats("--bias-scale", options->bias_scale, sizes->heads, OCLATTN_BIAS_SCALE, score,
                                     &data->bias_scale, f) &&
           load_slopes(options->alibi, sizes->heads, score, &data->alibi_slopes, f) &&
           load_optional_head_floats("--sinks", options->sinks, sizes->heads, OCLATTN_SINKS, score, &data->sinks, f) &&
           load_lens("--q-lens", options->q_lens, sizes->batch, OCLATTN_Q_LENS, score, &data->q_lens, f) &&
           load_lens("--kv-lens", options->kv_lens, sizes->batch, OCLATTN_KV_LENS, score, &data->kv_lens, f) &&
           load_offsets(options->align, sizes->batch, score, &data->offsets, f);
}

void score_free(score_data *data) {
    array_free(&data->mask);
    array_free(&data->bias);
    array_free(&data->bias_scale);
    array_free(&data->alibi_slopes);
    array_free(&data->sinks);
    array_free(&data->q_lens);
    array_free(&data->kv_lens);
    array_free(&data->q_starts);
    array_free(&data->kv_starts);
    array_free(&data->offsets);
}
