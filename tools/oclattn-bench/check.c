#include "check.h"

#include <math.h>

void check_value(check_verdict *verdict, double got, double expected, double tolerance) {
    const double error = isfinite(got) ? fabs(got - expected) : (double)INFINITY;
    verdict->values++;
    verdict->wrong += !(error <= tolerance);
    verdict->greatest_error = fmax(verdict->greatest_error, error);
    verdict->share_of_tolerance = fmax(verdict->share_of_tolerance, error / tolerance);
}

double greatest_size(const double *values, int64_t count) {
    double greatest = 0;
    for (int64_t i = 0; i < count; i++) {
        greatest = fmax(greatest, fabs(values[i]));
    }
    return greatest;
}

/* Bytes of ones are NaN in every type. */
static bool erase_output(const prepared *r, failure *f) {
    const cl_uchar ones = 0xFF;
    const size_t bytes = (size_t)r->output_count * oclattn_type_bytes(r->problem->type);
    const cl_int code =
        clEnqueueFillBuffer(r->device->queue, r->output.buffer, &ones, sizeof ones, 0, bytes, 0, NULL, NULL);
    return code == CL_SUCCESS ? true
                              : fail_with(f, EXIT_RUNTIME, "clEnqueueFillBuffer failed (OpenCL error %d)", (int)code);
}

static bool run_again(prepared *r, failure *f) {
    cl_event event = NULL;
    const bool good = erase_output(r, f) && prepared_run(r, r->device->queue, &event, f);
    if (event) {
        clReleaseEvent(event);
    }
    return good && device_finish(r->device, f);
}

bool check_result(prepared *r, check_verdict *verdict, failure *f) {
    *verdict = (check_verdict){0};
    if (!run_again(r, f)) {
        return false;
    }
    switch (r->problem->group) {
    case GROUP_LAYER:
        verdict->done = check_layer(r, verdict, f);
        break;
    case GROUP_PROJECTION:
        verdict->done = check_projection(r, verdict, f);
        break;
    default:
        verdict->done = check_attention(r, verdict, f);
        break;
    }
    return verdict->done;
}

static json_t *finite_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *check_json(const check_verdict *v) {
    if (!v->done) {
        return json_null();
    }
    return json_pack("{s:b, s:I, s:I, s:s, s:I, s:I, s:o, s:o}", "right", v->wrong == 0, "rows", (json_int_t)v->rows,
                     "all_rows", (json_int_t)v->all_rows, "which", v->which, "values", (json_int_t)v->values, "wrong",
                     (json_int_t)v->wrong, "max_abs_error", finite_or_null(v->greatest_error),
                     "worst_share_of_tolerance", finite_or_null(v->share_of_tolerance));
}
