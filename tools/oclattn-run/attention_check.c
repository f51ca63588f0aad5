/* The float64 reference over one head and a block of its query rows at a time: it needs little memory, and a terminal
 * can be told how far it is. */
#include <math.h>
#include <stdlib.h>

#include "attention.h"
#include "progress.h"

#define MOST_SCORES_AT_ONCE 2000000

typedef struct checker {
    const attention_problem *problem;
    reference_attention whole; /* the scoring options of the problem */
    score_doubles doubles;
    int64_t block; /* rows at once */
    double *q, *k, *v, *o, *lse, *scores, *biased;
    comparison *comparisons;
} checker;

/* One head of one batch entry. */
typedef struct head {
    int64_t b, h, kv_h;
    int64_t q_start, kv_start;   /* rows before it, where rows are packed */
    int64_t q_stored, kv_stored; /* rows that it has in memory */
    int64_t offset;              /* offset_b of the contract */
    int32_t q_len, kv_len;       /* lengths that count */
    double v_max;                /* largest finite |v| among the keys that count */
} head;

static int64_t packed_length(const host_array *starts, int64_t b, int64_t planned, int64_t *start) {
    const int32_t *s = starts->data;
    *start = s ? s[b] : 0;
    return s ? s[b + 1] - s[b] : planned;
}

static int32_t effective_length(const host_array *lens, int64_t b, int64_t stored) {
    const int32_t *s = lens->data;
    const int64_t length = s ? (s[b] < 0 ? 0 : s[b]) : stored;
    return (int32_t)(length < stored ? length : stored);
}

static head describe_head(const attention_problem *problem, int64_t b, int64_t h) {
    const oclattn_attention_desc *d = &problem->desc;
    const score_data *score = &problem->score;
    head x = {.b = b, .h = h, .kv_h = h / (d->q_heads / d->kv_heads)};
    x.q_stored = packed_length(&score->q_starts, b, d->q_len, &x.q_start);
    x.kv_stored = packed_length(&score->kv_starts, b, d->kv_len, &x.kv_start);
    x.q_len = effective_length(&score->q_lens, b, x.q_stored);
    x.kv_len = effective_length(&score->kv_lens, b, x.kv_stored);
    if (d->score.align == OCLATTN_ALIGN_BOTTOM_RIGHT) {
        x.offset = x.kv_len - x.q_len;
    } else if (d->score.align == OCLATTN_ALIGN_OFFSET) {
        x.offset = ((const int32_t *)score->offsets.data)[b];
    }
    return x;
}

/* Where row i of a head begins; `packed`: all entries share the rows, and those of this one begin at `start`. */
static int64_t row_index(const int64_t strides[3], bool packed, int64_t b, int64_t start, int64_t h, int64_t i) {
    return (packed ? 0 : b * strides[0]) + h * strides[1] + (start + i) * strides[2];
}

static void copy_rows(const host_array *array, const int64_t strides[3], bool packed, const head *x, bool of_kv,
                      int64_t first, int64_t rows, int64_t width, double *to) {
    for (int64_t i = 0; i < rows; i++) {
        const int64_t from = of_kv ? row_index(strides, packed, x->b, x->kv_start, x->kv_h, first + i)
                                   : row_index(strides, packed, x->b, x->q_start, x->h, first + i);
        for (int64_t d = 0; d < width; d++) {
            to[i * width + d] = array_value(array, (size_t)(from + d));
        }
    }
}

static void load_keys(const checker *c, head *x) {
    const attention_problem *p = c->problem;
    const bool packed = p->score.kv_starts.data != NULL;
    copy_rows(&p->k, p->desc.k_strides, packed, x, true, 0, x->kv_stored, p->desc.head_dim, c->k);
    copy_rows(&p->v, p->desc.v_strides, packed, x, true, 0, x->kv_stored, p->desc.v_dim, c->v);
    for (int64_t i = 0; i < x->kv_len * p->desc.v_dim; i++) {
        if (isfinite(c->v[i])) {
            x->v_max = fmax(x->v_max, fabs(c->v[i]));
        }
    }
}

/* The problem of rows first to first + rows - 1 of one head, as a problem of its own. */
static reference_attention slice(const checker *c, const head *x, int64_t first, int64_t rows, const int32_t *offset,
                                 const int32_t *q_len) {
    reference_attention s = c->whole;
    const int64_t *m = s.mask_strides, *b = s.bias_strides;
    s.batch = s.q_heads = s.kv_heads = 1;
    s.q_len = rows;
    s.q = c->q;
    s.k = c->k;
    s.v = c->v;
    s.mask = s.mask ? s.mask + x->b * m[0] + x->h * m[1] + first * m[2] : NULL;
    s.bias = s.bias ? s.bias + x->b * b[0] + x->h * b[1] + first * b[2] : NULL;
    s.bias_scale = s.bias_scale ? s.bias_scale + x->h : NULL;
    s.alibi_slopes = s.alibi_slopes ? s.alibi_slopes + x->h : NULL;
    s.sinks = s.sinks ? s.sinks + x->h : NULL;
    s.align = OCLATTN_ALIGN_OFFSET;
    s.offsets = offset;
    s.q_lens = q_len;
    s.kv_lens = &x->kv_len;
    s.o = c->o;
    s.lse = c->lse;
    s.scores = c->biased;
    s.scores_kind = OCLATTN_SCORES_BIASED;
    return s;
}

/* The largest |score| among those that weigh something: the others' errors do not show. */
static double greatest_score(const double *scores, int64_t rows, int64_t kv_len) {
    double greatest = 0;
    for (int64_t i = 0; i < rows; i++) {
        const double *row = scores + i * kv_len;
        double most = -INFINITY;
        for (int64_t j = 0; j < kv_len; j++) {
            most = fmax(most, row[j]);
        }
        for (int64_t j = 0; j < kv_len; j++) {
            if (isfinite(row[j]) && row[j] > most - 40) {
                greatest = fmax(greatest, fabs(row[j]));
            }
        }
    }
    return greatest;
}

static void compare_o(const checker *c, const head *x, int64_t first, int64_t rows, double score_max) {
    const attention_problem *p = c->problem;
    const host_array *got = &p->results[RESULT_O].array;
    const bool packed = p->score.q_starts.data != NULL;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t start = row_index(p->desc.o_strides, packed, x->b, x->q_start, x->h, first + i);
        for (int64_t d = 0; d < p->desc.v_dim; d++) {
            const double expected = c->o[i * p->desc.v_dim + d];
            const double tolerance = reference_attention_tolerance(p->desc.o_type, x->kv_len, p->desc.head_dim,
                                                                   x->v_max, score_max, expected);
            compare_value(&c->comparisons[RESULT_O], start + d, array_value(got, (size_t)(start + d)), expected,
                          tolerance);
        }
    }
}

static void compare_lse(const checker *c, const head *x, int64_t first, int64_t rows, double score_max) {
    const attention_problem *p = c->problem;
    const host_array *got = &p->results[RESULT_LSE].array;
    const bool packed = p->score.q_starts.data != NULL;
    const int64_t strides[3] = {p->desc.q_heads * p->q_rows, p->q_rows, 1};
    for (int64_t i = 0; got->data && i < rows; i++) {
        const int64_t index = row_index(strides, packed, x->b, x->q_start, x->h, first + i);
        const double tolerance = reference_attention_tolerance(OCLATTN_F32, x->kv_len, p->desc.head_dim, 1,
                                                               fmax(score_max, fabs(c->lse[i])), 0);
        compare_value(&c->comparisons[RESULT_LSE], index, array_value(got, (size_t)index), c->lse[i], tolerance);
    }
}

/* sum |q_d k_d|, which bounds the rounding of a dot product whatever it cancels to. */
static double dot_magnitude(const double *q, const double *k, int64_t width) {
    double sum = 0;
    for (int64_t d = 0; d < width; d++) {
        sum += fabs(q[d] * k[d]);
    }
    return isfinite(sum) ? sum : 0;
}

static void compare_scores(const checker *c, const head *x, int64_t first, int64_t rows, double score_max) {
    const attention_problem *p = c->problem;
    const oclattn_attention_desc *d = &p->desc;
    const host_array *got = &p->results[RESULT_SCORES].array;
    for (int64_t i = 0; got->data && i < rows; i++) {
        for (int64_t j = 0; j < d->kv_len; j++) {
            const int64_t index = ((x->b * d->q_heads + x->h) * d->q_len + first + i) * d->kv_len + j;
            const double expected = c->scores[i * d->kv_len + j];
            const double size =
                fabs(c->whole.scale) * dot_magnitude(c->q + i * d->head_dim, c->k + j * d->head_dim, d->head_dim);
            const double tolerance =
                d->scores_kind == OCLATTN_PROBABILITIES
                    ? reference_attention_tolerance(OCLATTN_F32, x->kv_len, d->head_dim, 1, score_max, 0)
                    : reference_score_tolerance(d->head_dim, size + (isfinite(expected) ? fabs(expected) : 0));
            compare_value(&c->comparisons[RESULT_SCORES], index, array_value(got, (size_t)index), expected, tolerance);
        }
    }
}

static bool run_wanted_scores(const checker *c, reference_attention s) {
    if (!c->scores) {
        return true;
    }
    s.o = s.lse = NULL;
    s.scores = c->scores;
    s.scores_kind = c->problem->desc.scores_kind;
    return reference_attention_run(&s);
}

static bool check_block(const checker *c, const head *x, int64_t first, int64_t rows, failure *f) {
    const attention_problem *p = c->problem;
    const int64_t here = x->q_len - first;
    const int32_t q_len = (int32_t)(here < 0 ? 0 : here < rows ? here : rows);
    const int32_t offset = (int32_t)(x->offset + first);
    copy_rows(&p->q, p->desc.q_strides, p->score.q_starts.data != NULL, x, false, first, rows, p->desc.head_dim, c->q);
    const reference_attention s = slice(c, x, first, rows, &offset, &q_len);
    if (!reference_attention_run(&s) || !run_wanted_scores(c, s)) {
        return fail_memory(f, "the reference");
    }
    const double score_max = greatest_score(c->biased, rows, p->desc.kv_len);
    compare_o(c, x, first, rows, score_max);
    compare_lse(c, x, first, rows, score_max);
    compare_scores(c, x, first, rows, score_max);
    return true;
}

static bool check_head(const checker *c, int64_t b, int64_t h, failure *f) {
    head x = describe_head(c->problem, b, h);
    load_keys(c, &x);
    bool good = true;
    for (int64_t first = 0; good && first < x.q_stored; first += c->block) {
        const int64_t left = x.q_stored - first;
        good = check_block(c, &x, first, left < c->block ? left : c->block, f);
    }
    return good;
}

static bool check_heads(const checker *c, failure *f) {
    const oclattn_attention_desc *d = &c->problem->desc;
    progress bar = progress_start("checking in float64, heads", d->batch * d->q_heads);
    bool good = true;
    for (int64_t n = 0; good && n < d->batch * d->q_heads; n++) {
        good = check_head(c, n / d->q_heads, n % d->q_heads, f);
        progress_step(&bar, n + 1);
    }
    progress_end(&bar);
    return good;
}

static double *new_doubles(int64_t rows, int64_t width) {
    return calloc((size_t)(rows * width + 1), sizeof(double));
}

static bool make_memory(checker *c, failure *f) {
    const oclattn_attention_desc *d = &c->problem->desc;
    const int64_t fitting = MOST_SCORES_AT_ONCE / (d->kv_len + 1);
    c->block = fitting < 1 ? 1 : fitting < d->q_len ? fitting : d->q_len + 1;
    c->q = new_doubles(c->block, d->head_dim);
    c->k = new_doubles(d->kv_len, d->head_dim);
    c->v = new_doubles(d->kv_len, d->v_dim);
    c->o = new_doubles(c->block, d->v_dim);
    c->lse = new_doubles(c->block, 1);
    c->biased = new_doubles(c->block, d->kv_len);
    const bool wants_scores = d->scores_kind != OCLATTN_SCORES_NONE;
    c->scores = wants_scores ? new_doubles(c->block, d->kv_len) : NULL;
    return c->q && c->k && c->v && c->o && c->lse && c->biased && (c->scores || !wants_scores)
               ? true
               : fail_memory(f, "the reference");
}

static void free_memory(checker *c) {
    double *all[] = {c->q, c->k, c->v, c->o, c->lse, c->biased, c->scores};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
    score_doubles_free(&c->doubles);
}

bool attention_check(const attention_problem *problem, comparison comparisons[RESULT_COUNT], failure *f) {
    const oclattn_attention_desc *d = &problem->desc;
    const char *const names[] = {"o", "lse", d->scores_kind == OCLATTN_PROBABILITIES ? "probabilities" : "scores"};
    const bool default_scale = (d->score.flags & OCLATTN_DEFAULT_SCALE) != 0;
    checker c = {.problem = problem, .comparisons = comparisons};
    c.whole.kv_len = d->kv_len;
    c.whole.head_dim = d->head_dim;
    c.whole.v_dim = d->v_dim;
    c.whole.scale = default_scale ? 1 / sqrt((double)d->head_dim) : (double)d->score.scale;
    for (int i = 0; i < RESULT_COUNT; i++) {
        comparisons[i].name = problem->results[i].array.data ? names[i] : NULL;
    }
    const bool good = score_reference(&d->score, &problem->score, &c.doubles, &c.whole, f) && make_memory(&c, f) &&
                      check_heads(&c, f);
    free_memory(&c);
    return good;
}
