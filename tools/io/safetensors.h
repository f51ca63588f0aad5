/* .safetensors files: 8 bytes with the length of a JSON header, the header, and the tensors' bytes.
 * Format: https://huggingface.co/docs/safetensors */
#ifndef OCLATTN_TOOLS_IO_SAFETENSORS_H
#define OCLATTN_TOOLS_IO_SAFETENSORS_H

#include "array.h"

typedef struct safetensors safetensors;

/* Opens a file and checks its whole header against its size. `label` and `path` must outlive it. NULL: `f` says why. */
safetensors *safetensors_open(const char *label, const char *path, failure *f);
void safetensors_close(safetensors *file);

bool safetensors_has(const safetensors *file, const char *name);

/* Reads a tensor of F64, F32, F16 or BF16. The array is the caller's to free. A name that is not there is a failure
 * that lists those that are. */
bool safetensors_read(safetensors *file, const char *name, host_array *array, failure *f);

#endif
