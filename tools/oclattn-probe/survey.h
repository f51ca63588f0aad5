/* The document that everything else reads: what this machine's OpenCL says of itself, or what a capture holds.
 *
 *   {"schema_version": 1, "tool": "oclattn-probe", "version", "source": [...],
 *    "loader": {"problem", "hint", "vendors": [{"file", "path", "library", "problem"}], "left_out": files, "broken"},
 *    "platforms": [{"index", "facts", "unknown", "problem", "driver_output", "vendor_file", "devices":
 *                   [{"index", "facts", "unknown"}]}]} */
#ifndef OCLATTN_PROBE_SURVEY_H
#define OCLATTN_PROBE_SURVEY_H

#include <jansson.h>

#include "io/failure.h"

#define SCHEMA_VERSION 1

/* Asks every platform, each in a child process with the time limit. NULL: out of memory. Drivers that bring down the
 * loader are left out, also of later children, until vendors_restore. */
json_t *survey_make(double limit_s);

/* Reads a capture. NULL: failed. */
json_t *survey_load(const char *path, failure *f);

/* Writes one, beside and renamed: the document without what was derived from it. */
bool survey_save(const json_t *document, const char *path, failure *f);

/* Whether a platform, or the loader, broke down rather than answered. */
bool survey_has_broken_driver(const json_t *document);

#endif
