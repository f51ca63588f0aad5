/* A result against float64. Problems too large for plain loops are checked in some rows, and the verdict says which. */
#ifndef OCLATTN_BENCH_CHECK_H
#define OCLATTN_BENCH_CHECK_H

#include "prepared.h"

typedef struct check_verdict {
    bool done;
    int64_t rows, all_rows;    /* that were checked, and that there are */
    char which[96];            /* where they lie */
    int64_t values, wrong;     /* numbers compared */
    double greatest_error;     /* infinite where a number is missing */
    double share_of_tolerance; /* of the worst number */
} check_verdict;

/* Runs the problem once more, over an output that holds no numbers, and compares. */
bool check_result(prepared *r, check_verdict *verdict, failure *f);

json_t *check_json(const check_verdict *verdict);

/* ---- for its parts ---------------------------------------------------------------------------------------------- */

bool check_attention(const prepared *r, check_verdict *verdict, failure *f);
bool check_layer(const prepared *r, check_verdict *verdict, failure *f);
bool check_projection(const prepared *r, check_verdict *verdict, failure *f);

void check_value(check_verdict *verdict, double got, double expected, double tolerance);
double greatest_size(const double *values, int64_t count);

#endif
