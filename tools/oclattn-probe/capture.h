/* Captures: documents in files. */
#ifndef OCLATTN_PROBE_CAPTURE_H
#define OCLATTN_PROBE_CAPTURE_H

#include <jansson.h>

#include "io/failure.h"

/* Reads one. What it leaves out is not known; texts in it are made safe to print, as those of drivers are. NULL:
 * failed. */
json_t *capture_load(const char *path, failure *f);

/* Writes one, beside and renamed: the document without what was derived from it. */
bool capture_save(const json_t *document, const char *path, failure *f);

#endif
