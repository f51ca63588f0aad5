/* Work that touches a driver, done in a child process: whatever the driver does there costs only its own answer. The
 * tool's own process never calls OpenCL, so its children may. */
#ifndef OCLATTN_PROBE_CHILD_H
#define OCLATTN_PROBE_CHILD_H

#include <stdbool.h>
#include <stdio.h>

/* Writes its answer, whole lines, to `to`. */
typedef void (*child_job)(FILE *to, void *data);
/* Hears each line of the answer as it comes, without its newline. */
typedef void (*child_listener)(const char *line, void *user);

typedef struct child_result {
    char *answer;      /* all that the job wrote; free it */
    char said[400];    /* the beginning of what the driver printed, on stdout or stderr */
    char trouble[128]; /* "" or what happened: "crashed (SIGSEGV)", "gave no answer within 10 s" */
} child_result;

/* False: there was trouble. The answer then holds what came before it. `listener` may be NULL. */
bool child_run(child_job job, void *data, double limit_s, child_listener listener, void *user, child_result *result);
void child_clear(child_result *result);

#endif
