/* The parent process: one child for each class, and what comes of it into the file. */
#ifndef OCLATTN_TUNE_TUNE_H
#define OCLATTN_TUNE_TUNE_H

#include <jansson.h>

#include "classes.h"
#include "machine.h"

typedef struct tune_wish {
    double budget_s;
    const char *class_name; /* NULL: those that are for the device */
    bool quick, restart, json;
} tune_wish;

/* Whether the class is to be measured. */
bool class_is_wanted(const tune_class *c, const tune_machine *m, const tune_wish *wish);

/* Measures, writes the file after each class, prints, and with --json fills the document. EXIT_DONE, or what `f` says.
 */
exit_code tune_all(const tune_machine *m, const tune_wish *wish, json_t *document, failure *f);

#endif
