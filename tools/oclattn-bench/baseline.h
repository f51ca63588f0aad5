/* Times of an earlier run. */
#ifndef OCLATTN_BENCH_BASELINE_H
#define OCLATTN_BENCH_BASELINE_H

#include "row.h"

/* What --json wrote. NULL: it is not that. */
json_t *baseline_load(const char *path, failure *f);

/* Finds the row's problem, in the same types and with the same wish for a variant, on a device of the same name (the
 * same "P:D" first), and fills in what the row says of it. */
void baseline_compare(const json_t *baseline, double tolerance_percent, bench_row *row);

#endif
