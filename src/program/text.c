#include "text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool text_reserve(text *t, size_t more) {
    if (t->failed || more >= SIZE_MAX / 4 - t->length) {
        t->failed = true;
        return false;
    }
    const size_t needed = t->length + more + 1;
    if (needed <= t->capacity) {
        return true;
    }
    const size_t capacity = needed < 512 ? 1024 : 2 * needed;
    char *data = realloc(t->data, capacity);
    if (!data) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->capacity = capacity;
    return true;
}

void text_add(text *t, const char *bytes, size_t length) {
    if (!text_reserve(t, length)) {
        return;
    }
    if (length > 0) {
        memcpy(t->data + t->length, bytes, length);
    }
    t->length += length;
    t->data[t->length] = '\0';
}

void text_add_string(text *t, const char *string) {
    text_add(t, string, strlen(string));
}

void text_format(text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !text_reserve(t, (size_t)length)) {
        t->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(t->data + t->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    t->length += (size_t)length;
}

void text_clear(text *t) {
    free(t->data);
    *t = (text){0};
}
