#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "output_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npy.h"

static bool cannot_write(const output_file *out, failure *f) {
    return fail_with(f, EXIT_BAD_INPUT, "%s %s: cannot write it: %s", out->label, out->path, strerror(errno));
}

/* A link is followed, so that renaming replaces the file and not the link. */
static char *final_path(const char *path) {
    char *resolved = realpath(path, NULL);
    return resolved ? resolved : strdup(path);
}

static bool is_special_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static void set_mode(int descriptor, const char *target) {
    struct stat status;
    mode_t mode;
    if (stat(target, &status) == 0) {
        mode = status.st_mode & 0777;
    } else {
        const mode_t mask = umask(0);
        umask(mask);
        mode = 0666 & ~mask;
    }
    /* A file that its owner alone can read is no reason to lose the result. */
    (void)!fchmod(descriptor, mode);
}

static bool open_temporary(output_file *out, failure *f) {
    const size_t size = strlen(out->target) + sizeof ".XXXXXX";
    out->temporary = malloc(size);
    if (!out->temporary) {
        return fail_memory(f, out->path);
    }
    snprintf(out->temporary, size, "%s.XXXXXX", out->target);
    const int descriptor = mkstemp(out->temporary);
    if (descriptor < 0) {
        cannot_write(out, f);
        free(out->temporary);
        out->temporary = NULL;
        return false;
    }
    set_mode(descriptor, out->target);
    out->file = fdopen(descriptor, "wb");
    if (!out->file) {
        close(descriptor);
        return cannot_write(out, f);
    }
    return true;
}

static bool open_output(output_file *out, failure *f) {
    out->target = final_path(out->path);
    if (!out->target) {
        return fail_memory(f, out->path);
    }
    if (!is_special_file(out->target)) {
        return open_temporary(out, f);
    }
    out->file = fopen(out->target, "wb");
    return out->file ? true : cannot_write(out, f);
}

bool output_check(const output_file *out, failure *f) {
    output_file probe = {.label = out->label, .path = out->path};
    struct stat status;
    if (!out->path) {
        return true;
    }
    /* Opening a pipe would wait for its reader. */
    if (stat(out->path, &status) == 0 && S_ISFIFO(status.st_mode)) {
        return true;
    }
    const bool good = open_output(&probe, f);
    output_discard(&probe);
    return good;
}

static bool open_or_discard(output_file *out, failure *f) {
    if (open_output(out, f)) {
        return true;
    }
    output_discard(out);
    return false;
}

/* errno says why `written` is false. */
static bool close_written(output_file *out, bool written, failure *f) {
    const int write_error = errno;
    const bool closed = fclose(out->file) == 0;
    out->file = NULL;
    if (!written || !closed) {
        errno = written ? errno : write_error;
        cannot_write(out, f);
        output_discard(out);
        return false;
    }
    return true;
}

bool output_write_npy(output_file *out, const host_array *array, failure *f) {
    return open_or_discard(out, f) && close_written(out, npy_write(out->file, array), f);
}

bool output_write_text(output_file *out, const char *text, failure *f) {
    return open_or_discard(out, f) && close_written(out, fputs(text, out->file) >= 0, f);
}

bool output_commit(output_file *out, failure *f) {
    if (out->temporary && rename(out->temporary, out->target) != 0) {
        cannot_write(out, f);
        output_discard(out);
        return false;
    }
    free(out->temporary);
    out->temporary = NULL;
    output_discard(out);
    return true;
}

void output_discard(output_file *out) {
    if (out->file) {
        fclose(out->file);
        out->file = NULL;
    }
    if (out->temporary) {
        unlink(out->temporary);
    }
    free(out->temporary);
    free(out->target);
    out->temporary = NULL;
    out->target = NULL;
}
