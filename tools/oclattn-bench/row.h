/* What came out for one problem on one device, as a line of the table and as JSON. */
#ifndef OCLATTN_BENCH_ROW_H
#define OCLATTN_BENCH_ROW_H

#include "check.h"
#include "measure/timing.h"

typedef struct bench_row {
    const bench_problem *problem;
    const bench_device *device;
    char variants[160];
    int64_t copies; /* of K and V */
    measure_times times;
    failure trouble; /* of a problem that was not measured */
    bool measured;
    check_verdict check;
    bool has_baseline, slower; /* whether the baseline knows the problem */
    double baseline_s;         /* its least time */
} bench_row;

/* Of the measured peak that binds the problem: of arithmetic, or, in decoding, of reading memory. Below 0: not known.
 */
double row_share(const bench_row *row);

void row_print_heading(problem_group group, bool with_baseline);
/* `title`: where it differs from the row before. */
void row_print(const bench_row *row, bool with_title, bool with_baseline);
json_t *row_json(const bench_row *row);

#endif
