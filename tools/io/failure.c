#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

bool fail_with(failure *f, exit_code code, const char *format, ...) {
    va_list values;
    va_start(values, format);
    f->code = code;
    vsnprintf(f->text, sizeof f->text, format, values);
    va_end(values);
    return false;
}

bool fail_memory(failure *f, const char *what) {
    return fail_with(f, EXIT_RUNTIME, "out of memory for %s", what);
}
