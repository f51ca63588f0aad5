#include "contest.h"

#include <math.h>
#include <string.h>

#include "measure/clock.h"
#include "plan/tuning_file.h"

/* A run is made this long, by larger batches, so that launching it does not count. */
#define LEAST_RUN_S 0.003
enum { MOST_BATCH = 256 };

static const race_limits first_race = {4, 0.4}, second_race = {8, 0.8}, last_race = {10, 1.0}, quick_race = {1, 0};

static const race_limits *limits_of(const contest *c, const race_limits *limits) {
    return c->task->quick ? &quick_race : limits;
}

/* ---- plans ------------------------------------------------------------------------------------------------------ */

/* Plans that are made from now on have these values: the environment names the file. */
static bool put_into_force(const contest *c, const tuning *values, failure *f) {
    const tuning_group group = c->task->what->group;
    const tuning_record record = {.found = true, .values = *values};
    if (!tuning_file_store(c->device.context, c->task->candidate_file, group, &record)) {
        return fail_with(f, EXIT_RUNTIME, "cannot write %s", c->task->candidate_file);
    }
    if (!tuning_for(c->device.context).from_file[group]) {
        return fail_with(f, EXIT_RUNTIME, "the library does not take the values from %s", c->task->candidate_file);
    }
    return true;
}

static bool has_problem(const contest *c, int i) {
    return c->works[i].outputs > 0;
}

static bool prepare(const contest *c, contender *who, int i, failure *f) {
    if (who->runs[i].plan || !has_problem(c, i)) {
        return true;
    }
    return put_into_force(c, &who->values, f) && run_make(&who->runs[i], &c->works[i], who->variant, f);
}

static bool prepare_measured(const contest *c, contender *who, failure *f) {
    for (int i = 0; i < MOST_MEASURED; i++) {
        if (!prepare(c, who, i, f)) {
            return false;
        }
    }
    return true;
}

static void contender_clear(contender *who) {
    for (int i = 0; i < CONTEST_PROBLEMS; i++) {
        run_clear(&who->runs[i]);
    }
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static bool make_work(contest *c, int i, int64_t batch, failure *f) {
    const tune_class *what = c->task->what;
    tune_problem problem = i == CONTEST_GUARDED ? what->guarded : what->measured[i];
    if (problem.operation == TUNE_NOTHING) {
        return true;
    }
    problem = c->task->quick ? problem_in_small(&problem) : problem;
    problem.batch *= batch;
    return work_make(&c->works[i], &c->device, &problem, false, f);
}

static bool time_once(tune_run *run, double *seconds, failure *f) {
    if (!run_once(run, f)) {
        return false;
    }
    const double start = now_s();
    const bool good = run_once(run, f);
    *seconds = now_s() - start;
    return good;
}

/* The batch that makes a run of the champion long enough. */
static bool make_measurable(contest *c, int i, failure *f) {
    for (int64_t batch = 1;; batch *= 2) {
        double seconds = 0;
        if (!make_work(c, i, batch, f) || !prepare(c, &c->champion, i, f)) {
            return false;
        }
        if (!has_problem(c, i) || c->task->quick || batch >= MOST_BATCH) {
            return true;
        }
        if (!time_once(&c->champion.runs[i], &seconds, f)) {
            return false;
        }
        if (seconds >= LEAST_RUN_S) {
            return true;
        }
        run_clear(&c->champion.runs[i]);
        work_clear(&c->works[i]);
    }
}

static bool run_checks(const contest *c, const contender *who, failure *f) {
    if (!put_into_force(c, &who->values, f)) {
        return false;
    }
    for (int i = 0; i < MOST_CHECKED; i++) {
        if (c->checks[i].expected && !check_run(&c->checks[i], who->variant, f)) {
            return false;
        }
    }
    return true;
}

static bool make_checks(contest *c, failure *f) {
    for (int i = 0; i < MOST_CHECKED; i++) {
        const tune_problem *problem = &c->task->what->checked[i];
        if (problem->operation != TUNE_NOTHING && !check_make(&c->checks[i], &c->device, problem, f)) {
            return false;
        }
    }
    return true;
}

bool contest_open(contest *c, const tune_task *task, const tuning *champion, const char *variant, failure *f) {
    c->task = task;
    c->champion = (contender){.values = *champion, .variant = variant};
    if (!make_checks(c, f) || !run_checks(c, &c->champion, f)) {
        return false;
    }
    for (int i = 0; i < CONTEST_PROBLEMS; i++) {
        if (!make_measurable(c, i, f)) {
            return false;
        }
    }
    c->is_open = true;
    return true;
}

void contest_close(contest *c) {
    contender_clear(&c->champion);
    for (int i = 0; i < CONTEST_PROBLEMS; i++) {
        work_clear(&c->works[i]);
    }
    for (int i = 0; i < MOST_CHECKED; i++) {
        check_clear(&c->checks[i]);
    }
    c->is_open = false;
}

/* ---- judging ---------------------------------------------------------------------------------------------------- */

/* How many times faster the second one is, over the problems [from, to). */
static bool race_all(const contest *c, contender *first, contender *second, int from, int to, const race_limits *limits,
                     double least_s[][2], double *gain, failure *f) {
    double sum = 0;
    int count = 0;
    for (int i = from; i < to; i++) {
        least_s[i][0] = least_s[i][1] = 0;
        if (!has_problem(c, i)) {
            continue;
        }
        if (!race_run(&first->runs[i], &second->runs[i], limits_of(c, limits), least_s[i], f)) {
            return false;
        }
        sum += log(least_s[i][0] / least_s[i][1]);
        count++;
    }
    *gain = exp(sum / count);
    return true;
}

static bool is_right(const contest *c, contender *candidate, failure *f) {
    for (int i = 0; i < MOST_MEASURED; i++) {
        if (has_problem(c, i) && !check_agreement((tune_run *)&c->champion.runs[i], &candidate->runs[i], f)) {
            return false;
        }
    }
    return run_checks(c, candidate, f);
}

/* What a race says, and the candidate's own failures. */
typedef enum judgement { JUDGED_WORSE, JUDGED_BETTER, JUDGED_OUT, JUDGED_BROKEN } judgement;

static judgement judge_speed(contest *c, contender *candidate, const race_limits *limits, contest_result *result) {
    double least_s[CONTEST_PROBLEMS][2];
    if (!race_all(c, &c->champion, candidate, 0, MOST_MEASURED, limits, least_s, &result->gain, &result->reason)) {
        return JUDGED_BROKEN;
    }
    return result->gain >= NEEDED_GAIN ? JUDGED_BETTER : JUDGED_WORSE;
}

static judgement judge_guarded(contest *c, contender *candidate, contest_result *result) {
    double least_s[CONTEST_PROBLEMS][2], gain = 0;
    if (!prepare(c, candidate, CONTEST_GUARDED, &result->reason)) {
        return JUDGED_OUT;
    }
    if (!race_all(c, &c->champion, candidate, CONTEST_GUARDED, CONTEST_PROBLEMS, &first_race, least_s, &gain,
                  &result->reason)) {
        return JUDGED_BROKEN;
    }
    return gain * NEEDED_GAIN >= 1 ? JUDGED_BETTER : JUDGED_WORSE;
}

static judgement judge_results(contest *c, contender *candidate, contest_result *result) {
    if (is_right(c, candidate, &result->reason)) {
        return JUDGED_BETTER;
    }
    return result->reason.code == EXIT_RUNTIME ? JUDGED_BROKEN : JUDGED_OUT;
}

static judgement judge(contest *c, contender *candidate, contest_result *result) {
    if (!prepare_measured(c, candidate, &result->reason)) {
        return JUDGED_OUT;
    }
    judgement judged = judge_speed(c, candidate, &first_race, result);
    if (judged == JUDGED_BETTER) {
        judged = judge_results(c, candidate, result);
    }
    if (judged == JUDGED_BETTER && has_problem(c, CONTEST_GUARDED)) {
        judged = judge_guarded(c, candidate, result);
    }
    return judged == JUDGED_BETTER ? judge_speed(c, candidate, &second_race, result) : judged;
}

bool contest_judge(contest *c, const tuning *candidate, contest_result *result, failure *f) {
    contender challenger = {.values = *candidate, .variant = c->task->what->variant};
    *result = (contest_result){.better = false};
    if (!prepare_measured(c, &c->champion, f) || !prepare(c, &c->champion, CONTEST_GUARDED, f)) {
        return false;
    }
    const judgement judged = judge(c, &challenger, result);
    result->better = judged == JUDGED_BETTER;
    result->broken = judged == JUDGED_BROKEN;
    if (result->better) {
        contender_clear(&c->champion);
        c->champion = challenger;
    } else {
        contender_clear(&challenger);
    }
    return true;
}

bool contest_measure(contest *c, const tuning *candidate, double least_s[][2], double *gain, failure *f) {
    contender challenger = {.values = *candidate, .variant = c->task->what->variant};
    const bool good = prepare_measured(c, &c->champion, f) && prepare_measured(c, &challenger, f) &&
                      race_all(c, &c->champion, &challenger, 0, MOST_MEASURED, &second_race, least_s, gain, f) &&
                      is_right(c, &challenger, f);
    contender_clear(&challenger);
    return good;
}

bool contest_compare(contest *c, const tuning *start, contest_times *times, failure *f) {
    contender first = {.values = *start, .variant = c->task->what->variant};
    double guarded = 0;
    const bool good =
        prepare_measured(c, &first, f) && prepare(c, &first, CONTEST_GUARDED, f) &&
        race_all(c, &first, &c->champion, 0, MOST_MEASURED, &last_race, times->least_s, &times->gain, f) &&
        race_all(c, &first, &c->champion, CONTEST_GUARDED, CONTEST_PROBLEMS, &last_race, times->least_s, &guarded, f);
    contender_clear(&first);
    return good;
}
