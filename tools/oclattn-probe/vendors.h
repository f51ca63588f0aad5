/* What the OpenCL loader is told about drivers, and the usual reasons why it finds none. */
#ifndef OCLATTN_PROBE_VENDORS_H
#define OCLATTN_PROBE_VENDORS_H

#include <stdbool.h>

#include <jansson.h>

/* Adds {"file", "path", "library", "problem"} for every .icd file of the loader's folder. */
void vendors_list(json_t *vendors);

/* The loader's environment, as it was. */
typedef struct vendors_choice {
    char *before; /* NULL: not set */
} vendors_choice;

/* Lets processes that start from here on see one driver alone. */
vendors_choice vendors_show_only(const char *path);
void vendors_show_again(const vendors_choice *choice);

/* Lets them see, until vendors_restore, the drivers whose entries are not marked "culprit". False: there is no place
 * for the folder of links that this takes. */
bool vendors_leave_out_culprits(const json_t *vendors);
void vendors_restore(void);

/* Sets the loader's "hint" where a GPU, or any device, is missing for a reason that can be seen. */
void vendors_add_hint(json_t *document);

#endif
