#include "file.h"

#include <errno.h>
#include <stdio.h>

#include "os.h"

enum { MOST_TEMPORARY_NAMES = 100 };

bool file_load(const char *path, size_t most, text *content) {
    FILE *stream = os_is_regular_file(path) ? fopen(path, "rb") : NULL;
    if (!stream) {
        return false;
    }
    char block[16384];
    size_t got;
    while (content->length <= most && (got = fread(block, 1, sizeof block, stream)) > 0) {
        text_add(content, block, got);
    }
    fclose(stream);
    return !content->failed;
}

static bool write_whole(FILE *stream, const text *content) {
    errno = 0;
    const bool written = fwrite(content->data, 1, content->length, stream) == content->length;
    const int reason = errno;
    const bool closed = fclose(stream) == 0;
    if (!written) {
        errno = reason;
    }
    return written && closed;
}

/* Creates a file that no other thread or process writes, beside `path`. Its name is to be cleared. */
static FILE *open_temporary(const char *path, text *name) {
    FILE *stream = NULL;
    errno = EEXIST;
    for (int i = 0; !stream && errno == EEXIST && i < MOST_TEMPORARY_NAMES; i++) {
        text_clear(name);
        text_format(name, "%s.%ld.%d.tmp", path, os_process_id(), i);
        if (name->failed) {
            errno = ENOMEM;
            return NULL;
        }
        stream = fopen(name->data, "wbx");
    }
    return stream;
}

bool file_replace(const char *path, const text *content) {
    text temporary = {0};
    FILE *stream = open_temporary(path, &temporary);
    const bool stored = stream && write_whole(stream, content) && rename(temporary.data, path) == 0;
    const int reason = errno;
    if (stream && !stored) {
        remove(temporary.data);
    }
    text_clear(&temporary);
    errno = reason;
    return stored;
}
