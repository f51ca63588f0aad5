/* What the library built and launched on the played device. */
#ifndef OCLATTN_VENDOR_COMPILE_RECORDING_H
#define OCLATTN_VENDOR_COMPILE_RECORDING_H

#include <jansson.h>

#include "played_device.h"

/* The device that the OpenCL calls of this program play. */
extern const played_device *played;

/* Called for a kernel's first launch, the one without work that ends its planning. The source is complete. Planning may
 * build a kernel anew when it knows more of it; then only the last one counts.
 * local_arguments: bytes of local memory that the launch brings, beside what the kernel declares. */
void recording_add(const char *kernel, const char *source, size_t source_length, const char *options, size_t group,
                   size_t local_arguments);

/* The kernels recorded since the last call: a JSON array of {kernel, source, options, group, local_arguments}. */
json_t *recording_take(void);

/* The sources so far: a JSON array, whose indexes the kernels name. */
json_t *recording_sources(void);

#endif
