/* The dictionary in the header of a .npy file, such as
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (51, 384), } */
#ifndef OCLATTN_TOOLS_IO_NPY_HEADER_H
#define OCLATTN_TOOLS_IO_NPY_HEADER_H

#include "array.h"

/* Fills type, rank, shape and count. On false, `reason` points to a sentence, or to `text`, which must outlive it. */
bool npy_header_parse(const char *header, size_t length, host_array *array, const char **reason, char text[256]);

#endif
