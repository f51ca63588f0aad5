/* The document that everything else reads: what this machine's OpenCL says of itself, or what a capture holds.
 *
 *   {"schema_version": 1, "tool": "oclattn-probe", "version", "source": [...],
 *    "loader": {"problem", "hint", "vendors": [{"file", "path", "library", "problem", "culprit"}], "left_out": files,
 *               "broken"},
 *    "platforms": [{"index", "facts", "unknown", "problem", "broken", "driver_output", "vendor_file", "devices":
 *                   [{"index", "facts", "unknown"}]}]}
 *
 * A platform is "broken" where its driver crashed, hung or ended the process; "vendor_file" then names it. Its "index"
 * is null where the loader goes without it. */
#ifndef OCLATTN_PROBE_SURVEY_H
#define OCLATTN_PROBE_SURVEY_H

#include <stdbool.h>

#include <jansson.h>

#define SCHEMA_VERSION 1

/* Asks every platform, each in a child process with the time limit. Drivers that bring down the loader are left out,
 * also of later children, until vendors_restore. */
json_t *survey_make(double limit_s);

/* Whether a platform, or the loader, broke down or failed rather than answered. */
bool survey_has_broken_driver(const json_t *document);

#endif
