#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A line too long for the stack, such as a compiler's log. Where memory is short, its start has to do. */
static void write_long_line(const logger *log, oclattn_log_level level, const char *start, size_t length,
                            const char *format, va_list args) {
    char *text = malloc(length + 1);
    if (text == NULL) {
        log->write(level, start, log->user);
        return;
    }
    vsnprintf(text, length + 1, format, args);
    log->write(level, text, log->user);
    free(text);
}

void log_line(const logger *log, oclattn_log_level level, const char *format, ...) {
    if (log == NULL || log->write == NULL || level > log->level) {
        return;
    }
    char line[1024];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (length < 0) {
        return;
    }
    if ((size_t)length < sizeof(line)) {
        log->write(level, line, log->user);
        return;
    }
    va_start(args, format);
    write_long_line(log, level, line, (size_t)length, format, args);
    va_end(args);
}
