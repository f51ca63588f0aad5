/* What surveying the machine, and looking for the driver that breaks down, share. */
#ifndef OCLATTN_PROBE_SURVEY_PARTS_H
#define OCLATTN_PROBE_SURVEY_PARTS_H

#include <jansson.h>

/* The number of platforms; sets the loader's "problem" and "broken". */
int count_platforms(json_t *loader, double limit_s);

/* The platform's record, "broken" where its driver broke down. */
json_t *ask_platform(int index, double limit_s);

/* A record for a driver that never came to answer. */
json_t *silent_platform(const char *problem);

/* After the loader broke down: finds the .icd files at fault, marks them "culprit", lists them in the loader's
 * "left_out", and lets the loader go without them. Returns the number of platforms that are left. `apart` receives the
 * records of those that are not, and, where the loader cannot be made to go without, of all. */
int leave_out_culprits(json_t *loader, json_t *apart, double limit_s);

/* After a platform broke down, and not the loader: marks its .icd file "culprit" and names it in the record. */
void name_culprits(json_t *loader, json_t *platforms, double limit_s);

#endif
