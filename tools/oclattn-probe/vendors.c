#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif
#include "vendors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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

static const char *folder_name(void) {
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
    json_t *entry = json_pack("{s:o, s:o, s:n, s:n}", "file", text_json(name), "path", text_json(path), "library",
                              "problem");
    if (!read_library(path, library, sizeof library)) {
        json_object_set_new(entry, "problem", json_sprintf("it cannot be read: %s", strerror(errno)));
    } else if (library[0] == '\0') {
        json_object_set_new(entry, "problem", json_string("it names no library"));
    } else {
        json_object_set_new(entry, "library", text_json(library));
        if (strchr(library, '/') && access(library, R_OK) != 0) {
            json_object_set_new(entry, "problem",
                                json_sprintf("its library cannot be read: %s", strerror(errno)));
        }
    }
    json_array_append_new(vendors, entry);
}

static int is_icd(const struct dirent *entry) {
    return has_ending(entry->d_name, ".icd");
}

void vendors_list(json_t *vendors) {
    const char *folder = folder_name();
    struct dirent **names = NULL;
    if (has_ending(folder, ".icd")) {
        const char *slash = strrchr(folder, '/');
        add_vendor(vendors, folder, slash ? slash + 1 : folder);
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

static char links_folder[256]; /* "": none */
static vendors_choice real_choice;

static void link_path(const char *file, char *path, size_t size) {
    snprintf(path, size, "%s/%s", links_folder, file);
}

static const char *file_of(const json_t *vendor) {
    return json_string_value(json_object_get(vendor, "file"));
}

/* The entry's full path: what is linked to must not depend on where the link lies. */
static bool link_vendor(const json_t *vendor) {
    char path[2048];
    char *target = realpath(json_string_value(json_object_get(vendor, "path")), NULL);
    link_path(file_of(vendor), path, sizeof path);
    const bool linked = target && symlink(target, path) == 0;
    free(target);
    return linked;
}

bool vendors_leave_out_culprits(const json_t *vendors) {
    size_t i;
    json_t *vendor;
    const char *folder = getenv("TMPDIR");
    snprintf(links_folder, sizeof links_folder, "%s/oclattn-probe.XXXXXX", folder && folder[0] ? folder : "/tmp");
    if (!mkdtemp(links_folder)) {
        links_folder[0] = '\0';
        return false;
    }
    json_array_foreach(vendors, i, vendor) {
        if (!json_is_true(json_object_get(vendor, "culprit"))) {
            link_vendor(vendor);
        }
    }
    real_choice = vendors_show_only(links_folder);
    return true;
}

void vendors_restore(void) {
    if (links_folder[0] == '\0') {
        return;
    }
    vendors_show_again(&real_choice);
    DIR *folder = opendir(links_folder);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        char path[2048];
        link_path(entry->d_name, path, sizeof path);
        if (has_ending(entry->d_name, ".icd")) {
            unlink(path);
        }
    }
    if (folder) {
        closedir(folder);
    }
    rmdir(links_folder);
    links_folder[0] = '\0';
}

static bool has_device(const json_t *document, const char *type) {
    size_t i, j;
    json_t *platform, *device;
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        json_array_foreach(json_object_get(platform, "devices"), j, device) {
            const char *found = json_string_value(json_object_get(json_object_get(device, "facts"), "type"));
            if (!type || (found && strcmp(found, type) == 0)) {
                return true;
            }
        }
    }
    return false;
}

/* The render node that is there and may not be used; "" where there is none such. */
static void find_closed_node(char *path, size_t size) {
    path[0] = '\0';
    for (int i = 128; i < 144; i++) {
        char node[64];
        snprintf(node, sizeof node, "/dev/dri/renderD%d", i);
        if (access(node, F_OK) == 0 && access(node, R_OK | W_OK) != 0) {
            snprintf(path, size, "%s", node);
            return;
        }
    }
}

static bool is_container(void) {
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

void vendors_add_hint(json_t *document) {
    json_t *loader = json_object_get(document, "loader");
    char node[64];
    find_closed_node(node, sizeof node);
    json_t *hint = NULL;
    if (json_is_string(json_object_get(loader, "problem")) && json_is_array(json_object_get(loader, "left_out"))) {
        hint = json_string("programs will break down here: move the file away, or name another folder in "
                           "OCL_ICD_VENDORS");
    } else if (!has_device(document, "gpu") && node[0] != '\0') {
        hint = json_sprintf("there is no permission to use %s: add the user to its group (usually render)", node);
    } else if (has_device(document, NULL)) {
        return;
    } else if (json_is_true(json_object_get(loader, "broken"))) {
        hint = json_string("move the driver's .icd file away, or name another folder in OCL_ICD_VENDORS");
    } else if (json_array_size(json_object_get(loader, "vendors")) == 0) {
        hint = json_sprintf("no driver is registered in %s: install pocl-opencl-icd or your GPU's OpenCL driver%s",
                            folder_name(),
                            is_container() ? "; this is a container, which needs a driver of its own" : "");
    } else if (is_container() && access("/dev/dri", F_OK) != 0) {
        hint = json_string("this is a container without /dev/dri: start it with --device /dev/dri (NVIDIA: "
                           "--gpus all)");
    } else {
        hint = json_string("drivers are registered, but none offers a device: look at the problems above, and whether "
                           "the drivers' packages are complete");
    }
    json_object_set_new(loader, "hint", hint);
}
