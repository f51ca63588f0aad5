/* What may be tuned: one list of the parameters in struct tuning, for everything that reads, writes, shows or searches
 * them. */
#ifndef OCLATTN_PLAN_TUNING_PARAMETERS_H
#define OCLATTN_PLAN_TUNING_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

#include "../program/text.h"
#include "tuning.h"

enum { TUNING_KERNELS = 4 };

typedef struct tuning_group_info {
    const char *name;                         /* "attention_tiled_cpu.64": what its parameters' names begin with */
    const char *kernel_files[TUNING_KERNELS]; /* in cl/: measurements hold for one version of them; NULL: no more */
} tuning_group_info;

typedef struct tuning_parameter {
    tuning_group group;
    const char *name;      /* without that of the group */
    size_t offset;         /* of an int in struct tuning */
    int least, most, step; /* allowed: `least`, and multiples of `step` up to `most` */
    const char *meaning;   /* one line */
} tuning_parameter;

extern const tuning_group_info tuning_groups[TUNING_GROUPS];
extern const tuning_parameter tuning_parameters[];
extern const size_t tuning_parameter_count;

int tuning_value(const tuning *tuned, const tuning_parameter *parameter);
void tuning_set_value(tuning *tuned, const tuning_parameter *parameter, int value);

/* Whether the values are names of things, not sizes: neighbours are not alike. */
bool tuning_is_choice(const tuning_parameter *parameter);

/* NULL: there is none of that name. */
const tuning_parameter *tuning_find_parameter(tuning_group group, const char *name);

/* Whether the value alone is allowed. */
bool tuning_allows(const tuning_parameter *parameter, int value);

/* Whether a group's values are allowed, each alone and all together, for vectors of `lanes`; `why` receives what is
 * wrong, in one line without its end. */
bool tuning_check(const tuning *tuned, tuning_group group, int lanes, text *why);

/* Adds a line with a group's values and where they are from, after `indent`. */
void tuning_describe(const tuning *tuned, tuning_group group, const device_caps *caps, const char *indent, text *lines);

#endif
