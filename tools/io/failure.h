/* What went wrong, in one sentence, and the exit code of the tool that has to say it. */
#ifndef OCLATTN_TOOLS_IO_FAILURE_H
#define OCLATTN_TOOLS_IO_FAILURE_H

#include <stdbool.h>

/* The exit codes of every tool. */
typedef enum exit_code {
    EXIT_DONE = 0,
    EXIT_WRONG_RESULT = 1,
    EXIT_BAD_INPUT = 2,
    EXIT_NO_DEVICE = 3,
    EXIT_RUNTIME = 4
} exit_code;

typedef struct failure {
    exit_code code;
    char text[2304];
} failure;

/* Fills `f` and returns false, so that `return fail_with(...)` passes it on. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
bool fail_with(failure *f, exit_code code, const char *format, ...);

bool fail_memory(failure *f, const char *what);

#endif
