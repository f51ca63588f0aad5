/* Keys or values of the past and new ones, brought together. */
#ifndef OCLATTN_ORT_CACHE_H
#define OCLATTN_ORT_CACHE_H

#include "operator.h"

/* present[b, h] = past[b, h, 0 .. past_rows[b] - 1], then fresh[b, h, 0 .. fresh_rows - 1], then zeros. */
typedef struct cache_append {
    int64_t batch, heads;
    size_t row_bytes;
    const char *past; /* [batch, heads, past_capacity, row]; may be `present` itself */
    int64_t past_capacity;
    const int32_t *past_rows; /* [batch] */
    const char *fresh;
    int64_t fresh_rows, fresh_strides[3]; /* b, h, s, in bytes */
    char *present;                        /* [batch, heads, capacity, row] */
    int64_t capacity;
} cache_append;

void cache_append_run(const attention_call *call, const cache_append *append);

#endif
