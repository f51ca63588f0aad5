/* What every plan has, whatever it computes. An operation's own plan begins with a struct oclattn_plan. */
#ifndef OCLATTN_PLAN_PLAN_H
#define OCLATTN_PLAN_PLAN_H

#include "../program/context.h"
#include "../program/parts.h"
#include "../program/text.h"

typedef enum plan_kind {
    PLAN_ATTENTION,
    PLAN_MERGE_STATES,
    PLAN_SPLIT,
    PLAN_MERGE,
    PLAN_PROJECTION,
    PLAN_MHA
} plan_kind;

/* What an operation brings. A plan is first resolved (checked and laid out, nothing compiled), then compiled. */
typedef struct plan_type {
    plan_kind kind;
    size_t bytes; /* of its struct */
    void (*add_parts)(const oclattn_plan *plan, program_parts *parts); /* what compile will build */
    oclattn_status (*compile)(oclattn_plan *plan, oclattn_error *error);
    void (*describe)(const oclattn_plan *plan, const char *indent, text *lines); /* each line after `indent` */
    void (*clear)(oclattn_plan *plan); /* releases what the operation added, also half made */
} plan_type;

struct oclattn_plan {
    const plan_type *type;
    oclattn_context *context; /* retained */
    const char *variant;      /* static */
    size_t workspace_bytes;
    text description;
    mtx_t lock; /* guards the arguments of the plan's kernels */
};

/* Allocates a zeroed plan of the type. */
oclattn_status plan_new(const plan_type *type, oclattn_context *context, oclattn_plan **plan, oclattn_error *error);

/* After resolving a new plan with `status`: gives it to *plan, or destroys it. Returns the status. */
oclattn_status plan_hand_over(oclattn_plan *made, oclattn_status status, oclattn_plan **plan);

/* Compiles a resolved plan and writes its description. */
oclattn_status plan_compile(oclattn_plan *plan, oclattn_error *error);

/* Whether `plan` is one of `kind` and may be used in this process. */
oclattn_status plan_check(const oclattn_plan *plan, plan_kind kind, oclattn_error *error);

/* A plan is immutable to its users; only the arguments of its kernels change while a call puts them on a queue. */
void plan_lock(const oclattn_plan *plan);
void plan_unlock(const oclattn_plan *plan);

/* Reserves `bytes` in a workspace of *total bytes so far and returns where they begin. SIZE_MAX when sizes overflow,
 * from then on. */
size_t workspace_reserve(size_t *total, size_t bytes);

/* The workspace that a call brought. Needed: at least workspace_bytes. */
oclattn_status workspace_check(const oclattn_plan *plan, cl_mem workspace, oclattn_error *error);

/* Whether a descriptor or argument struct was initialised, by its struct_size, and has the size that this version of
 * the library knows. `what` is its type name, such as "oclattn_mha_desc". */
oclattn_status struct_check(const void *theirs, size_t our_size, const char *what, oclattn_error *error);

#endif
