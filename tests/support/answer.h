/* Runs a kernel `answer(global int *out)` with one work-item. */
#ifndef TEST_SUPPORT_ANSWER_H
#define TEST_SUPPORT_ANSWER_H

#include <oclattn/oclattn.h>

/* VALUE is a macro of the build options. */
#define ANSWER_SOURCE "kernel void answer(global int *out) { out[get_global_id(0)] = VALUE; }\n"

int answer_of(const oclattn_context *context, cl_kernel kernel);

#endif
