#include "cache.h"

#include <string.h>

static void append_past(const cache_append *append, int64_t head, int64_t rows, char *to) {
    if (rows > 0 && append->past != append->present) {
        memcpy(to, append->past + (size_t)(head * append->past_capacity) * append->row_bytes,
               (size_t)rows * append->row_bytes);
    }
}

static void append_fresh(const cache_append *append, const char *from, char *to) {
    const int64_t step = append->fresh_strides[2];
    if (step == (int64_t)append->row_bytes) {
        memcpy(to, from, (size_t)append->fresh_rows * append->row_bytes);
        return;
    }
    for (int64_t row = 0; row < append->fresh_rows; ++row) {
        memcpy(to + (size_t)row * append->row_bytes, from + row * step, append->row_bytes);
    }
}

static void append_head(const cache_append *append, int64_t head) {
    const int64_t b = head / append->heads, h = head % append->heads;
    const int64_t past_rows = append->past_rows[b];
    const int64_t end = past_rows + append->fresh_rows;
    const int64_t *strides = append->fresh_strides;
    char *to = append->present + (size_t)(head * append->capacity) * append->row_bytes;
    append_past(append, head, past_rows, to);
    if (append->fresh_rows > 0) {
        append_fresh(append, append->fresh + b * strides[0] + h * strides[1],
                     to + (size_t)past_rows * append->row_bytes);
    }
    if (append->past != append->present && end < append->capacity) {
        memset(to + (size_t)end * append->row_bytes, 0, (size_t)(append->capacity - end) * append->row_bytes);
    }
}

static void append_one(void *user, size_t head) {
    append_head(user, (int64_t)head);
}

void cache_append_run(const attention_call *call, const cache_append *append) {
    cache_append parts = *append;
    const size_t heads = (size_t)(append->batch * append->heads);
    call_parallel(call, append_one, heads, heads * (size_t)append->capacity * append->row_bytes, &parts);
}
