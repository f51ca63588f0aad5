/* The device's compiler. */
#ifndef OCLATTN_PROGRAM_COMPILE_H
#define OCLATTN_PROGRAM_COMPILE_H

#include "context.h"
#include "text.h"

/* Where it fails, *program may hold the log. */
cl_int compile_source(const oclattn_context *context, const text *source, const char *options, cl_program *program);

/* The program's binary, to be kept on disk; free it. NULL where the driver has none. */
unsigned char *compile_read_binary(const oclattn_context *context, cl_program program, size_t *size);

/* Makes the program from a binary that compile_read_binary gave; NULL where the driver does not take it. */
cl_program compile_binary(const oclattn_context *context, const unsigned char *binary, size_t size,
                          const char *options);

#endif
