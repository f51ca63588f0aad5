/* The device's compiler. */
#ifndef OCLATTN_PROGRAM_COMPILE_H
#define OCLATTN_PROGRAM_COMPILE_H

#include "context.h"
#include "text.h"

/* What the compiler made; release with compiled_clear. Where it failed, `program` may hold the log. */
typedef struct compiled {
    cl_program program;
    unsigned char *binary; /* to be kept on disk; NULL where it was not wanted, or the driver has none */
    size_t size;
} compiled;

cl_int compile_source(const oclattn_context *context, const text *source, const char *options, bool want_binary,
                      compiled *made);

/* Makes the program from a binary that compile_source gave; NULL where the driver does not take it. */
cl_program compile_binary(const oclattn_context *context, const unsigned char *binary, size_t size,
                          const char *options);

void compiled_clear(compiled *made);

#endif
