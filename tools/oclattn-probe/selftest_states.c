/* The self-test of the merging of partial results. */
#include <stdio.h>
#include <math.h>

#include "selftest_values.h"

enum { STATES_O1, STATES_LSE1, STATES_O2, STATES_LSE2, STATES_O, STATES_LSE, STATES_TENSORS };

typedef struct states_case {
    int64_t rows, v_dim;
    bool in_place; /* the result goes where the first state was */
} states_case;

static const states_case states_cases[] = {{7, 64, false}, {33, 40, false}, {12, 72, true}};

static bool states_fill(const states_case *c, values t[STATES_TENSORS]) {
    uint64_t state = UINT64_C(0xA0761D6478BD642F);
    for (int i = 0; i < STATES_TENSORS; i++) {
        const int64_t count = i % 2 == 0 ? c->rows * c->v_dim : c->rows;
        if (!(i < STATES_O ? values_random(&t[i], OCLATTN_F32, count, &state)
                           : values_make(&t[i], OCLATTN_F32, count))) {
            return false;
        }
    }
    /* The second state of row 1 is empty; both are in row 2. */
    for (int64_t row = 1; row <= 2; row++) {
        for (int i = row == 1 ? STATES_O2 : STATES_O1; i < STATES_O; i++) {
            const size_t at = (size_t)(i % 2 == 0 ? row * c->v_dim : row);
            for (size_t k = 0; k < (i % 2 == 0 ? (size_t)c->v_dim : 1); k++) {
                values_set(&t[i], at + k, i % 2 == 0 ? 0 : -(double)INFINITY);
                t[i].real[at + k] = i % 2 == 0 ? 0 : -(double)INFINITY;
            }
        }
    }
    return true;
}

static void states_compare(const states_case *c, const values t[STATES_TENSORS], outcome *result) {
    for (int64_t row = 0; row < c->rows; row++) {
        const double lse1 = t[STATES_LSE1].real[row], lse2 = t[STATES_LSE2].real[row];
        const double a = exp(lse1), b = exp(lse2);
        compare_one(result, "lse", (size_t)row, values_get(&t[STATES_LSE], (size_t)row), log(a + b), 1e-6);
        for (int64_t i = row * c->v_dim; i < (row + 1) * c->v_dim; i++) {
            const double expected = a + b > 0 ? (a * t[STATES_O1].real[i] + b * t[STATES_O2].real[i]) / (a + b) : 0;
            compare_one(result, "o", (size_t)i, values_get(&t[STATES_O], (size_t)i), expected, 1e-6);
        }
    }
}

static oclattn_status states_compute(session *s, const states_case *c, values t[STATES_TENSORS], oclattn_error *error) {
    oclattn_merge_states_desc desc;
    oclattn_merge_states_args args;
    oclattn_plan *plan = NULL;
    oclattn_merge_states_desc_init(&desc);
    oclattn_merge_states_args_init(&args);
    desc.rows = c->rows;
    desc.v_dim = c->v_dim;
    oclattn_tensor *const tensors[STATES_TENSORS] = {&args.o1, &args.lse1, &args.o2, &args.lse2, &args.o, &args.lse};
    oclattn_status status = oclattn_merge_states_plan(s->context, &desc, &plan, error);
    bool moved = true;
    for (int i = 0; i < STATES_TENSORS; i++) {
        moved = moved && upload(s, &t[i], tensors[i]);
    }
    if (c->in_place) {
        args.o = args.o1;
        args.lse = args.lse1;
    }
    if (status == OCLATTN_OK && moved) {
        status = oclattn_merge_states_enqueue(plan, s->queue, &args, 0, NULL, NULL, error);
        moved = status != OCLATTN_OK || (session_finish(s) && download(s, &t[STATES_O], args.o.buffer) &&
                                         download(s, &t[STATES_LSE], args.lse.buffer));
    }
    oclattn_plan_destroy(plan);
    if (status == OCLATTN_OK && !moved) {
        snprintf(error->message, sizeof error->message, "%s", s->problem);
        return OCLATTN_OPENCL_ERROR;
    }
    return status;
}

static void states_run(session *s, const char *variant, size_t index, outcome *result) {
    (void)variant;
    const states_case *c = &states_cases[index];
    values t[STATES_TENSORS] = {{0}};
    oclattn_error error = {0};
    if (!states_fill(c, t)) {
        fail_test(result, "the host is out of memory");
    } else {
        const oclattn_status status = states_compute(s, c, t, &error);
        if (status == OCLATTN_OK) {
            states_compare(c, t, result);
        } else {
            take_status(result, status, &error);
        }
    }
    for (int i = 0; i < STATES_TENSORS; i++) {
        values_free(&t[i]);
    }
}

static void states_describe(size_t index, char *words, size_t size) {
    const states_case *c = &states_cases[index];
    snprintf(words, size, "o [%lld, %lld]%s", (long long)c->rows, (long long)c->v_dim, c->in_place ? ", in place" : "");
}

const problem_set states_problems = {sizeof states_cases / sizeof states_cases[0], states_describe, states_run};
