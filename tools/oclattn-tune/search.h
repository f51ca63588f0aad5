/* Coordinate descent over the values of one group: which candidate comes next. What is better, the caller says. */
#ifndef OCLATTN_TUNE_SEARCH_H
#define OCLATTN_TUNE_SEARCH_H

#include "plan/tuning_parameters.h"

typedef enum search_answer { SEARCH_BETTER, SEARCH_NO_BETTER, SEARCH_STOP } search_answer;

/* Whether the candidate is better than the best one so far. */
typedef search_answer (*search_ask)(const tuning *candidate, void *user);

typedef enum search_end { SEARCH_FINISHED, SEARCH_STOPPED, SEARCH_NO_MEMORY } search_end;

/* Takes *best, which obeys the rules, to where no step in one parameter is better. Every candidate obeys the rules and
 * comes once; where a step breaks a rule that another parameter can mend, that one moves along. The order depends on
 * the answers alone. */
search_end search_descend(tuning_group group, int lanes, tuning *best, search_ask ask, void *user);

/* The values of a group, in the order of tuning_parameters; returns how many. */
enum { MOST_GROUP_VALUES = 32 };
size_t search_values(tuning_group group, const tuning *tuned, int values[MOST_GROUP_VALUES]);

/* What differs in a group, such as "groups 4 -> 6, key_step 4 -> 8"; "" where nothing does. */
void search_difference(tuning_group group, const tuning *from, const tuning *to, char *words, size_t size);

#endif
