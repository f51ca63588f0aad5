/* Files that appear whole or not at all: written beside their name, then renamed. */
#ifndef OCLATTN_TOOLS_IO_OUTPUT_FILE_H
#define OCLATTN_TOOLS_IO_OUTPUT_FILE_H

#include <stdio.h>

#include "array.h"

typedef struct output_file {
    const char *label, *path; /* the option that named it, for messages; path NULL: not asked for */
    FILE *file;
    char *target, *temporary; /* temporary NULL: a device or pipe, written in place */
} output_file;

/* Finds out, before the work begins, whether the file could be written. Leaves nothing behind. */
bool output_check(const output_file *out, failure *f);

/* Writes an array as .npy beside its final name. */
bool output_write_npy(output_file *out, const host_array *array, failure *f);
/* The same for text. */
bool output_write_text(output_file *out, const char *text, failure *f);
/* Puts it in its place. */
bool output_commit(output_file *out, failure *f);
/* Removes what was written but not put in its place; frees. */
void output_discard(output_file *out);

#endif
