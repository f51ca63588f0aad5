#define _POSIX_C_SOURCE 200809L

#include "os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

long os_process_id(void) {
    return (long)getpid();
}

static bool is_folder(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) {
        return false;
    }
    if (!S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return true;
}

static bool make_one_folder(const char *path) {
    if (mkdir(path, 0700) == 0) {
        return true;
    }
    /* A read-only file system says so even where the folder exists. */
    const int reason = errno;
    if (is_folder(path)) {
        return true;
    }
    errno = reason == EEXIST ? ENOTDIR : reason;
    return false;
}

bool os_make_folders(const char *path) {
    const size_t length = strlen(path);
    char *copy = malloc(length + 1);
    if (!copy) {
        return false;
    }
    memcpy(copy, path, length + 1);
    bool made = length > 0;
    for (size_t i = 1; made && i < length; i++) {
        if (copy[i] == '/') {
            copy[i] = '\0';
            made = make_one_folder(copy);
            copy[i] = '/';
        }
    }
    made = made && make_one_folder(copy);
    const int reason = errno;
    free(copy);
    errno = reason;
    return made;
}

bool os_may_write_in(const char *folder) {
    return access(folder, W_OK | X_OK) == 0;
}

bool os_is_regular_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}
