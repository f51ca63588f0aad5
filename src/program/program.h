/* Kernel sources, building them, and keeping what was built. */
#ifndef OCLATTN_PROGRAM_PROGRAM_H
#define OCLATTN_PROGRAM_PROGRAM_H

#include "context.h"
#include "parts.h"

/* The program of one file of cl/ built with `options` ("-DK_TYPE=1 ..."), built at most once per context and
 * options: from memory, else from the cache on disk, else from source. The program belongs to the context. A failed
 * build is OCLATTN_BUILD_FAILED with the start of the compiler's log (all of it goes to the log). May be called from
 * many threads. */
oclattn_status program_get(oclattn_context *context, const char *file, const char *options, cl_program *program,
                           oclattn_error *error);

/* Builds those of the parts that are not built yet as one program, where they agree: some compilers take half a second
 * for a program of any size. program_get then finds each of them. What cannot be built together is left to program_get.
 */
void program_join(oclattn_context *context, const program_parts *parts);

/* A new kernel of that program; the caller releases it. */
oclattn_status program_kernel(oclattn_context *context, const char *file, const char *options, const char *kernel_name,
                              cl_kernel *kernel, oclattn_error *error);

#endif
