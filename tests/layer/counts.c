/* The counts of objects and their report. */
#include "parts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kind_names[KIND_COUNT] = {"devices",  "contexts", "queues", "buffers",  "samplers",
                                                   "programs", "kernels",  "events", "mappings", "shared"};
static atomic_long created[KIND_COUNT];
static atomic_long retained[KIND_COUNT];
static atomic_long released[KIND_COUNT];
static atomic_bool at_exit;
static pid_t process;

EXPORTED long oclattn_layer_live_objects(void);
EXPORTED void oclattn_layer_print_report(FILE *file);

static long live(object_kind kind) {
    return atomic_load(&created[kind]) + atomic_load(&retained[kind]) - atomic_load(&released[kind]);
}

/* One kind released too often does not make up for another that is left over. */
long oclattn_layer_live_objects(void) {
    long sum = 0;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        sum += labs(live((object_kind)kind));
    }
    return sum;
}

void oclattn_layer_print_report(FILE *file) {
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        fprintf(file, "%s created %ld retained %ld released %ld\n", kind_names[kind], atomic_load(&created[kind]),
                atomic_load(&retained[kind]), atomic_load(&released[kind]));
    }
    if (oclattn_layer_live_objects() == 0) {
        fprintf(file, "balanced\n");
        return;
    }
    fprintf(file, "unbalanced:");
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        if (live((object_kind)kind) != 0) {
            fprintf(file, " %s", kind_names[kind]);
        }
    }
    fprintf(file, "\n");
}

static void expand_process_id(char *path, size_t size, const char *pattern) {
    const char *mark = strstr(pattern, "%p");
    if (mark == NULL) {
        snprintf(path, size, "%s", pattern);
    } else {
        snprintf(path, size, "%.*s%ld%s", (int)(mark - pattern), pattern, (long)getpid(), mark + 2);
    }
}

/* A forked child inherits the counts, but they are its parent's to report. */
static void write_report(void) {
    const char *pattern = setting("REPORT");
    if (pattern == NULL || getpid() != process) {
        return;
    }
    char path[4096];
    expand_process_id(path, sizeof(path), pattern);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "OCLATTN_LAYER_REPORT: cannot write %s\n", path);
        return;
    }
    oclattn_layer_print_report(file);
    fclose(file);
}

static void report_now(void) {
    atomic_store(&at_exit, true);
    write_report();
}

void report_at_exit(void) {
    process = getpid();
    atexit(report_now);
}

void count_created(object_kind kind) {
    atomic_fetch_add(&created[kind], 1);
}

void count_retained(object_kind kind) {
    atomic_fetch_add(&retained[kind], 1);
}

/* Libraries with static objects of their own release what they cached after the first report was written. */
void count_released(object_kind kind) {
    atomic_fetch_add(&released[kind], 1);
    if (atomic_load(&at_exit)) {
        write_report();
    }
}
