/* From options and files to a problem: everything that can be wrong with the input is found here. */
#include <string.h>

#include "io/safetensors.h"
#include "mha.h"

/* Larger sizes are mistakes, and products of two of these cannot overflow. */
#define MOST_SIZE INT32_MAX

static const char *const weight_names[WEIGHT_COUNT] = {"W_q", "W_k", "W_v", "W_head"};
static const char *const bias_names[WEIGHT_COUNT] = {"b_q", "b_k", "b_v", "b_head"};
static const uint32_t bias_flags[WEIGHT_COUNT] = {OCLATTN_MHA_B_Q, OCLATTN_MHA_B_K, OCLATTN_MHA_B_V,
                                                  OCLATTN_MHA_B_HEAD};

/* ---- heads ------------------------------------------------------------------------------------------------------ */

static bool check_sizes(const mha_options *o, failure *f) {
    const struct {
        const char *label;
        int64_t value;
    } all[] = {{"--heads", o->heads}, {"--kv-heads", o->kv_heads}, {"--head-dim", o->head_dim},
               {"--v-dim", o->v_dim}, {"--d-model", o->d_model},   {"--batch", o->batch},
               {"--q-len", o->q_len}, {"--kv-len", o->kv_len}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].value > MOST_SIZE) {
            return fail_with(f, EXIT_BAD_INPUT, "%s is %lld; at most %lld is supported", all[i].label,
                             (long long)all[i].value, (long long)MOST_SIZE);
        }
    }
    return o->heads > 0 ? true
                        : fail_with(f, EXIT_BAD_INPUT, "--heads N is needed, at least 1: d_model = heads x head_dim");
}

static bool set_heads(const mha_options *o, oclattn_mha_desc *d, failure *f) {
    const int64_t heads = o->heads;
    if (d->d_model == 0) {
        return fail_with(f, EXIT_BAD_INPUT, "d_model, the width of the input, must be at least 1");
    }
    d->n_heads = heads;
    d->n_kv_heads = o->kv_heads ? o->kv_heads : heads;
    if (heads % d->n_kv_heads != 0) {
        return fail_with(f, EXIT_BAD_INPUT,
                         "%lld heads are not a multiple of %lld key/value heads (--kv-heads); each of those "
                         "serves the same number of heads",
                         (long long)heads, (long long)d->n_kv_heads);
    }
    if (!o->head_dim && d->d_model % heads != 0) {
        const int64_t below = d->d_model / heads;
        return fail_with(
            f, EXIT_BAD_INPUT,
            "d_model %lld is not divisible by %lld heads: d_model = heads x head_dim, so %lld heads fit %lld "
            "(head_dim %lld); or give --head-dim",
            (long long)d->d_model, (long long)heads, (long long)heads, (long long)(heads * (below ? below : 1)),
            (long long)(below ? below : 1));
    }
    d->head_dim = o->head_dim ? o->head_dim : d->d_model / heads;
    d->v_dim = o->v_dim ? o->v_dim : d->head_dim;
    return true;
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

static void weight_shape(const oclattn_mha_desc *d, int which, int64_t shape[2]) {
    const int64_t in[WEIGHT_COUNT] = {d->d_model, d->kv_width, d->kv_width, d->n_heads * d->v_dim};
    const int64_t out[WEIGHT_COUNT] = {d->n_heads * d->head_dim, d->n_kv_heads * d->head_dim, d->n_kv_heads * d->v_dim,
                                       d->d_model};
    const bool out_in = (d->flags & OCLATTN_MHA_WEIGHTS_OUT_IN) != 0;
    shape[0] = out_in ? out[which] : in[which];
    shape[1] = out_in ? in[which] : out[which];
}

static bool misfit(const mha_options *o, const oclattn_mha_desc *d, const char *name, const host_array *found,
                   const int64_t *wanted, int rank, int which, failure *f) {
    char found_text[SHAPE_TEXT_SIZE], wanted_text[SHAPE_TEXT_SIZE], why[200];
    const bool values = which == WEIGHT_V || which == WEIGHT_HEAD;
    const int64_t heads = which == WEIGHT_K || which == WEIGHT_V ? d->n_kv_heads : d->n_heads;
    const int64_t width = values ? d->v_dim : d->head_dim;
    const size_t used =
        (size_t)snprintf(why, sizeof why, "%lld %sheads of %lld need %lld", (long long)heads,
                         heads == d->n_heads ? "" : "key/value ", (long long)width, (long long)(heads * width));
    if (o->head_dim && d->d_model % d->n_heads == 0 && d->head_dim != d->d_model / d->n_heads) {
        snprintf(why + used, sizeof why - used, "; d_model = heads x head_dim makes one head %lld wide",
                 (long long)(d->d_model / d->n_heads));
    }
    return fail_with(f, EXIT_BAD_INPUT, "--weights %s: %s is %s, expected %s (%s, %s)", o->weights, name,
                     array_shape_text(found, found_text), shape_text(wanted, rank, wanted_text),
                     d->flags & OCLATTN_MHA_WEIGHTS_OUT_IN ? "[out, in]" : "[in, out]", why);
}

static bool read_as(safetensors *file, const char *name, array_type type, host_array *array, failure *f) {
    host_array raw;
    if (!safetensors_read(file, name, &raw, f)) {
        return false;
    }
    const bool good = array_convert(&raw, type, array, name, f);
    array_free(&raw);
    return good;
}

static bool load_weight(const mha_options *o, safetensors *file, mha_problem *p, int which, failure *f) {
    int64_t wanted[2];
    host_array *w = &p->w[which];
    if (!read_as(file, weight_names[which], array_type_of(p->desc.w_type), w, f)) {
        return false;
    }
    weight_shape(&p->desc, which, wanted);
    if (w->rank != 2 || w->shape[0] != wanted[0] || w->shape[1] != wanted[1]) {
        return misfit(o, &p->desc, weight_names[which], w, wanted, 2, which, f);
    }
    return true;
}

static bool load_bias(const mha_options *o, safetensors *file, mha_problem *p, int which, failure *f) {
    int64_t shape[2];
    host_array *b = &p->b[which];
    if (!safetensors_has(file, bias_names[which])) {
        return true;
    }
    if (!read_as(file, bias_names[which], array_type_of(p->desc.w_type), b, f)) {
        return false;
    }
    weight_shape(&p->desc, which, shape);
    const int64_t out = p->desc.flags & OCLATTN_MHA_WEIGHTS_OUT_IN ? shape[0] : shape[1];
    if (b->rank != 1 || b->shape[0] != out) {
        return misfit(o, &p->desc, bias_names[which], b, &out, 1, which, f);
    }
    p->desc.flags |= bias_flags[which];
    return true;
}

/* ---- inputs ----------------------------------------------------------------------------------------------------- */

static bool check_input(const char *label, const char *path, const host_array *x, failure *f) {
    char shape[SHAPE_TEXT_SIZE];
    if (x->rank != 2 && x->rank != 3) {
        return fail_with(f, EXIT_BAD_INPUT, "%s %s: its shape is %s; [rows, width] or [batch, rows, width] is needed",
                         label, path, array_shape_text(x, shape));
    }
    for (int d = 0; d < x->rank; d++) {
        if (x->shape[d] > MOST_SIZE) {
            return fail_with(f, EXIT_BAD_INPUT, "%s %s: its shape %s is too large", label, path,
                             array_shape_text(x, shape));
        }
    }
    return true;
}

static bool load_input(const mha_options *o, safetensors *file, mha_problem *p, failure *f) {
    if (o->input) {
        return load_floats("--input", o->input, p->desc.x_type, &p->x, f) && check_input("--input", o->input, &p->x, f);
    }
    if (!safetensors_has(file, "H")) {
        return fail_with(f, EXIT_BAD_INPUT, "--input FILE is needed: %s has no tensor named H", o->weights);
    }
    return read_as(file, "H", array_type_of(p->desc.x_type), &p->x, f) &&
           check_input("tensor H of", o->weights, &p->x, f);
}

static bool load_kv_input(const mha_options *o, mha_problem *p, failure *f) {
    if (!o->kv_input) {
        return true;
    }
    if (!load_floats("--kv-input", o->kv_input, p->desc.x_type, &p->kv, f) ||
        !check_input("--kv-input", o->kv_input, &p->kv, f)) {
        return false;
    }
    const int64_t batch = p->kv.rank == 3 ? p->kv.shape[0] : 1;
    if (batch != p->desc.batch) {
        return fail_with(f, EXIT_BAD_INPUT, "--kv-input %s: it has a batch of %lld; the input has %lld", o->kv_input,
                         (long long)batch, (long long)p->desc.batch);
    }
    p->cross = true;
    p->desc.flags |= OCLATTN_MHA_CROSS;
    p->desc.kv_len = p->kv.shape[p->kv.rank - 2];
    p->desc.kv_width = p->kv.shape[p->kv.rank - 1];
    return p->desc.kv_width > 0
               ? true
               : fail_with(f, EXIT_BAD_INPUT, "--kv-input %s: its width must be at least 1", o->kv_input);
}

static void take_input_sizes(mha_problem *p) {
    const int64_t *shape = p->x.shape + p->x.rank - 2;
    p->batched = p->x.rank == 3;
    p->desc.batch = p->batched ? p->x.shape[0] : 1;
    p->desc.q_len = shape[0];
    p->desc.d_model = p->desc.kv_width = shape[1];
}

static bool load_expected(const mha_options *o, safetensors *file, mha_problem *p, failure *f) {
    char found[SHAPE_TEXT_SIZE], wanted[SHAPE_TEXT_SIZE];
    if (!o->expect) {
        return true;
    }
    if (!read_as(file, o->expect, ARRAY_F64, &p->expected, f)) {
        return false;
    }
    if (p->expected.rank != p->x.rank ||
        memcmp(p->expected.shape, p->x.shape, (size_t)p->x.rank * sizeof p->x.shape[0]) != 0) {
        return fail_with(f, EXIT_BAD_INPUT, "--weights %s: %s is %s, but F(H) is %s", o->weights, o->expect,
                         array_shape_text(&p->expected, found), array_shape_text(&p->x, wanted));
    }
    return true;
}

static bool load_files(const mha_options *o, mha_problem *p, failure *f) {
    if (o->d_model || o->batch || o->q_len || o->kv_len) {
        return fail_with(f, EXIT_BAD_INPUT,
                         "--d-model, --batch, --q-len and --kv-len stand in for files: they go with --explain "
                         "and without --weights");
    }
    safetensors *file = safetensors_open("--weights", o->weights, f);
    if (!file) {
        return false;
    }
    bool good = load_input(o, file, p, f);
    if (good) {
        take_input_sizes(p);
        good = load_kv_input(o, p, f) && set_heads(o, &p->desc, f);
    }
    for (int which = 0; good && which < WEIGHT_COUNT; which++) {
        good = load_weight(o, file, p, which, f) && load_bias(o, file, p, which, f);
    }
    good = good && load_expected(o, file, p, f);
    safetensors_close(file);
    return good;
}

/* ---- sizes alone ------------------------------------------------------------------------------------------------ */

static bool take_sizes(const mha_options *o, mha_problem *p, failure *f) {
    if (!o->common.explain) {
        return fail_with(f, EXIT_BAD_INPUT, "--weights FILE is needed (.safetensors); --help explains");
    }
    if (o->input || o->kv_input || o->expect) {
        return fail_with(f, EXIT_BAD_INPUT, "--input, --kv-input and --expect need --weights");
    }
    if (!o->d_model) {
        return fail_with(f, EXIT_BAD_INPUT, "--explain needs --weights FILE, or --d-model N for sizes alone");
    }
    p->desc.d_model = p->desc.kv_width = o->d_model;
    p->desc.batch = o->batch ? o->batch : 1;
    p->desc.q_len = o->q_len ? o->q_len : 128;
    p->batched = o->batch != 0;
    if (o->kv_len) {
        p->cross = true;
        p->desc.flags |= OCLATTN_MHA_CROSS;
        p->desc.kv_len = o->kv_len;
    }
    return set_heads(o, &p->desc, f);
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static bool parse_weights_layout(const char *text, oclattn_mha_desc *d, failure *f) {
    if (!text || strcmp(text, "in-out") == 0) {
        return true;
    }
    d->flags |= OCLATTN_MHA_WEIGHTS_OUT_IN;
    return strcmp(text, "out-in") == 0
               ? true
               : fail_with(f, EXIT_BAD_INPUT, "--weights-layout must be in-out or out-in, not '%s'", text);
}

static bool parse_words(const mha_options *o, oclattn_mha_desc *d, failure *f) {
    oclattn_type type;
    if (!check_sizes(o, f) || !parse_type("--dtype", o->common.dtype, OCLATTN_F32, &type, f)) {
        return false;
    }
    d->x_type = d->w_type = d->y_type = type;
    d->projection_variant = o->projection;
    d->attention_variant = o->common.variant;
    d->flags |= o->split_merge ? OCLATTN_MHA_SPLIT_MERGE : 0;
    return parse_weights_layout(o->weights_layout, d, f) && score_parse(&o->score, &d->score, f);
}

bool mha_load(const mha_options *o, mha_problem *p, failure *f) {
    oclattn_mha_desc *d = &p->desc;
    oclattn_mha_desc_init(d);
    p->result.out = (output_file){.label = "--out", .path = o->out};
    p->has_data = o->weights != NULL;
    if (!parse_words(o, d, f) || !(p->has_data ? load_files(o, p, f) : take_sizes(o, p, f))) {
        return false;
    }
    const score_sizes sizes = {d->batch, d->n_heads, d->q_len, p->cross ? d->kv_len : d->q_len};
    return score_load(&o->score, &sizes, &d->score, &p->score, f) &&
           (!p->has_data || (results_check(&p->result, 1, f) && array_create(&p->result.array, array_type_of(d->y_type),
                                                                             p->x.rank, p->x.shape, "F(H)", f)));
}

void mha_free(mha_problem *p) {
    for (int which = 0; which < WEIGHT_COUNT; which++) {
        array_free(&p->w[which]);
        array_free(&p->b[which]);
    }
    array_free(&p->x);
    array_free(&p->kv);
    array_free(&p->expected);
    array_free(&p->result.array);
    output_discard(&p->result.out);
    score_free(&p->score);
}
