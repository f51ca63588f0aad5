#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference/reference.h"

/* Multiplications of the reference, about a second's worth. */
static const double most_work = 3e8;
enum { FEW_HEADS = 4 }; /* at least, of which some rows are checked */

/* Which rows: `rows` neighbouring ones of `heads` (batch entry, head) pairs, spread evenly. */
typedef struct sample {
    int64_t heads, all_heads, rows;
} sample;

/* One head of one batch entry in float64. */
typedef struct head {
    int64_t b, h, first; /* rows first to first + rows - 1 of it */
    int64_t rows;
    double *q, *k, *v, *o, *scores, *got;
} head;

static sample choose_sample(const bench_problem *p) {
    const double row_work = (double)p->kv_len * (double)(p->head_dim + p->v_dim + 16); /* 16: an exponential */
    const double rows = most_work / row_work, heads = rows / (double)p->q_len;
    sample s = {p->batch * p->q_heads, p->batch * p->q_heads, p->q_len};
    if (heads >= (double)s.all_heads) {
        return s;
    }
    if (heads >= FEW_HEADS) {
        s.heads = (int64_t)heads;
        return s;
    }
    s.heads = s.all_heads < FEW_HEADS ? s.all_heads : FEW_HEADS;
    const double rows_of_head = rows / (double)s.heads;
    s.rows = rows_of_head < 1 ? 1 : rows_of_head < (double)p->q_len ? (int64_t)rows_of_head : p->q_len;
    return s;
}

/* Part n of `parts` of a range: 0 for the first, `last` for the last. */
static int64_t spread(int64_t n, int64_t parts, int64_t last) {
    return parts > 1 ? n * last / (parts - 1) : last;
}

/* The first sampled head gives its first rows, the last one its last. */
static head place_head(const bench_problem *p, const sample *s, int64_t n) {
    const int64_t index = spread(n, s->heads, s->all_heads - 1);
    return (head){.b = index / p->q_heads,
                  .h = index % p->q_heads,
                  .first = spread(n, s->heads, p->q_len - s->rows),
                  .rows = s->rows};
}

static bool load_head(const prepared *r, head *x, failure *f) {
    const bench_problem *p = r->problem;
    const int64_t kv_head = x->b * p->kv_heads + x->h / (p->q_heads / p->kv_heads);
    const int64_t row = (x->b * p->q_heads + x->h) * p->q_len + x->first;
    const int64_t key = kv_head * p->kv_len;
    x->q = device_read(r->device, r->attention.q.buffer, p->type, row * p->head_dim, x->rows * p->head_dim, f);
    x->k = device_read(r->device, r->attention.k.buffer, p->kv_type, key * p->head_dim, p->kv_len * p->head_dim, f);
    x->v = device_read(r->device, r->attention.v.buffer, p->kv_type, key * p->v_dim, p->kv_len * p->v_dim, f);
    x->got = device_read(r->device, r->output.buffer, p->type, row * p->v_dim, x->rows * p->v_dim, f);
    x->o = malloc((size_t)(x->rows * p->v_dim) * sizeof *x->o);
    x->scores = malloc((size_t)(x->rows * p->kv_len) * sizeof *x->scores);
    return x->q && x->k && x->v && x->got && (x->o && x->scores ? true : fail_memory(f, "the reference"));
}

static void free_head(head *x) {
    free(x->q);
    free(x->k);
    free(x->v);
    free(x->o);
    free(x->scores);
    free(x->got);
}

static bool run_reference(const bench_problem *p, const head *x, failure *f) {
    const int32_t offset = (int32_t)(problem_offset(p, x->b) + x->first);
    const int32_t keys = (int32_t)problem_keys(p, x->b);
    const reference_attention reference = {.batch = 1,
                                           .q_heads = 1,
                                           .kv_heads = 1,
                                           .q_len = x->rows,
                                           .kv_len = p->kv_len,
                                           .head_dim = p->head_dim,
                                           .v_dim = p->v_dim,
                                           .q = x->q,
                                           .k = x->k,
                                           .v = x->v,
                                           .scale = 1 / sqrt((double)p->head_dim),
                                           .causal = p->causal,
                                           .align = OCLATTN_ALIGN_OFFSET,
                                           .offsets = &offset,
                                           .window_left = p->window_left,
                                           .window_right = p->window_right,
                                           .kv_lens = &keys,
                                           .o = x->o,
                                           .scores = x->scores,
                                           .scores_kind = OCLATTN_SCORES_SCALED};
    return reference_attention_run(&reference) ? true : fail_memory(f, "the reference");
}

static void compare_head(const bench_problem *p, const head *x, check_verdict *verdict) {
    const double v_max = greatest_size(x->v, p->kv_len * p->v_dim);
    const double score_max = greatest_size(x->scores, x->rows * p->kv_len);
    for (int64_t i = 0; i < x->rows * p->v_dim; i++) {
        check_value(verdict, x->got[i], x->o[i],
                    reference_attention_tolerance(p->type, p->kv_len, p->head_dim, v_max, score_max, x->o[i]));
    }
}

bool check_attention(const prepared *r, check_verdict *verdict, failure *f) {
    const bench_problem *p = r->problem;
    const sample s = choose_sample(p);
    bool good = true;
    for (int64_t n = 0; good && n < s.heads; n++) {
        head x = place_head(p, &s, n);
        good = load_head(r, &x, f) && run_reference(p, &x, f);
        if (good) {
            compare_head(p, &x, verdict);
        }
        free_head(&x);
    }
    verdict->rows = s.heads * s.rows;
    verdict->all_rows = s.all_heads * p->q_len;
    if (verdict->rows == verdict->all_rows) {
        snprintf(verdict->which, sizeof verdict->which, "all rows");
    } else {
        snprintf(verdict->which, sizeof verdict->which, "%lld rows of each of %lld heads", (long long)s.rows,
                 (long long)s.heads);
    }
    return good;
}
