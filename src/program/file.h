/* Small files that several processes share: read whole, and replaced whole. */
#ifndef OCLATTN_PROGRAM_FILE_H
#define OCLATTN_PROGRAM_FILE_H

#include <stdbool.h>

#include "text.h"

/* Appends the file's bytes to `content`: all of them, or more than `most`. False: there is no such regular file, or
 * memory is short. */
bool file_load(const char *path, size_t most, text *content);

/* Readers see the old file or the whole new one, never a part. The folder must be there. False: errno says why. */
bool file_replace(const char *path, const text *content);

#endif
