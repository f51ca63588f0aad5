/* Several programs built as one. */
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "program.h"
#include "source.h"

/* Entries that are locked, in the order of their names: no two threads wait for each other, and the same parts make the
 * same source, whoever asks. */
typedef struct locked_entries {
    size_t count;
    struct built_program *entry[MOST_PARTS];
} locked_entries;

static int compare(const struct built_program *a, const struct built_program *b) {
    const int by_file = strcmp(a->file, b->file);
    return by_file != 0 ? by_file : strcmp(a->options, b->options);
}

static bool find_entries(oclattn_context *context, const program_parts *parts, locked_entries *found) {
    for (size_t i = 0; i < parts->count; i++) {
        struct built_program *entry = program_entry(context, parts->part[i].file, parts->part[i].options);
        if (!entry) {
            return false;
        }
        size_t at = found->count++;
        for (; at > 0 && compare(found->entry[at - 1], entry) > 0; at--) {
            found->entry[at] = found->entry[at - 1];
        }
        found->entry[at] = entry;
    }
    return true;
}

/* Those that are not built. */
static program_parts missing_parts(const locked_entries *entries) {
    program_parts missing = {0};
    for (size_t i = 0; i < entries->count; i++) {
        if (!entries->entry[i]->program) {
            program_part *part = &missing.part[missing.count++];
            snprintf(part->file, sizeof part->file, "%s", entries->entry[i]->file);
            snprintf(part->options, sizeof part->options, "%s", entries->entry[i]->options);
        }
    }
    return missing;
}

/* Each entry holds the program, and one reference to it. */
static void share(const locked_entries *entries, cl_program program) {
    for (size_t i = 0; i < entries->count; i++) {
        if (!entries->entry[i]->program && clRetainProgram(program) == CL_SUCCESS) {
            entries->entry[i]->program = program;
        }
    }
    clReleaseProgram(program);
}

/* The first entry that is not built. */
static struct built_program *first_missing(const locked_entries *entries) {
    size_t at = 0;
    while (entries->entry[at]->program) {
        at++;
    }
    return entries->entry[at];
}

static void run(build_job *job, const program_parts *parts, const locked_entries *entries) {
    struct built_program *const keeper = first_missing(entries);
    cl_program program = NULL;
    if (source_join(parts, &job->source, NULL) == OCLATTN_OK && build_run(job, &program, NULL) == OCLATTN_OK) {
        share(entries, program);
        if (keeper->program) {
            build_keep_later(keeper, job);
        }
    }
}

static void join_locked(oclattn_context *context, const locked_entries *entries) {
    const program_parts missing = missing_parts(entries);
    if (missing.count < 2 || !parts_agree(&missing)) {
        return;
    }
    text names = {0};
    for (size_t i = 0; i < missing.count; i++) {
        text_format(&names, "%s%s", i == 0 ? "" : " and ", missing.part[i].file);
    }
    if (!names.failed) {
        build_job job = {.context = context, .file = names.data, .options = COMMON_OPTIONS, .quiet = true};
        run(&job, &missing, entries);
        build_job_clear(&job);
    }
    text_clear(&names);
}

void program_join(oclattn_context *context, const program_parts *parts) {
    locked_entries entries = {0};
    if (context_check_process(context, NULL) != OCLATTN_OK || !find_entries(context, parts, &entries)) {
        return;
    }
    for (size_t i = 0; i < entries.count; i++) {
        mtx_lock(&entries.entry[i]->lock);
    }
    join_locked(context, &entries);
    for (size_t i = 0; i < entries.count; i++) {
        mtx_unlock(&entries.entry[i]->lock);
    }
}
