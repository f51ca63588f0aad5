/* The parent's side of one class: its children, and what they say. */
#ifndef OCLATTN_TUNE_CLASS_SEARCH_H
#define OCLATTN_TUNE_CLASS_SEARCH_H

#include <jansson.h>

#include "bar.h"
#include "io/failure.h"
#include "worker.h"

/* What is known of a class's search. */
typedef struct class_search {
    const tune_class *what;
    const bar *bar;
    tuning start;
    int values; /* of the group */
    tune_decision *decided;
    size_t decided_count, decided_capacity, skipped;
    bool is_running; /* a candidate that has not been decided */
    int running[MOST_GROUP_VALUES];
    json_t *candidates;
    /* The end. */
    bool has_ended, again;
    tuning best;
    double gain;
    char end[16];
    json_t *problems;
    failure trouble;
    /* The candidate that was measured last, of a class whose values are set once. */
    double measured_gain; /* over the library's own kernel; 0: it is out of the question */
    json_t *measured_problems;
} class_search;

/* class_search_clear afterwards. */
void class_search_init(class_search *s, const tune_class *what, const tuning *start, const bar *b);
void class_search_clear(class_search *s);

/* Both end with has_ended, or trouble. */
void class_descend(class_search *s, tune_task *task);
/* Each candidate in a process of its own; the best two are measured again. */
void class_try_list(class_search *s, tune_task *task);

/* {"name": value} for each value of a group. */
json_t *class_values_json(tuning_group group, const tuning *values);

#endif
