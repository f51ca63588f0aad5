/* From options and files to a problem: everything that can be wrong with the input is found here. */
#include <string.h>

#include "attention.h"
#include "io/npy.h"

/* The arrays in the library's order: batch, heads, rows, width. */
typedef struct dimensions {
    int64_t batch, heads, rows, width;
} dimensions;

static bool parse_layout(const char *text, bool *rows_first, failure *f) {
    *rows_first = text && strcmp(text, "bshd") == 0;
    if (text && !*rows_first && strcmp(text, "bhsd") != 0) {
        return fail_with(f, EXIT_BAD_INPUT, "--layout must be bhsd or bshd, not '%s'", text);
    }
    return true;
}

static bool load_tensor(const char *label, const char *path, oclattn_type type, bool rows_first, host_array *array,
                        dimensions *d, failure *f) {
    char shape[SHAPE_TEXT_SIZE];
    if (!path) {
        return fail_with(f, EXIT_BAD_INPUT, "%s FILE is needed (a 4-D .npy file); --help explains", label);
    }
    if (!load_floats(label, path, type, array, f)) {
        return false;
    }
    if (array->rank != 4) {
        return fail_with(f, EXIT_BAD_INPUT, "%s %s: its shape is %s; 4 dimensions are needed, %s", label, path,
                         array_shape_text(array, shape),
                         rows_first ? "[batch, rows, heads, width]" : "[batch, heads, rows, width]");
    }
    const int64_t *s = array->shape;
    *d = rows_first ? (dimensions){s[0], s[2], s[1], s[3]} : (dimensions){s[0], s[1], s[2], s[3]};
    return true;
}

static bool expect_shape(const char *label, const char *path, bool rows_first, const dimensions *found,
                         const dimensions *wanted, const char *why, failure *f) {
    char found_text[SHAPE_TEXT_SIZE], wanted_text[SHAPE_TEXT_SIZE];
    if (memcmp(found, wanted, sizeof *found) == 0) {
        return true;
    }
    const int64_t a[4] = {found->batch, rows_first ? found->rows : found->heads,
                          rows_first ? found->heads : found->rows, found->width};
    const int64_t b[4] = {wanted->batch, rows_first ? wanted->rows : wanted->heads,
                          rows_first ? wanted->heads : wanted->rows, wanted->width};
    return fail_with(f, EXIT_BAD_INPUT, "%s %s: its shape is %s; %s is needed, %s", label, path,
                     shape_text(a, 4, found_text), shape_text(b, 4, wanted_text), why);
}

/* ---- packed rows ------------------------------------------------------------------------------------------------ */

static bool check_starts(const char *label, const char *path, int64_t rows, const host_array *starts, int64_t *longest,
                         failure *f) {
    const int32_t *s = starts->data;
    *longest = 0;
    if (starts->count == 0) {
        return fail_with(f, EXIT_BAD_INPUT, "%s %s: batch + 1 numbers are needed, it has none", label, path);
    }
    for (size_t b = 0; b < starts->count; b++) {
        if (s[b] < (b ? s[b - 1] : 0) || s[b] > rows) {
            return fail_with(f, EXIT_BAD_INPUT,
                             "%s %s: number %zu is %d; starts must not fall and lie within 0 and %lld rows", label,
                             path, b, (int)s[b], (long long)rows);
        }
        if (b > 0 && s[b] - s[b - 1] > *longest) {
            *longest = s[b] - s[b - 1];
        }
    }
    return true;
}

/* Replaces batch and rows of packed tensors by those of the sequences in them. */
static bool load_starts(const char *label, const char *path, dimensions *d, host_array *starts, failure *f) {
    int64_t longest = 0;
    if (!path) {
        return true;
    }
    if (d->batch != 1) {
        return fail_with(f, EXIT_BAD_INPUT, "%s %s: packed rows need arrays with a batch of 1, not %lld", label, path,
                         (long long)d->batch);
    }
    if (!load_integers(label, path, -1, false, starts, f) || !check_starts(label, path, d->rows, starts, &longest, f)) {
        return false;
    }
    d->batch = (int64_t)starts->count - 1;
    d->rows = longest;
    return true;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

static bool check_heads(int64_t q_heads, int64_t kv_heads, failure *f) {
    if (q_heads == 0 || kv_heads == 0) {
        return fail_with(f, EXIT_BAD_INPUT,
                         "there are %lld query heads and %lld key/value heads; both must be at least 1",
                         (long long)q_heads, (long long)kv_heads);
    }
    if (q_heads % kv_heads != 0) {
        return fail_with(f, EXIT_BAD_INPUT,
                         "%lld query heads are not a multiple of %lld key/value heads; each of those serves "
                         "the same number of query heads",
                         (long long)q_heads, (long long)kv_heads);
    }
    return true;
}

static bool parse_sizes(const char *text, oclattn_attention_desc *desc, attention_problem *problem, failure *f) {
    int64_t sizes[7];
    if (!parse_integers("--shape (batch, q_heads, kv_heads, q_len, kv_len, head_dim, v_dim)", text, 7, 0, sizes, f)) {
        return false;
    }
    desc->batch = sizes[0];
    desc->q_heads = sizes[1];
    desc->kv_heads = sizes[2];
    desc->q_len = problem->q_rows = sizes[3];
    desc->kv_len = problem->kv_rows = sizes[4];
    desc->head_dim = sizes[5];
    desc->v_dim = sizes[6];
    return true;
}

static bool check_batch_and_width(const attention_options *o, const dimensions *q, const dimensions *k, failure *f) {
    if (q->width != k->width) {
        return fail_with(f, EXIT_BAD_INPUT,
                         "--k %s: its width (last dimension) is %lld; %lld is needed, that of q (%s)", o->k,
                         (long long)k->width, (long long)q->width, o->q);
    }
    if (q->batch != k->batch) {
        return fail_with(f, EXIT_BAD_INPUT, "--k %s: it has %lld batch entries; %lld are needed, as in q (%s)", o->k,
                         (long long)k->batch, (long long)q->batch, o->q);
    }
    return true;
}

static bool load_qkv(const attention_options *o, bool rows_first, attention_problem *problem, failure *f) {
    oclattn_attention_desc *desc = &problem->desc;
    dimensions q, k, v;
    if (!load_tensor("--q", o->q, desc->q_type, rows_first, &problem->q, &q, f) ||
        !load_tensor("--k", o->k, desc->k_type, rows_first, &problem->k, &k, f) ||
        !load_tensor("--v", o->v, desc->v_type, rows_first, &problem->v, &v, f)) {
        return false;
    }
    const dimensions v_wanted = {k.batch, k.heads, k.rows, v.width};
    if (!expect_shape("--v", o->v, rows_first, &v, &v_wanted, "with the batch, heads and rows of k", f)) {
        return false;
    }
    problem->q_rows = q.rows;
    problem->kv_rows = k.rows;
    if (!load_starts("--q-starts", o->q_starts, &q, &problem->score.q_starts, f) ||
        !load_starts("--kv-starts", o->kv_starts, &k, &problem->score.kv_starts, f) ||
        !check_batch_and_width(o, &q, &k, f)) {
        return false;
    }
    desc->batch = q.batch;
    desc->q_heads = q.heads;
    desc->kv_heads = k.heads;
    desc->q_len = q.rows;
    desc->kv_len = k.rows;
    desc->head_dim = q.width;
    desc->v_dim = v.width;
    return true;
}

/* Of [batch, heads, rows, width], or of [batch, rows, heads, width]. */
static bool set_strides(const char *what, bool rows_first, int64_t batch, int64_t heads, int64_t rows, int64_t width,
                        int64_t strides[3], failure *f) {
    size_t count;
    const int64_t shape[4] = {batch, heads, rows, width};
    if (!shape_count(shape, 4, sizeof(double), &count)) {
        return fail_with(f, EXIT_BAD_INPUT, "the sizes of %s overflow", what);
    }
    strides[0] = heads * rows * width;
    strides[1] = rows_first ? width : rows * width;
    strides[2] = rows_first ? heads * width : width;
    return true;
}

static bool set_all_strides(bool rows_first, attention_problem *problem, failure *f) {
    oclattn_attention_desc *d = &problem->desc;
    return set_strides("q", rows_first, d->batch, d->q_heads, problem->q_rows, d->head_dim, d->q_strides, f) &&
           set_strides("k", rows_first, d->batch, d->kv_heads, problem->kv_rows, d->head_dim, d->k_strides, f) &&
           set_strides("v", rows_first, d->batch, d->kv_heads, problem->kv_rows, d->v_dim, d->v_strides, f) &&
           set_strides("the output", rows_first, d->batch, d->q_heads, problem->q_rows, d->v_dim, d->o_strides, f);
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

static bool parse_scores_kind(const attention_options *o, oclattn_attention_desc *desc, failure *f) {
    static const char *const names[] = {"", "scaled", "capped", "biased"};
    if (o->probs && o->scores) {
        return fail_with(f, EXIT_BAD_INPUT, "--probs and --scores are one output: ask for one of them at a time");
    }
    if (o->scores_kind && !o->scores) {
        return fail_with(f, EXIT_BAD_INPUT, "--scores-kind needs --scores");
    }
    desc->scores_kind = o->probs ? OCLATTN_PROBABILITIES : o->scores ? OCLATTN_SCORES_BIASED : OCLATTN_SCORES_NONE;
    for (int kind = 1; o->scores_kind && kind < 4; kind++) {
        if (strcmp(o->scores_kind, names[kind]) == 0) {
            desc->scores_kind = (oclattn_scores_kind)kind;
            return true;
        }
    }
    return !o->scores_kind ? true
                           : fail_with(f, EXIT_BAD_INPUT, "--scores-kind must be scaled, capped or biased, not '%s'",
                                       o->scores_kind);
}

static bool make_results(const attention_options *o, bool rows_first, attention_problem *problem, failure *f) {
    const oclattn_attention_desc *d = &problem->desc;
    result_file *r = problem->results;
    const int64_t batch = o->q_starts ? 1 : d->batch;
    const int64_t o_shape[4] = {batch, rows_first ? problem->q_rows : d->q_heads,
                                rows_first ? d->q_heads : problem->q_rows, d->v_dim};
    const int64_t lse_shape[3] = {batch, d->q_heads, problem->q_rows};
    const int64_t scores_shape[4] = {d->batch, d->q_heads, d->q_len, d->kv_len};
    if (!array_create(&r[RESULT_O].array, array_type_of(d->o_type), 4, o_shape, "the output", f)) {
        return false;
    }
    if (d->want_lse && !array_create(&r[RESULT_LSE].array, ARRAY_F32, 3, lse_shape, "the LSE", f)) {
        return false;
    }
    return d->scores_kind == OCLATTN_SCORES_NONE ||
           array_create(&r[RESULT_SCORES].array, ARRAY_F32, 4, scores_shape, "the scores", f);
}

static void name_results(const attention_options *o, attention_problem *problem) {
    problem->results[RESULT_O].out = (output_file){.label = "--out", .path = o->out};
    problem->results[RESULT_LSE].out = (output_file){.label = "--lse", .path = o->lse};
    problem->results[RESULT_SCORES].out = o->probs ? (output_file){.label = "--probs", .path = o->probs}
                                                   : (output_file){.label = "--scores", .path = o->scores};
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static bool parse_types(const attention_options *o, oclattn_attention_desc *desc, failure *f) {
    oclattn_type type, kv_type;
    if (!parse_type("--dtype", o->common.dtype, OCLATTN_F32, &type, f) ||
        !parse_type("--kv-dtype", o->kv_dtype, type, &kv_type, f)) {
        return false;
    }
    desc->q_type = desc->o_type = type;
    desc->k_type = desc->v_type = kv_type;
    return true;
}

static bool load_sizes(const attention_options *o, bool rows_first, attention_problem *problem, failure *f) {
    problem->has_data = !o->shape;
    if (problem->has_data) {
        return load_qkv(o, rows_first, problem, f);
    }
    if (o->q || o->k || o->v || o->q_starts || o->kv_starts) {
        return fail_with(f, EXIT_BAD_INPUT, "--shape replaces --q, --k and --v: give the one or the others");
    }
    if (!o->common.explain) {
        return fail_with(f, EXIT_BAD_INPUT, "--shape goes with --explain; to compute, give --q, --k and --v");
    }
    return parse_sizes(o->shape, &problem->desc, problem, f);
}

bool attention_load(const attention_options *o, attention_problem *problem, failure *f) {
    oclattn_attention_desc *desc = &problem->desc;
    bool rows_first;
    oclattn_attention_desc_init(desc);
    name_results(o, problem);
    if (!parse_types(o, desc, f) || !parse_layout(o->layout, &rows_first, f) || !parse_scores_kind(o, desc, f) ||
        !score_parse(&o->score, &desc->score, f) || !load_sizes(o, rows_first, problem, f) ||
        !check_heads(desc->q_heads, desc->kv_heads, f) || !set_all_strides(rows_first, problem, f)) {
        return false;
    }
    desc->want_lse = o->lse != NULL;
    desc->kv_chunk = o->kv_chunk;
    desc->variant = o->common.variant;
    if (o->q_starts) {
        desc->score.flags |= OCLATTN_Q_STARTS;
        desc->score.q_rows = problem->q_rows;
    }
    if (o->kv_starts) {
        desc->score.flags |= OCLATTN_KV_STARTS;
        desc->score.kv_rows = problem->kv_rows;
    }
    const score_sizes sizes = {desc->batch, desc->q_heads, desc->q_len, desc->kv_len};
    return score_load(&o->score, &sizes, &desc->score, &problem->score, f) &&
           (!problem->has_data ||
            (results_check(problem->results, RESULT_COUNT, f) && make_results(o, rows_first, problem, f)));
}

void attention_free(attention_problem *problem) {
    array_free(&problem->q);
    array_free(&problem->k);
    array_free(&problem->v);
    score_free(&problem->score);
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        output_discard(&problem->results[i].out);
        array_free(&problem->results[i].array);
    }
}
