/* What every entry point checks before it calls an operation. */
#ifndef OCLATTN_API_ENTRY_H
#define OCLATTN_API_ENTRY_H

#include "../ops/ops.h"

/* Before planning: the context, the descriptor's struct_size, and the place for the plan, which is set to NULL. */
oclattn_status entry_plan(const oclattn_context *context, const void *desc, size_t desc_size, const char *desc_name,
                          oclattn_plan **plan, oclattn_error *error);
/* After resolving: compiles the plan, and destroys it where that fails. */
oclattn_status entry_compile(oclattn_status resolved, oclattn_plan **plan, oclattn_error *error);

/* Before an enqueue: the plan, the arguments' struct_size, the queue and the workspace. */
typedef struct entry_call {
    const oclattn_plan *plan;
    plan_kind kind;
    const void *args;
    size_t args_size;
    const char *args_name;
    cl_command_queue queue;
    cl_uint wait_count;
    const cl_event *wait_list;
    cl_event *event;
} entry_call;

oclattn_status entry_begin(const entry_call *call, launch_list *list, oclattn_error *error);
/* After it: the event on success, nothing left behind on failure. */
oclattn_status entry_end(const entry_call *call, launch_list *list, oclattn_status status, oclattn_error *error);

#endif
