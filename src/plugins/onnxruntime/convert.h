/* Conversion of numbers in the host's memory. */
#ifndef OCLATTN_ORT_CONVERT_H
#define OCLATTN_ORT_CONVERT_H

#include "ort_api.h"

/* `element` is ORT_FLOAT, ORT_FLOAT16 or ORT_BFLOAT16. */
float load_float(const void *from, ort_element element, int64_t index);
/* Rounds to nearest, ties to even. */
void store_float(void *to, ort_element element, int64_t index, float value);

#endif
