/* The library's view of a device, from the facts of a document. */
#ifndef OCLATTN_PROBE_PLAYED_CAPS_H
#define OCLATTN_PROBE_PLAYED_CAPS_H

#include <jansson.h>

#include "device/device.h"

/* What is not known is 0, false or "", as where a query of the library's fails. */
void played_caps(device_caps *caps, const json_t *facts, const json_t *platform);

#endif
