/* Drivers that are registered and offer no platform: why? */
#ifndef OCLATTN_PROBE_SILENT_H
#define OCLATTN_PROBE_SILENT_H

#include <jansson.h>

/* Loads the library of every vendor without a "problem", each in a child process, and sets the problem of those that
 * cannot be loaded, are no driver, or offer nothing. */
void explain_silent_drivers(json_t *vendors, double limit_s);

#endif
