#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif
#include "vendors.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/text.h"

#define DEFAULT_FOLDER "/etc/OpenCL/vendors"

static bool has_ending(const char *name, const char *ending) {
    const size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

const char *vendors_folder(void) {
    const char *named = getenv("OCL_ICD_VENDORS");
    return named && named[0] != '\0' ? named : DEFAULT_FOLDER;
}

/* The first line. False: it cannot be read. */
static bool read_library(const char *path, char *library, size_t size) {
    char line[1024];
    struct stat status;
    if (stat(path, &status) != 0) {
        return false;
    }
    if (!S_ISREG(status.st_mode)) {
        errno = EINVAL;
        return false;
    }
    FILE *file = fopen(path, "r");
    if (!file) {
        return false;
    }
    const size_t got = fread(line, 1, sizeof line, file);
    fclose(file);
    const char *end = memchr(line, '\n', got);
    text_clean(library, size, line, end ? (size_t)(end - line) : got);
    return true;
}

static json_t *text_json(const char *text) {
    json_t *value = json_string(text);
    return value ? value : json_string("?");
}

static void add_vendor(json_t *vendors, const char *path, const char *name) {
    char library[512] = "";
    json_t *entry =
        json_pack("{s:o, s:o, s:n, s:n}", "file", text_json(name), "path", text_json(path), "library", "problem");
    if (!read_library(path, library, sizeof library)) {
        json_object_set_new(entry, "problem", json_sprintf("it cannot be read: %s", strerror(errno)));
    } else if (library[0] == '\0') {
        json_object_set_new(entry, "problem", json_string("it names no library"));
    } else {
        json_object_set_new(entry, "library", text_json(library));
        if (strchr(library, '/') && access(library, R_OK) != 0) {
            json_object_set_new(entry, "problem", json_sprintf("its library cannot be read: %s", strerror(errno)));
        }
    }
    json_array_append_new(vendors, entry);
}

/* A name without a folder is one of the default folder. */
static void add_single(json_t *vendors, const char *named) {
    char path[2048];
    const char *slash = strrchr(named, '/');
    snprintf(path, sizeof path, "%s%s", slash ? "" : DEFAULT_FOLDER "/", named);
    add_vendor(vendors, path, slash ? slash + 1 : named);
}

/* Some loaders take a library in place of the folder. */
static void add_library(json_t *vendors, const char *path) {
    const char *slash = strrchr(path, '/');
    json_array_append_new(vendors, json_pack("{s:o, s:o, s:o, s:n}", "file", text_json(slash ? slash + 1 : path),
                                             "path", text_json(path), "library", text_json(path), "problem"));
}

static int is_icd(const struct dirent *entry) {
    return has_ending(entry->d_name, ".icd");
}

void vendors_list(json_t *vendors) {
    const char *folder = vendors_folder();
    struct dirent **names = NULL;
    struct stat status;
    if (has_ending(folder, ".icd") && !(stat(folder, &status) == 0 && S_ISDIR(status.st_mode))) {
        add_single(vendors, folder);
        return;
    }
    if (stat(folder, &status) == 0 && S_ISREG(status.st_mode)) {
        add_library(vendors, folder);
        return;
    }
    const int count = scandir(folder, &names, is_icd, alphasort);
    for (int i = 0; i < count; i++) {
        char path[2048];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        add_vendor(vendors, path, names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

vendors_choice vendors_show_only(const char *path) {
    const char *before = getenv("OCL_ICD_VENDORS");
    const vendors_choice choice = {before ? strdup(before) : NULL};
    setenv("OCL_ICD_VENDORS", path, 1);
    return choice;
}

void vendors_show_again(const vendors_choice *choice) {
    if (choice->before) {
        setenv("OCL_ICD_VENDORS", choice->before, 1);
        free(choice->before);
    } else {
        unsetenv("OCL_ICD_VENDORS");
    }
}
