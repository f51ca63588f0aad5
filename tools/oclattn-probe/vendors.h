/* What the OpenCL loader is told about drivers. */
#ifndef OCLATTN_PROBE_VENDORS_H
#define OCLATTN_PROBE_VENDORS_H

#include <stdbool.h>

#include <jansson.h>

/* Where the loader looks: a folder, a single .icd file, or a driver's library. */
const char *vendors_folder(void);

/* Adds {"file", "path", "library", "problem"} for every .icd file there. */
void vendors_list(json_t *vendors);

/* The loader's environment, as it was. */
typedef struct vendors_choice {
    char *before; /* NULL: not set */
} vendors_choice;

/* Lets processes that start from here on see one driver alone, or those of one folder. */
vendors_choice vendors_show_only(const char *path);
void vendors_show_again(const vendors_choice *choice);

/* Lets them see, until vendors_restore, the drivers whose entries are not marked "culprit". False: there is no place
 * for the folder of links that this takes. The folder goes when this process ends, however it ends. */
bool vendors_leave_out_culprits(const json_t *vendors);
void vendors_restore(void);

#endif
