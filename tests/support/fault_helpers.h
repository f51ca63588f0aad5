/* What the tests under failing calls share. */
#ifndef OCLATTN_TESTS_FAULT_HELPERS_H
#define OCLATTN_TESTS_FAULT_HELPERS_H

#include "guarded.h"

/* A queue that may take commands in any order, where the device has one. */
cl_command_queue fault_queue(void);

/* After an enqueue on that queue, which said `status`. */
void fault_wait(oclattn_status status, cl_event event);

/* A matrix [a, b, c, d] of one value, with NaN around it. */
view fault_matrix(int64_t a, int64_t b, int64_t c, int64_t d, bool is_output, double value);

/* Reads an output back, after a call that reported success. */
void assert_all_elements(view *output, double expected);

/* A context that has compiled nothing yet. */
oclattn_context *fault_context(const char *cache_dir);

/* Destroys both while calls may fail. */
void fault_drop(oclattn_context *context, oclattn_plan *made, oclattn_status status);

#endif
