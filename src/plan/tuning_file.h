/* What oclattn-tune has measured on this machine: a text file that goes over the tuning table.
 *
 *     oclattn tuning 1
 *     # a comment
 *     [device]
 *     name = ...                      as the driver says it, and so for
 *     driver = ...                    its version
 *     [attention_tiled_cpu.64]        a group of tuning_parameters.h
 *     kernel = 0123456789abcdef       the version of the kernel that was measured
 *     groups = 4
 *     measured = ...                  for people
 *     search = finished               or how else it ended, a word for oclattn-tune
 *
 * Devices follow each other, each with its groups. The file is $OCLATTN_TUNING ("off": none), else `tuning` in the
 * cache folder. A group holds for one device name, driver version and kernel version. Nothing here fails: what is
 * damaged, breaks a rule of tuning_parameters.h or was measured elsewhere is passed over, with a line in the log. */
#ifndef OCLATTN_PLAN_TUNING_FILE_H
#define OCLATTN_PLAN_TUNING_FILE_H

#include "../program/context.h"
#include "tuning.h"

/* The path of the file that is looked at. False: there is none to look at. */
bool tuning_file_path(const oclattn_context *context, text *path);

/* The values for the context's device: the file's, and the table's where it holds none. */
tuning tuning_for(const oclattn_context *context);

/* What a file holds of a group besides its values. */
typedef struct tuning_record {
    bool found;
    tuning values;      /* a row's where not found */
    char measured[256]; /* "" where it says nothing */
    char search[16];
} tuning_record;

void tuning_file_load(const oclattn_context *context, const char *path, tuning_record records[TUNING_GROUPS]);

/* The table's values, and over them those that were found in the file. */
tuning tuning_over(const oclattn_context *context, const char *path, const tuning_record records[TUNING_GROUPS]);

/* Replaces a group of the context's device in the file and leaves the rest as it is. Its folder is made. False: errno
 * says why. */
bool tuning_file_store(const oclattn_context *context, const char *path, tuning_group group,
                       const tuning_record *record);

/* Makes its folder, and says whether it can be written there. False: errno says why. */
bool tuning_file_may_be_stored(const char *path);

#endif
