#include "log_capture.h"

#include <string.h>

static void keep(oclattn_log_level level, const char *text, void *user) {
    log_capture *capture = user;
    mtx_lock(&capture->lock);
    capture->lines[level]++;
    capture->saw_newline = capture->saw_newline || strchr(text, '\n') != NULL;
    const size_t length = strlen(text);
    if (length + 2 <= sizeof capture->text - capture->length) {
        memcpy(capture->text + capture->length, text, length);
        capture->length += length;
        capture->text[capture->length++] = '\n';
        capture->text[capture->length] = '\0';
    }
    mtx_unlock(&capture->lock);
}

void log_capture_start(log_capture *capture, oclattn_context_options *options, oclattn_log_level level) {
    memset(capture, 0, sizeof *capture);
    mtx_init(&capture->lock, mtx_plain);
    options->log = keep;
    options->log_user = capture;
    options->log_level = level;
}

void log_capture_clear(log_capture *capture) {
    memset(capture->lines, 0, sizeof capture->lines);
    capture->length = 0;
    capture->text[0] = '\0';
}

void log_capture_stop(log_capture *capture) {
    mtx_destroy(&capture->lock);
}

bool log_capture_has(const log_capture *capture, const char *part) {
    return strstr(capture->text, part) != NULL;
}
