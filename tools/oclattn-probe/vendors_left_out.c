/* A folder of links to the drivers that do not break down, for the OpenCL loader to look into. */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vendors.h"

typedef struct links {
    char folder[256]; /* "": none */
    int alive;        /* the end of a pipe that closes with this process */
    pid_t remover;
    vendors_choice before;
} links;

static links current;

/* The entry's full path: what is linked to must not depend on where the link lies. */
static void link_vendor(const char *folder, const json_t *vendor) {
    char path[1024];
    char *target = realpath(json_string_value(json_object_get(vendor, "path")), NULL);
    snprintf(path, sizeof path, "%s/%s", folder, json_string_value(json_object_get(vendor, "file")));
    /* An entry that cannot be linked cannot be read by the loader either. */
    (void)!(target && symlink(target, path));
    free(target);
}

static void remove_folder(const char *path) {
    DIR *folder = opendir(path);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    if (folder) {
        closedir(folder);
    }
    rmdir(path);
}

static void prepare_remover(void) {
    const int nothing = open("/dev/null", O_RDWR);
    setsid();
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; nothing >= 0 && i <= 2; i++) {
        dup2(nothing, i);
    }
}

/* A process of its own, which what ends the tool's does not reach, makes the folder, tells its name, waits until the
 * tool's end of the pipe closes, and removes it. */
static void keep_folder(char *path, int alive, int tell) {
    const size_t length = strlen(path);
    char byte;
    prepare_remover();
    if (!mkdtemp(path)) {
        _exit(1);
    }
    const ssize_t told = write(tell, path, length);
    close(tell);
    while (told == (ssize_t)length && read(alive, &byte, 1) > 0) {
    }
    remove_folder(path);
    _exit(0);
}

static void close_pair(const int pair[2]) {
    close(pair[0]);
    close(pair[1]);
}

static bool open_pipes(int alive[2], int tell[2]) {
    if (pipe(alive) != 0) {
        return false;
    }
    if (pipe(tell) != 0) {
        close_pair(alive);
        return false;
    }
    fcntl(alive[1], F_SETFD, FD_CLOEXEC);
    return true;
}

/* `folder` ends in "XXXXXX", and becomes "" where there is none. */
static bool make_folder(links *l) {
    int alive[2], tell[2];
    const size_t length = strlen(l->folder);
    ssize_t heard = -1;
    if (open_pipes(alive, tell)) {
        l->remover = fork();
        if (l->remover == 0) {
            close(alive[1]);
            close(tell[0]);
            keep_folder(l->folder, alive[0], tell[1]);
        }
        close(alive[0]);
        close(tell[1]);
        heard = l->remover > 0 ? read(tell[0], l->folder, length) : -1;
        close(tell[0]);
        l->alive = alive[1];
        if (heard != (ssize_t)length) {
            close(l->alive);
        }
    }
    if (heard != (ssize_t)length) {
        l->folder[0] = '\0';
    }
    return heard == (ssize_t)length;
}

bool vendors_leave_out_culprits(const json_t *vendors) {
    size_t i;
    json_t *vendor;
    const char *where = getenv("TMPDIR");
    snprintf(current.folder, sizeof current.folder, "%s/oclattn-probe.XXXXXX", where && where[0] ? where : "/tmp");
    if (!make_folder(&current)) {
        return false;
    }
    json_array_foreach(vendors, i, vendor) {
        if (!json_is_true(json_object_get(vendor, "culprit"))) {
            link_vendor(current.folder, vendor);
        }
    }
    current.before = vendors_show_only(current.folder);
    return true;
}

void vendors_restore(void) {
    if (current.folder[0] == '\0') {
        return;
    }
    vendors_show_again(&current.before);
    close(current.alive);
    waitpid(current.remover, NULL, 0);
    current.folder[0] = '\0';
}
