/* A text that grows. Running out of memory is remembered in `failed` and asked once, at the end. */
#ifndef OCLATTN_PROGRAM_TEXT_H
#define OCLATTN_PROGRAM_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "../device/error.h"

typedef struct text {
    char *data; /* ends in 0 once something was added */
    size_t length, capacity;
    bool failed;
} text;

void text_add(text *t, const char *bytes, size_t length);
void text_add_string(text *t, const char *string);
void text_format(text *t, const char *format, ...) PRINTF_LIKE(2, 3);
void text_clear(text *t);

#endif
