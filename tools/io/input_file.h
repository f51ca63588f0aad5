/* A regular file that is read from its start to its end, with messages that name it. */
#ifndef OCLATTN_TOOLS_IO_INPUT_FILE_H
#define OCLATTN_TOOLS_IO_INPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "failure.h"

typedef struct input_file {
    const char *label, *path;
    FILE *file;
    uint64_t bytes, position;
} input_file;

bool input_open(input_file *in, const char *label, const char *path, failure *f);
bool input_read(input_file *in, void *to, size_t bytes, failure *f);
bool input_seek(input_file *in, uint64_t position, failure *f);
void input_close(input_file *in);

/* "label path: reason". Returns false. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
bool input_fail(const input_file *in, failure *f, const char *format, ...);

#endif
