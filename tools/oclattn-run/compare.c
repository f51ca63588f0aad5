#include "compare.h"

#include <math.h>

#include "report.h"

static void remember(comparison *c, int64_t index, double got, double expected, double tolerance) {
    c->index = index;
    c->got = got;
    c->expected = expected;
    c->tolerance = tolerance;
}

void compare_value(comparison *c, int64_t index, double got, double expected, double tolerance) {
    c->count++;
    if ((isnan(got) && isnan(expected)) || got == expected) {
        return;
    }
    const double error = fabs(got - expected);
    const bool good = error <= tolerance;
    const double share = tolerance > 0 ? error / tolerance : (double)INFINITY;
    if (!good && c->wrong++ == 0) {
        remember(c, index, got, expected, tolerance);
    }
    if (!isfinite(error)) {
        c->worst_share = INFINITY;
        c->greatest_error = INFINITY;
        return;
    }
    c->sum_of_squares += error * error;
    c->greatest_error = fmax(c->greatest_error, error);
    if (share > c->worst_share) {
        c->worst_share = share;
        if (c->wrong == 0) {
            remember(c, index, got, expected, tolerance);
        }
    }
}

bool comparison_passes(const comparison *c) {
    return c->wrong == 0;
}

static double root_mean_square(const comparison *c) {
    return c->count > 0 ? sqrt(c->sum_of_squares / (double)c->count) : 0;
}

void comparison_print(const comparison *c, const char *against, FILE *to) {
    fprintf(to, "%-10s %s against %s: max |error| %.3g, root mean square %.3g", "check", c->name, against,
            c->greatest_error, root_mean_square(c));
    if (comparison_passes(c)) {
        fprintf(to, ", at most %.2g of the tolerance: right\n", c->worst_share);
    } else {
        fprintf(to, ": WRONG in %lld of %lld values, first at index %lld: %.9g, expected %.9g +- %.3g\n",
                (long long)c->wrong, (long long)c->count, (long long)c->index, c->got, c->expected, c->tolerance);
    }
}

json_t *comparison_json(const comparison *c) {
    json_t *json =
        json_pack("{s:s, s:b, s:I, s:I, s:o, s:o, s:o, s:o}", "result", c->name, "right", comparison_passes(c),
                  "values", (json_int_t)c->count, "wrong", (json_int_t)c->wrong, "max_abs_error",
                  json_number(c->greatest_error), "rms_error", json_number(root_mean_square(c)),
                  "worst_share_of_tolerance", json_number(c->worst_share), "tolerance", json_number(c->tolerance));
    return json;
}
