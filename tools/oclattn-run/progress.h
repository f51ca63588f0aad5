/* A line on stderr that says how far long work is: on a terminal only, and only after half a second. */
#ifndef OCLATTN_RUN_PROGRESS_H
#define OCLATTN_RUN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    const char *what;
    int64_t total;
    double started, shown; /* seconds; shown 0: not yet */
    bool on_terminal;
} progress;

progress progress_start(const char *what, int64_t total);
void progress_step(progress *p, int64_t done);
void progress_end(progress *p);

#endif
