#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "reference/reference.h"

static double largest(const double *values, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        most = isfinite(values[i]) ? fmax(most, fabs(values[i])) : most;
    }
    return most;
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

static reference_attention attention_reference(const tune_work *w, double *o, double *scores) {
    const tune_problem *p = &w->problem;
    return (reference_attention){.batch = p->batch,
                                 .q_heads = p->heads,
                                 .kv_heads = p->kv_heads,
                                 .q_len = p->q_len,
                                 .kv_len = p->kv_len,
                                 .head_dim = p->width,
                                 .v_dim = p->width,
                                 .q = w->real[WORK_Q],
                                 .k = w->real[WORK_K],
                                 .v = w->real[WORK_V],
                                 .scale = 1 / sqrt((double)p->width),
                                 .causal = p->causal,
                                 .align = OCLATTN_ALIGN_BOTTOM_RIGHT,
                                 .window_left = -1,
                                 .window_right = -1,
                                 .mask = w->mask,
                                 .mask_strides = {0, 0, p->kv_len, 1},
                                 .mask_kv_len = p->kv_len,
                                 .o = o,
                                 .scores = scores,
                                 .scores_kind = OCLATTN_SCORES_SCALED};
}

/* All inputs are between -1 and 1, so scale sqrt(head_dim) q_max k_max is at most 1. */
static double attention_tolerance(const tune_problem *p, double score_max, double expected) {
    return reference_attention_tolerance(p->type, p->kv_len, p->width, 1, fmax(1, score_max), expected);
}

static bool expect_attention(tune_check *check) {
    const tune_problem *p = &check->work.problem;
    const size_t score_count = (size_t)(p->batch * p->heads * p->q_len * p->kv_len);
    double *scores = malloc(score_count * sizeof *scores);
    const reference_attention problem = attention_reference(&check->work, check->expected, scores);
    const bool made = scores && reference_attention_run(&problem);
    const double score_max = made ? largest(scores, score_count) : 0;
    for (size_t i = 0; made && i < check->work.outputs; i++) {
        check->tolerance[i] = attention_tolerance(p, score_max, check->expected[i]);
    }
    free(scores);
    return made;
}

/* ---- projections ------------------------------------------------------------------------------------------------ */

static void expect_projection(tune_check *check) {
    const tune_work *w = &check->work;
    const tune_problem *p = &w->problem;
    reference_projection(p->batch * p->rows, p->in_dim, p->out_dim, w->real[WORK_X], w->real[WORK_W], false,
                         w->real[WORK_B], check->expected);
    for (size_t at = 0; at < w->outputs; at++) {
        const size_t row = at / (size_t)p->out_dim, column = at % (size_t)p->out_dim;
        double sum = fabs(w->real[WORK_B][column]);
        for (size_t i = 0; i < (size_t)p->in_dim; i++) {
            sum +=
                fabs(w->real[WORK_X][row * (size_t)p->in_dim + i] * w->real[WORK_W][i * (size_t)p->out_dim + column]);
        }
        check->tolerance[at] = reference_projection_tolerance(p->type, p->in_dim, sum, check->expected[at]);
    }
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

bool check_make(tune_check *check, const tune_device *device, const tune_problem *problem, failure *f) {
    *check = (tune_check){.expected = NULL};
    if (!work_make(&check->work, device, problem, true, f)) {
        return false;
    }
    check->expected = malloc(check->work.outputs * sizeof *check->expected);
    check->tolerance = malloc(check->work.outputs * sizeof *check->tolerance);
    if (!check->expected || !check->tolerance) {
        return fail_memory(f, "the expected result");
    }
    if (problem->operation == TUNE_PROJECTION) {
        expect_projection(check);
        return true;
    }
    return expect_attention(check) || fail_memory(f, "the expected result");
}

void check_clear(tune_check *check) {
    work_clear(&check->work);
    free(check->expected);
    free(check->tolerance);
    *check = (tune_check){.expected = NULL};
}

static bool report_wrong(const tune_problem *p, size_t at, double found, double expected, double tolerance,
                         failure *f) {
    char words[128];
    problem_describe(p, words, sizeof words);
    return fail_with(f, EXIT_WRONG_RESULT,
                     "wrong result of %s: element %zu is %.9g, expected %.9g, and %.3g is allowed", words, at, found,
                     expected, tolerance);
}

static bool compare(const tune_check *check, const double *found, failure *f) {
    for (size_t i = 0; i < check->work.outputs; i++) {
        if (!(fabs(found[i] - check->expected[i]) <= check->tolerance[i])) {
            return report_wrong(&check->work.problem, i, found[i], check->expected[i], check->tolerance[i], f);
        }
    }
    return true;
}

/* The outputs of one run. */
static double *results_of(tune_run *run, failure *f) {
    return work_spoil(run->work, f) && run_once(run, f) ? work_read(run->work, f) : NULL;
}

bool check_run(const tune_check *check, const char *variant, failure *f) {
    tune_run run = {.work = NULL};
    double *found = run_make(&run, &check->work, variant, f) ? results_of(&run, f) : NULL;
    const bool good = found && compare(check, found, f);
    free(found);
    run_clear(&run);
    return good;
}

/* In random data, scores are a few at most, and |x w| is a quarter on average. */
static double tolerance_of_random(const tune_problem *p, double expected) {
    return p->operation == TUNE_PROJECTION
               ? reference_projection_tolerance(p->type, p->in_dim, (double)p->in_dim / 2 + 1, expected)
               : attention_tolerance(p, 4, expected);
}

bool check_agreement(tune_run *known, tune_run *candidate, failure *f) {
    const tune_problem *p = &known->work->problem;
    double *a = results_of(known, f);
    double *b = a ? results_of(candidate, f) : NULL;
    bool good = b != NULL;
    for (size_t i = 0; good && i < known->work->outputs; i++) {
        const double tolerance = 2 * tolerance_of_random(p, a[i]);
        good = fabs(a[i] - b[i]) <= tolerance || report_wrong(p, i, b[i], a[i], tolerance, f);
    }
    free(a);
    free(b);
    return good;
}
