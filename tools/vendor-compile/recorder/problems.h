/* The problems whose kernels are compiled. */
#ifndef OCLATTN_VENDOR_COMPILE_PROBLEMS_H
#define OCLATTN_VENDOR_COMPILE_PROBLEMS_H

#include <jansson.h>

#include <oclattn/oclattn.h>

/* Plans all of them in the context, by default and by each variant that is not made for CPUs, and adds what each plan
 * launches to the array: objects of {kernel, source, options, group, local_arguments, type, head_dim, switches,
 * by_default}. */
oclattn_status problems_plan(oclattn_context *context, json_t *kernels, oclattn_error *error);

#endif
