#include "race.h"

#include <math.h>

#include "measure/clock.h"
#include "measure/timing.h"

/* The second one is given up when it is slower by this factor after a few rounds. */
#define HOPELESS 1.25
enum { ROUNDS_OF_HOPE = 3 };

/* Which of them begins changes from round to round. */
static bool run_round(tune_run *runs[2], int round, double least_s[2], failure *f) {
    for (int turn = 0; turn < 2; turn++) {
        const int i = (turn + round) % 2;
        double seconds = 0;
        if (!measure_run(runs[i]->work->device->queue, run_enqueue, runs[i], &seconds, NULL, f)) {
            return false;
        }
        least_s[i] = fmin(least_s[i], seconds);
    }
    return true;
}

bool race_run(tune_run *first, tune_run *second, const race_limits *limits, double least_s[2], failure *f) {
    tune_run *runs[2] = {first, second};
    double warm_up_s[2] = {INFINITY, INFINITY};
    const double end = now_s() + limits->budget_s;
    least_s[0] = least_s[1] = INFINITY;
    if (!run_round(runs, 0, warm_up_s, f)) {
        return false;
    }
    for (int round = 0; round < limits->least_rounds || now_s() < end; round++) {
        if (!run_round(runs, round, least_s, f)) {
            return false;
        }
        if (round + 1 >= ROUNDS_OF_HOPE && least_s[1] > HOPELESS * least_s[0]) {
            break;
        }
    }
    return true;
}
