#include "problem.h"

#include <stdio.h>

#include "oclattn-run/common.h"

const char *group_name(problem_group group) {
    static const char *const names[] = {"prefill", "decode", "layer", "projection"};
    return names[group];
}

const char *group_legend(problem_group group) {
    static const char *const legends[] = {"batch, heads, length, head_dim", "sequences, heads, keys, head_dim",
                                          "batch, length, d_model, heads", "rows, in, out"};
    return legends[group];
}

/* ---- title ------------------------------------------------------------------------------------------------------ */

enum { PAIR_SIZE = 48, PART_SIZE = 96 };

/* "12", or "32/8" where the two differ. */
static const char *pair_text(int64_t a, int64_t b, char text[PAIR_SIZE]) {
    if (a == b) {
        snprintf(text, PAIR_SIZE, "%lld", (long long)a);
    } else {
        snprintf(text, PAIR_SIZE, "%lld/%lld", (long long)a, (long long)b);
    }
    return text;
}

/* A window that no row can look beyond to the right is named by its width. */
static void window_text(const bench_problem *p, char *text, size_t size) {
    const bool one_sided = p->window_left >= 0 && (p->causal || p->window_right == 0);
    text[0] = '\0';
    if (one_sided) {
        snprintf(text, size, " window %lld", (long long)p->window_left + 1);
    } else if (p->window_left >= 0 || p->window_right >= 0) {
        snprintf(text, size, " window %lld,%lld", (long long)p->window_left, (long long)p->window_right);
    }
}

static void decode_title(const bench_problem *p, char title[TITLE_SIZE], const char *options) {
    char widths[PAIR_SIZE];
    snprintf(title, TITLE_SIZE, "%lld x %lld query, %lld/%lld heads, %s%lld keys, %s%s", (long long)p->batch,
             (long long)p->q_len, (long long)p->q_heads, (long long)p->kv_heads, p->kv_lens ? "ragged, up to " : "",
             (long long)p->kv_len, pair_text(p->head_dim, p->v_dim, widths), options);
}

static void prefill_title(const bench_problem *p, char title[TITLE_SIZE], const char *options) {
    char heads[PAIR_SIZE], lengths[PAIR_SIZE], widths[PAIR_SIZE];
    snprintf(title, TITLE_SIZE, "%lld, %s, %s, %s%s", (long long)p->batch, pair_text(p->q_heads, p->kv_heads, heads),
             pair_text(p->q_len, p->kv_len, lengths), pair_text(p->head_dim, p->v_dim, widths), options);
}

static void layer_title(const bench_problem *p, char title[TITLE_SIZE], const char *options) {
    char heads[PAIR_SIZE], widths[64] = "", pair[PAIR_SIZE];
    if (p->head_dim * p->q_heads != p->d_model || p->v_dim != p->head_dim) {
        snprintf(widths, sizeof widths, " of width %s", pair_text(p->head_dim, p->v_dim, pair));
    }
    snprintf(title, TITLE_SIZE, "%lld, %lld, %lld, %s%s%s", (long long)p->batch, (long long)p->q_len,
             (long long)p->d_model, pair_text(p->q_heads, p->kv_heads, heads), widths, options);
}

const char *problem_title(const bench_problem *p, char title[TITLE_SIZE]) {
    char window[64], options[PART_SIZE];
    window_text(p, window, sizeof window);
    snprintf(options, sizeof options, "%s%s%s", p->causal ? " causal" : "", window,
             p->align == OCLATTN_ALIGN_TOP_LEFT && p->q_len != p->kv_len ? " top-left" : "");
    switch (p->group) {
    case GROUP_PREFILL:
        prefill_title(p, title, options);
        break;
    case GROUP_DECODE:
        decode_title(p, title, options);
        break;
    case GROUP_LAYER:
        layer_title(p, title, options);
        break;
    case GROUP_PROJECTION:
        snprintf(title, TITLE_SIZE, "%lld, %lld, %lld", (long long)p->rows, (long long)p->in_dim,
                 (long long)p->out_dim);
        break;
    }
    return title;
}

/* ---- work ------------------------------------------------------------------------------------------------------- */

int64_t problem_keys(const bench_problem *p, int64_t b) {
    return p->kv_lens ? p->kv_lens[b] : p->kv_len;
}

int64_t problem_offset(const bench_problem *p, int64_t b) {
    return p->align == OCLATTN_ALIGN_BOTTOM_RIGHT ? problem_keys(p, b) - p->q_len : 0;
}

/* Keys that row i of a batch entry sees: from the greatest lower bound to the least upper one. */
static int64_t keys_of_row(const bench_problem *p, int64_t b, int64_t i) {
    const int64_t place = i + problem_offset(p, b);
    int64_t first = 0, last = problem_keys(p, b) - 1;
    if (p->causal && place < last) {
        last = place;
    }
    if (p->window_right >= 0 && place + p->window_right < last) {
        last = place + p->window_right;
    }
    if (p->window_left >= 0 && place - p->window_left > first) {
        first = place - p->window_left;
    }
    return last >= first ? last - first + 1 : 0;
}

static double pairs_of(const bench_problem *p, int64_t b) {
    double pairs = 0;
    for (int64_t i = 0; i < p->q_len; i++) {
        pairs += (double)keys_of_row(p, b, i);
    }
    return pairs;
}

static double pair_count(const bench_problem *p) {
    double pairs = 0;
    for (int64_t b = 0; p->kv_lens && b < p->batch; b++) {
        pairs += pairs_of(p, b);
    }
    return p->kv_lens ? pairs : (double)p->batch * pairs_of(p, 0);
}

static double key_count(const bench_problem *p) {
    double keys = 0;
    for (int64_t b = 0; p->kv_lens && b < p->batch; b++) {
        keys += (double)p->kv_lens[b];
    }
    return p->kv_lens ? keys : (double)p->batch * (double)p->kv_len;
}

/* Numbers in W^Q, W^K, W^V and W^head. */
static double weight_count(const bench_problem *p) {
    return (double)p->d_model * (double)(p->head_dim + p->v_dim) * (double)(p->q_heads + p->kv_heads);
}

static double attention_flop(const bench_problem *p) {
    return 2 * (double)p->q_heads * pair_count(p) * (double)(p->head_dim + p->v_dim);
}

double problem_flop(const bench_problem *p) {
    if (p->group == GROUP_PROJECTION) {
        return 2 * (double)p->rows * (double)p->in_dim * (double)p->out_dim;
    }
    const double projections = p->group == GROUP_LAYER ? 2 * (double)(p->batch * p->q_len) * weight_count(p) : 0;
    return projections + attention_flop(p);
}

double problem_bytes(const bench_problem *p) {
    const double each = (double)oclattn_type_bytes(p->type);
    if (p->group == GROUP_PROJECTION) {
        return each * ((double)p->rows * (double)(p->in_dim + p->out_dim) + (double)p->in_dim * (double)p->out_dim);
    }
    const double rows = (double)p->batch * (double)p->q_len;
    if (p->group == GROUP_LAYER) {
        return each * (2 * rows * (double)p->d_model + weight_count(p));
    }
    const double widths = (double)(p->head_dim + p->v_dim);
    return each * rows * (double)p->q_heads * widths +
           (double)oclattn_type_bytes(p->kv_type) * key_count(p) * (double)p->kv_heads * widths;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static json_t *kv_lens_json(const bench_problem *p) {
    if (!p->kv_lens) {
        return json_null();
    }
    json_t *lens = json_array();
    for (int64_t b = 0; b < p->batch; b++) {
        json_array_append_new(lens, json_integer(p->kv_lens[b]));
    }
    return lens;
}

static json_t *shape_of(const bench_problem *p) {
    if (p->group == GROUP_PROJECTION) {
        return json_pack("{s:I, s:I, s:I}", "rows", (json_int_t)p->rows, "in_dim", (json_int_t)p->in_dim, "out_dim",
                         (json_int_t)p->out_dim);
    }
    json_t *shape =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:o}", "batch", (json_int_t)p->batch, "q_heads",
                  (json_int_t)p->q_heads, "kv_heads", (json_int_t)p->kv_heads, "q_len", (json_int_t)p->q_len, "kv_len",
                  (json_int_t)p->kv_len, "head_dim", (json_int_t)p->head_dim, "v_dim", (json_int_t)p->v_dim, "causal",
                  p->causal, "window_left", (json_int_t)p->window_left, "window_right", (json_int_t)p->window_right,
                  "kv_lens", kv_lens_json(p));
    if (p->group == GROUP_LAYER) {
        json_object_set_new(shape, "d_model", json_integer(p->d_model));
    }
    return shape;
}

json_t *problem_json(const bench_problem *p) {
    char title[TITLE_SIZE];
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:f, s:f}", "group", group_name(p->group), "problem",
                     problem_title(p, title), "dtype", type_name(p->type), "kv_dtype", type_name(p->kv_type),
                     "wanted_variant", p->variant ? json_string(p->variant) : json_null(), "shape", shape_of(p),
                     "gflop", problem_flop(p) / 1e9, "megabytes", problem_bytes(p) / 1e6);
}
