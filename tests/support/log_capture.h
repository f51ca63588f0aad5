/* Collects what a context logs, from any number of threads. */
#ifndef TEST_SUPPORT_LOG_CAPTURE_H
#define TEST_SUPPORT_LOG_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <threads.h>

#include <oclattn/oclattn.h>

typedef struct log_capture {
    mtx_t lock;
    size_t lines[OCLATTN_LOG_DEBUG + 1]; /* by level */
    bool saw_newline;
    size_t length;
    char text[65536]; /* all lines, each with a newline; the end is dropped where it does not fit */
} log_capture;

void log_capture_start(log_capture *capture, oclattn_context_options *options, oclattn_log_level level);
void log_capture_clear(log_capture *capture);
void log_capture_stop(log_capture *capture);
bool log_capture_has(const log_capture *capture, const char *part);

#endif
