/* The table of variants, and the walk through it. */
#ifndef OCLATTN_PLAN_VARIANT_H
#define OCLATTN_PLAN_VARIANT_H

#include "../program/text.h"
#include "plan.h"
#include "tuning.h"

typedef enum variant_id {
    VARIANT_ATTENTION_PORTABLE,
    VARIANT_PROJECTION_CLBLAST,
    VARIANT_PROJECTION_PORTABLE
} variant_id;

/* One way to run an operation, and what it asks of the device. Head sizes are those of attention, 0 elsewhere. */
typedef struct variant {
    variant_id id;
    plan_kind operation;
    const char *name;
    const char *what;      /* for people */
    size_t min_work_group; /* work-items of one group, and of its first dimension */
    cl_ulong min_local_bytes;
    size_t min_parameter_bytes;
    bool only_if_preferred; /* taken unasked only where the tuning table says that it is good */
} variant;

/* Walks the rows of `operation`, the preferred ones first. Start with *cursor = 0. Returns the next row that fits the
 * device (and is called `wanted`, unless that is NULL), or NULL at the end. Why a row was passed over is added to
 * `refusals`, a line each. */
const variant *variant_next(plan_kind operation, const oclattn_context *context, const tuning *tuned,
                            const char *wanted, size_t *cursor, text *refusals);

/* The sentence for when the walk found nothing: what the refusals say, or which names exist. */
oclattn_status variant_none(plan_kind operation, const char *wanted, const text *refusals, oclattn_error *error);

/* Adds the refusals to `lines`, each on a line of its own after `indent`. */
void variant_describe_refusals(const text *refusals, const char *indent, text *lines);

#endif
