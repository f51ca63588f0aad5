#include "first_result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure/clock.h"
#include "oclattn-run/common.h"

bench_problem first_result_problem(void) {
    return (bench_problem){.group = GROUP_LAYER,
                           .type = OCLATTN_F32,
                           .kv_type = OCLATTN_F32,
                           .batch = 1,
                           .q_heads = 12,
                           .kv_heads = 12,
                           .q_len = 128,
                           .kv_len = 128,
                           .head_dim = 64,
                           .v_dim = 64,
                           .window_left = -1,
                           .window_right = -1,
                           .align = OCLATTN_ALIGN_BOTTOM_RIGHT,
                           .d_model = 768};
}

/* Numbers between -1 and 1 that are not all alike. */
static float *new_numbers(int64_t count) {
    float *numbers = malloc((size_t)count * sizeof *numbers);
    for (int64_t i = 0; numbers && i < count; i++) {
        numbers[i] = (float)(i * 7919 % 2003 - 1001) / 1001;
    }
    return numbers;
}

typedef struct stages {
    double context_s, plan_s;
} stages;

static oclattn_status compute(oclattn_context *context, const oclattn_mha_desc *desc, const float *x, const float *w,
                              float *y, oclattn_error *error) {
    oclattn_mha_host_args args;
    oclattn_mha_host_args_init(&args);
    args.x = x;
    args.y = y;
    args.w_q = args.w_k = args.w_v = args.w_head = w;
    return oclattn_mha_host(context, desc, &args, error);
}

/* The line that the parent waits for, before anything is cleaned up. */
static void tell(const stages *s, const float *y) {
    if (isfinite(y[0])) {
        printf("{\"context_ms\": %.6f, \"plan_ms\": %.6f}\n", s->context_s * 1e3, s->plan_s * 1e3);
        fflush(stdout);
    }
}

static oclattn_status go(const char *spec, const float *x, const float *w, float *y, oclattn_error *error) {
    const bench_problem p = first_result_problem();
    const double start = now_s();
    stages s = {0};
    oclattn_context *context = NULL;
    oclattn_plan *plan = NULL;
    oclattn_mha_desc desc;
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    options.device = spec;
    oclattn_mha_desc_init(&desc);
    desc.batch = p.batch;
    desc.q_len = p.q_len;
    desc.d_model = p.d_model;
    desc.n_heads = p.q_heads;
    oclattn_status status = oclattn_context_create(&options, &context, error);
    s.context_s = now_s() - start;
    if (status == OCLATTN_OK) {
        status = oclattn_mha_plan(context, &desc, &plan, error);
        s.plan_s = now_s() - start - s.context_s;
    }
    if (status == OCLATTN_OK) {
        status = compute(context, &desc, x, w, y, error);
    }
    if (status == OCLATTN_OK) {
        tell(&s, y);
    }
    oclattn_plan_destroy(plan);
    oclattn_context_destroy(context);
    return status;
}

bool first_result_run(const char *spec, failure *f) {
    const bench_problem p = first_result_problem();
    float *x = new_numbers(p.q_len * p.d_model), *w = new_numbers(p.d_model * p.d_model);
    float *y = new_numbers(p.q_len * p.d_model);
    oclattn_error error = {0};
    const oclattn_status status = x && w && y ? go(spec, x, w, y, &error) : OCLATTN_OUT_OF_MEMORY;
    const bool good = status == OCLATTN_OK && isfinite(y[0]);
    if (status != OCLATTN_OK) {
        fail_library(f, status, &error);
    } else if (!good) {
        fail_with(f, EXIT_WRONG_RESULT, "the first result is no number");
    }
    free(x);
    free(w);
    free(y);
    return good;
}
