/* The programs of a context. */
#ifndef OCLATTN_PROGRAM_BUILD_H
#define OCLATTN_PROGRAM_BUILD_H

#include "context.h"

/* Frees a context's programs. With release_cl false the OpenCL objects are left alone: in a forked child they belong to
 * the parent. */
void programs_free(struct built_program *programs, bool release_cl);

#endif
