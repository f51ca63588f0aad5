/* NumPy's .npy files: versions 1.0, 2.0 and 3.0, C order, bool, uint8, int32, int64, float16, float32, float64.
 * Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef OCLATTN_TOOLS_IO_NPY_H
#define OCLATTN_TOOLS_IO_NPY_H

#include <stdio.h>

#include "array.h"

/* `label` opens every message: the option that named the file. The array is the caller's to free. */
bool npy_read(const char *label, const char *path, host_array *array, failure *f);

/* Writes version 1.0. False: errno says why. There is no bfloat16 in .npy. */
bool npy_write(FILE *file, const host_array *array);

#endif
