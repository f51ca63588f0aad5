/* The best values so far, and what it takes to replace them. */
#ifndef OCLATTN_TUNE_CONTEST_H
#define OCLATTN_TUNE_CONTEST_H

#include "check.h"
#include "race.h"
#include "worker.h"

/* The guarded problem comes last. */
enum { CONTEST_GUARDED = MOST_MEASURED, CONTEST_PROBLEMS = MOST_MEASURED + 1 };

/* Values, and their plans as far as they are made. */
typedef struct contender {
    tuning values;
    const char *variant; /* NULL: the one that the library takes */
    tune_run runs[CONTEST_PROBLEMS];
} contender;

typedef struct contest {
    const tune_task *task;
    tune_device device;
    tune_work works[CONTEST_PROBLEMS];
    tune_check checks[MOST_CHECKED];
    contender champion;
    bool is_open;
} contest;

typedef struct contest_result {
    bool better;
    double gain;    /* of the measured problems together; 0: it was not measured */
    failure reason; /* why it is out of the question; "" otherwise */
    bool broken;    /* the device failed, and may not be what it was */
} contest_result;

/* Makes data, checks the values to begin with, and makes problems large enough to measure. contest_close also after an
 * error. */
bool contest_open(contest *c, const tune_task *task, const tuning *champion, const char *variant, failure *f);
void contest_close(contest *c);

/* The champion's place goes to the candidate if that is faster, twice, and right. False: the champion itself fails. */
bool contest_judge(contest *c, const tuning *candidate, contest_result *result, failure *f);

/* The candidate, by the class's variant, against the champion, whatever comes of it. `least_s` as below. False: the
 * candidate is out of the question. */
bool contest_measure(contest *c, const tuning *candidate, double least_s[][2], double *gain, failure *f);

typedef struct contest_times {
    double least_s[CONTEST_PROBLEMS][2]; /* of `start`, and of the champion; 0: there is no such problem */
    double gain;
} contest_times;

/* The champion against what the search started from, longer than in a search. */
bool contest_compare(contest *c, const tuning *start, contest_times *times, failure *f);

#endif
