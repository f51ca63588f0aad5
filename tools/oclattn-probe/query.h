/* Asking drivers. Everything here runs in a child process. */
#ifndef OCLATTN_PROBE_QUERY_H
#define OCLATTN_PROBE_QUERY_H

#include <stdio.h>

#include "properties.h"

/* child_job. Answers {"platforms": N} or {"code": C, "name": "CL_..."}. */
void query_count(FILE *to, void *unused);

/* child_job. data: int, the platform's index. Answers {"same_as": J or null, "facts", "unknown"}, and then, which a
 * driver that breaks down leaves out, {"devices": [{"facts", "unknown"}], "problem": a sentence or null}. "unknown" has
 * the reason for each fact that is null. */
void query_platform(FILE *to, void *data);

/* The device P:D, or NULL and what failed. */
cl_device_id query_device(int platform_index, int device_index, cl_platform_id *platform, char *problem, size_t size);

#endif
