#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "input_file.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

bool input_fail(const input_file *in, failure *f, const char *format, ...) {
    char reason[512];
    va_list values;
    va_start(values, format);
    vsnprintf(reason, sizeof reason, format, values);
    va_end(values);
    return fail_with(f, EXIT_BAD_INPUT, "%s %s: %s", in->label, in->path, reason);
}

static bool check_kind(input_file *in, failure *f) {
    struct stat status;
    if (fstat(fileno(in->file), &status) != 0) {
        return input_fail(in, f, "%s", strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return input_fail(in, f, "it is a %s, not a regular file",
                          S_ISDIR(status.st_mode) ? "folder" : "device or pipe");
    }
    in->bytes = (uint64_t)status.st_size;
    return in->bytes > 0 ? true : input_fail(in, f, "the file is empty");
}

bool input_open(input_file *in, const char *label, const char *path, failure *f) {
    *in = (input_file){.label = label, .path = path};
    struct stat status;
    /* Opening a pipe for reading would wait for its writer. */
    if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode)) {
        return input_fail(in, f, "it is a device or pipe, not a regular file");
    }
    in->file = fopen(path, "rb");
    if (!in->file) {
        return input_fail(in, f, "cannot open it: %s", strerror(errno));
    }
    if (!check_kind(in, f)) {
        input_close(in);
        return false;
    }
    return true;
}

bool input_read(input_file *in, void *to, size_t bytes, failure *f) {
    const size_t done = bytes ? fread(to, 1, bytes, in->file) : 0;
    in->position += done;
    if (done == bytes) {
        return true;
    }
    return ferror(in->file) ? input_fail(in, f, "reading failed: %s", strerror(errno))
                            : input_fail(in, f, "it is truncated at %llu bytes", (unsigned long long)in->position);
}

bool input_seek(input_file *in, uint64_t position, failure *f) {
    if (fseeko(in->file, (off_t)position, SEEK_SET) != 0) {
        return input_fail(in, f, "seeking failed: %s", strerror(errno));
    }
    in->position = position;
    return true;
}

void input_close(input_file *in) {
    if (in->file) {
        fclose(in->file);
    }
    in->file = NULL;
}
