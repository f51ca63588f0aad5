/* The complete text of a kernel file. */
#ifndef OCLATTN_PROGRAM_SOURCE_H
#define OCLATTN_PROGRAM_SOURCE_H

#include "parts.h"
#include "text.h"

/* Appends the text of a file of cl/ to `expanded`. A line `#include "name"` is replaced by that file, the first time
 * it is met, also where the line stands between #if and #endif; so the compiler needs no include path, which may hold
 * blanks that drivers split at. #line directives keep the compiler's messages right.
 * Files come from the library, or from the folder in OCLATTN_KERNEL_DIR. */
oclattn_status source_expand(const char *file, text *expanded, oclattn_error *error);

/* The same for several files in one text, each between its options as #define and #undef. A file that several of them
 * include stands where the first one includes it; OCLATTN_UNSUPPORTED where it would mean something else to another. */
oclattn_status source_join(const program_parts *parts, text *joined, oclattn_error *error);

#endif
