/* Writing tuning files. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../program/file.h"
#include "../program/os.h"
#include "tuning_file.h"
#include "tuning_kernels.h"
#include "tuning_lines.h"
#include "tuning_parameters.h"

#define ABOUT                                                                                                          \
    "# Written by oclattn-tune. Each group holds for one device, driver and version of a kernel; what does not fit "   \
    "is\n"                                                                                                             \
    "# ignored. OCLATTN_TUNING names another file, or none: \"off\".\n"

/* An old file, taken apart. */
typedef struct old_file {
    text others; /* other devices, as they were */
    text kept;   /* this device's other groups */
} old_file;

/* Whether the device whose section `line` opens is the context's. */
static bool is_own_device(const oclattn_context *context, const text *content, tuning_line line) {
    bool name_fits = false;
    bool driver_fits = false;
    while (tuning_line_next(content, &line) && line.kind != TUNING_LINE_SECTION) {
        name_fits = name_fits || (strcmp(line.name, "name") == 0 && strcmp(line.value, context->caps.name) == 0);
        driver_fits =
            driver_fits || (strcmp(line.name, "driver") == 0 && strcmp(line.value, context->caps.driver_version) == 0);
    }
    return name_fits && driver_fits;
}

/* replaced: the name of the group that is not kept. */
static void take_apart(const oclattn_context *context, const text *content, const char *replaced, old_file *old) {
    tuning_line line = {0};
    text *to = NULL;
    bool own = false;
    while (tuning_line_next(content, &line)) {
        if (line.kind == TUNING_LINE_SECTION && strcmp(line.name, TUNING_DEVICE) == 0) {
            own = is_own_device(context, content, line);
            to = own ? NULL : &old->others;
        } else if (line.kind == TUNING_LINE_SECTION && own) {
            to = strcmp(line.name, replaced) == 0 ? NULL : &old->kept;
        }
        if (to != NULL) {
            text_add(to, line.begin, line.length);
        }
    }
}

static void load_old(const oclattn_context *context, const char *path, const char *replaced, old_file *old) {
    text content = {0};
    if (file_load(path, TUNING_FILE_MOST_BYTES, &content) && tuning_lines_trouble(&content) == NULL) {
        if (content.data[content.length - 1] != '\n') {
            text_add(&content, "\n", 1);
        }
        take_apart(context, &content, replaced, old);
    }
    text_clear(&content);
}

static void add_group(text *to, tuning_group group, const tuning_record *record) {
    tuning_kernels kernels = {{NULL}, {0}};
    text_format(to, "[%s]\nkernel = %016" PRIx64 "\n", tuning_groups[group].name,
                tuning_kernels_version(&kernels, group));
    for (size_t i = 0; i < tuning_parameter_count; ++i) {
        const tuning_parameter *parameter = &tuning_parameters[i];
        if (parameter->group == group) {
            text_format(to, "%s = %d\n", parameter->name, tuning_value(&record->values, parameter));
        }
    }
    if (record->measured[0] != '\0') {
        text_format(to, "measured = %s\n", record->measured);
    }
    if (record->search[0] != '\0') {
        text_format(to, "search = %s\n", record->search);
    }
    text_add_string(to, "\n");
}

static bool make_parent(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
        return true;
    }
    text folder = {0};
    text_add(&folder, path, (size_t)(slash - path));
    const bool made = !folder.failed && os_make_folders(folder.data);
    const int reason = folder.failed ? ENOMEM : errno;
    text_clear(&folder);
    errno = reason;
    return made;
}

static bool write_file(const char *path, const text *content) {
    if (content->failed) {
        errno = ENOMEM;
        return false;
    }
    return make_parent(path) && file_replace(path, content);
}

static void add_text(text *to, const text *from) {
    text_add(to, from->length > 0 ? from->data : "", from->length);
    to->failed = to->failed || from->failed;
}

bool tuning_file_may_be_stored(const char *path) {
    const char *slash = strrchr(path, '/');
    text folder = {0};
    text_add(&folder, slash == NULL ? "." : path, slash == NULL ? 1 : (size_t)(slash - path) + 1);
    const bool may = !folder.failed && make_parent(path) && os_may_write_in(folder.data);
    const int reason = folder.failed ? ENOMEM : errno;
    text_clear(&folder);
    errno = reason;
    return may;
}

bool tuning_file_store(const oclattn_context *context, const char *path, tuning_group group,
                       const tuning_record *record) {
    old_file old = {0};
    text content = {0};
    load_old(context, path, tuning_groups[group].name, &old);
    text_add_string(&content, TUNING_FIRST_LINE "\n" ABOUT "\n");
    add_text(&content, &old.others);
    text_format(&content, "[" TUNING_DEVICE "]\nname = %s\ndriver = %s\n\n", context->caps.name,
                context->caps.driver_version);
    add_text(&content, &old.kept);
    add_group(&content, group, record);
    const bool written = write_file(path, &content);
    const int reason = errno;
    text_clear(&old.others);
    text_clear(&old.kept);
    text_clear(&content);
    errno = reason;
    return written;
}
