/* The facts of a platform or a device, from its driver's answers. In a child process only. */
#ifndef OCLATTN_PROBE_FACTS_H
#define OCLATTN_PROBE_FACTS_H

#include "answer.h"
#include "properties.h"

/* {"facts", "unknown"}: "unknown" has the reason for each fact that is null. */
json_t *facts_read(query_target target, const property *properties, size_t count);

#endif
