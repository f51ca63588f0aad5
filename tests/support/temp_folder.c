#include "temp_folder.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

void temp_folder_make(char path[TEMP_PATH_SIZE]) {
    const char *root = getenv("TMPDIR");
    const int length = snprintf(path, TEMP_PATH_SIZE, "%s/oclattn-test-XXXXXX", root && root[0] ? root : "/tmp");
    assert_true(length > 0 && length < TEMP_PATH_SIZE);
    assert_non_null(mkdtemp(path));
}

void temp_path(char path[TEMP_PATH_SIZE], const char *folder, const char *name) {
    const int length = snprintf(path, TEMP_PATH_SIZE, "%s/%s", folder, name);
    assert_true(length > 0 && length < TEMP_PATH_SIZE);
}

static bool is_dot_name(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

void temp_folder_remove(const char *path) {
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (is_dot_name(entry->d_name)) {
            continue;
        }
        char inner[TEMP_PATH_SIZE];
        temp_path(inner, path, entry->d_name);
        struct stat status;
        assert_int_equal(lstat(inner, &status), 0);
        if (S_ISDIR(status.st_mode)) {
            temp_folder_remove(inner);
        } else {
            assert_int_equal(unlink(inner), 0);
        }
    }
    closedir(folder);
    assert_int_equal(rmdir(path), 0);
}

void file_write(const char *path, const void *bytes, size_t size) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(size > 0 ? fwrite(bytes, 1, size, stream) : 0, size);
    assert_int_equal(fclose(stream), 0);
}

unsigned char *file_read(const char *path, size_t *size) {
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    const long end = ftell(stream);
    assert_true(end >= 0);
    rewind(stream);
    *size = (size_t)end;
    unsigned char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, stream), *size);
    fclose(stream);
    return bytes;
}

size_t folder_count(const char *path, char only[TEMP_PATH_SIZE]) {
    DIR *folder = opendir(path);
    if (!folder) {
        return 0;
    }
    size_t count = 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (!is_dot_name(entry->d_name)) {
            count++;
            if (only) {
                temp_path(only, path, entry->d_name);
            }
        }
    }
    closedir(folder);
    return count;
}
