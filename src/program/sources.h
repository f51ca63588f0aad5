/* The files of cl/, embedded at build time: the table is written by embed.cmake. */
#ifndef OCLATTN_PROGRAM_SOURCES_H
#define OCLATTN_PROGRAM_SOURCES_H

#include <stddef.h>

typedef struct kernel_source {
    const char *name; /* without folder; NULL ends the table */
    const unsigned char *text;
    size_t length;
} kernel_source;

extern const kernel_source kernel_sources[];

#endif
