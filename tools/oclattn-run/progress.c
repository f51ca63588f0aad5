#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

progress progress_start(const char *what, int64_t total) {
    return (progress){.what = what, .total = total, .started = now(), .on_terminal = isatty(STDERR_FILENO) == 1};
}

void progress_step(progress *p, int64_t done) {
    if (!p->on_terminal) {
        return;
    }
    const double t = now();
    if (t - p->started < 0.5 || t - p->shown < 0.1) {
        return;
    }
    p->shown = t;
    fprintf(stderr, "\r%s: %lld of %lld ", p->what, (long long)done, (long long)p->total);
    fflush(stderr);
}

void progress_end(progress *p) {
    if (p->shown > 0) {
        fprintf(stderr, "\r\033[K");
    }
    p->shown = 0;
}
