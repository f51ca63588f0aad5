/* What is in force, and what would be measured. */
#ifndef OCLATTN_TUNE_SHOW_H
#define OCLATTN_TUNE_SHOW_H

#include "tune.h"

/* Every parameter, its value, where it is from and what it means. */
void show_in_force(const tune_machine *m, const tune_wish *wish, json_t *document);

/* The classes, their problems, and what the file says of them. */
void show_plan(const tune_machine *m, const tune_wish *wish, json_t *document);

#endif
