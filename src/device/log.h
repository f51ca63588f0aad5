/* The caller's log. */
#ifndef OCLATTN_DEVICE_LOG_H
#define OCLATTN_DEVICE_LOG_H

#include "error.h"

typedef struct logger {
    oclattn_log_fn write; /* NULL: nothing is logged */
    void *user;
    oclattn_log_level level;
} logger;

/* Writes one line when `level` is at or below the logger's. log may be NULL. */
void log_line(const logger *log, oclattn_log_level level, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
