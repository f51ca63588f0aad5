/* The distance of a result from what it should be. */
#ifndef OCLATTN_RUN_COMPARE_H
#define OCLATTN_RUN_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct comparison {
    const char *name; /* of the result; NULL: not compared */
    int64_t count, wrong;
    double greatest_error, sum_of_squares;
    double worst_share;              /* greatest error / tolerance */
    double tolerance, got, expected; /* of the first wrong value, or of the one with the worst share */
    int64_t index;                   /* of that value in the result */
} comparison;

/* NaN equals NaN only, an infinity only itself. */
void compare_value(comparison *c, int64_t index, double got, double expected, double tolerance);
bool comparison_passes(const comparison *c);

void comparison_print(const comparison *c, const char *against, FILE *to);
json_t *comparison_json(const comparison *c);

#endif
