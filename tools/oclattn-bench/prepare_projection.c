/* y = x W + b, W stored [out, in]. */
#include <math.h>

#include "oclattn-run/common.h"
#include "prepared.h"

static bool plan_projection(prepared *r, failure *f) {
    const bench_problem *p = r->problem;
    oclattn_projection_desc desc;
    oclattn_error error = {0};
    oclattn_projection_desc_init(&desc);
    desc.flags = OCLATTN_WEIGHTS_OUT_IN | OCLATTN_PROJECTION_BIAS;
    desc.x_type = desc.w_type = desc.y_type = p->type;
    desc.batch = 1;
    desc.rows = p->rows;
    desc.in_dim = p->in_dim;
    desc.out_dim = p->out_dim;
    desc.variant = p->variant;
    const oclattn_status status = oclattn_projection_plan(r->device->context, &desc, &r->plan, &error);
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

static bool make_weights(prepared *r, int64_t count, failure *f) {
    const bench_problem *p = r->problem;
    oclattn_error error = {0};
    if (!prepared_input(r, p->type, count, (float)(1 / sqrt((double)p->in_dim)), &r->w, f) ||
        !prepared_input(r, p->type, p->out_dim, 0.1f, &r->b, f)) {
        return false;
    }
    const oclattn_status status =
        oclattn_projection_weights(r->plan, r->device->queue, &r->w, &r->b, &r->weights, &error);
    r->projection.weights = r->weights;
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

bool prepare_projection(prepared *r, failure *f) {
    const bench_problem *p = r->problem;
    int64_t x_count = 0, w_count = 0, y_count = 0;
    oclattn_projection_args_init(&r->projection);
    return count_of(1, p->rows, p->in_dim, &x_count, f) && count_of(1, p->in_dim, p->out_dim, &w_count, f) &&
           count_of(1, p->rows, p->out_dim, &y_count, f) && prepared_plan(r, plan_projection, f) &&
           make_weights(r, w_count, f) && prepared_input(r, p->type, x_count, 1, &r->projection.x, f) &&
           prepared_output(r, y_count, &r->projection.y, f) && prepared_workspace(r, &r->projection.workspace, f);
}
