/* The table of variants, and the walk through it. */
#ifndef OCLATTN_PLAN_VARIANT_H
#define OCLATTN_PLAN_VARIANT_H

#include "../program/text.h"
#include "plan.h"
#include "tuning.h"

typedef enum variant_id {
    VARIANT_ATTENTION_FEW_ROWS_CPU,
    VARIANT_ATTENTION_TILED_CPU,
    VARIANT_ATTENTION_TILED_GPU,
    VARIANT_ATTENTION_PORTABLE,
    VARIANT_PROJECTION_CLBLAST,
    VARIANT_PROJECTION_TILED_CPU,
    VARIANT_PROJECTION_PORTABLE
} variant_id;

/* One way to run an operation, and what it asks of the device and of the problem; 0 asks nothing. */
typedef struct variant {
    variant_id id;
    plan_kind operation;
    const char *name;
    const char *what; /* for people */
    size_t min_parameter_bytes;
    int64_t max_width;      /* of a row of K or V */
    int64_t max_rows;       /* query rows that share K and V */
    cl_device_type good_on; /* taken unasked only on such devices */
    bool only_if_preferred; /* taken unasked only where the tuning table says that it is good */
    int choice;             /* by which tuning files name it: enum attention_choice; 0: they do not */
} variant;

/* What is to be run. Sizes are those of attention, 0 elsewhere. */
typedef struct variant_request {
    plan_kind operation;
    const char *wanted;    /* a variant's name; NULL: the best that fits */
    int64_t width;         /* the larger of head_dim and v_dim */
    int64_t rows;          /* query rows that share K and V; INT64_MAX where that depends on the batch */
    bool few_rows;         /* of attention: q_len is at most FEW_ROWS, and sequences are not packed */
    int q_bytes, kv_bytes; /* of an element, of Q as the kernels hold it and of the wider one of K and V */
} variant_request;

/* Walks the rows of the request's operation: the one that the tuning puts first, then the others in the table's order.
 * Start with *cursor = 0. Returns the next row that fits, or NULL at the end. Why a row was passed over is added to
 * `refusals`, a line each. */
const variant *variant_next(const variant_request *request, const oclattn_context *context, const tuning *tuned,
                            size_t *cursor, text *refusals);

/* Whether the tuning puts a variant of attention first. */
bool variant_is_first_choice(const variant *row, bool few_rows, const tuning *tuned);

/* The names of an operation's rows, by preference; NULL at the end. */
const char *variant_name(plan_kind operation, size_t index);

/* The sentence for when the walk found nothing: what the refusals say, or which names exist. */
oclattn_status variant_none(const variant_request *request, const text *refusals, oclattn_error *error);

/* Adds the refusals to `lines`, each on a line of its own after `indent`. */
void variant_describe_refusals(const text *refusals, const char *indent, text *lines);

#endif
