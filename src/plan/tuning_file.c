#include "tuning_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../program/file.h"
#include "tuning_kernels.h"
#include "tuning_lines.h"
#include "tuning_parameters.h"

enum { NO_GROUP = -1, TROUBLE_SIZE = 512 };

/* A file as it is read. */
typedef struct tuning_reader {
    const oclattn_context *context;
    const char *path;
    tuning_record *records;
    tuning row;
    bool in_device, in_header; /* of a device */
    bool name_fits, driver_fits, found_device;
    /* The group that is being read. */
    int group, group_line;
    tuning_record read;
    uint64_t kernel;
    char trouble[TROUBLE_SIZE]; /* "" or why it is refused */
    tuning_kernels kernels;
} tuning_reader;

/* ---- which file ------------------------------------------------------------------------------------------------- */

static const char *named_file(void) {
    const char *named = getenv("OCLATTN_TUNING");
    return named == NULL || named[0] == '\0' ? NULL : named;
}

bool tuning_file_path(const oclattn_context *context, text *path) {
    const char *named = named_file();
    if (named != NULL && strcmp(named, "off") == 0) {
        return false;
    }
    if (named != NULL) {
        text_add_string(path, named);
    } else if (context->cache_dir != NULL) {
        text_format(path, "%s/tuning", context->cache_dir);
    }
    return path->length > 0 && !path->failed;
}

/* ---- a group ---------------------------------------------------------------------------------------------------- */

static bool device_fits(const tuning_reader *reader) {
    return reader->in_device && reader->name_fits && reader->driver_fits;
}

static int find_group(const char *name) {
    for (int group = 0; group < TUNING_GROUPS; ++group) {
        if (strcmp(tuning_groups[group].name, name) == 0) {
            return group;
        }
    }
    return NO_GROUP;
}

static void refuse(tuning_reader *reader, const char *what, const char *name) {
    if (reader->trouble[0] == '\0') {
        snprintf(reader->trouble, sizeof(reader->trouble), what, name);
    }
}

static void open_group(tuning_reader *reader, const tuning_line *line) {
    reader->in_header = false;
    reader->group = device_fits(reader) ? find_group(line->name) : NO_GROUP;
    if (device_fits(reader) && reader->group == NO_GROUP) {
        log_line(&reader->context->log, OCLATTN_LOG_WARNING, "tuning file %s, line %d: [%s] is unknown and ignored",
                 reader->path, line->number, line->name);
    }
    reader->group_line = line->number;
    reader->read = (tuning_record){.found = true, .values = reader->row};
    reader->kernel = 0;
    reader->trouble[0] = '\0';
}

static void check_group(tuning_reader *reader) {
    text why = {0};
    const int lanes = tuning_lanes(&reader->context->caps);
    if (!tuning_check(&reader->read.values, (tuning_group)reader->group, lanes, &why)) {
        refuse(reader, "%s", why.failed ? "out of memory" : why.data);
    }
    text_clear(&why);
}

/* What was measured with another kernel may have other parameters, so nothing more is said of it. */
static void close_group(tuning_reader *reader) {
    const int group = reader->group;
    reader->group = NO_GROUP;
    if (group == NO_GROUP) {
        return;
    }
    const logger *log = &reader->context->log;
    const char *name = tuning_groups[group].name;
    if (reader->kernel == 0) {
        refuse(reader, "it does not say which kernel was measured%s", "");
    } else if (reader->kernel != tuning_kernels_version(&reader->kernels, (tuning_group)group)) {
        log_line(log, OCLATTN_LOG_INFO,
                 "tuning file %s, line %d: [%s] is ignored: it was measured with another version of the kernel; "
                 "oclattn-tune measures again",
                 reader->path, reader->group_line, name);
        return;
    }
    reader->group = group;
    check_group(reader);
    reader->group = NO_GROUP;
    if (reader->trouble[0] != '\0') {
        log_line(log, OCLATTN_LOG_WARNING, "tuning file %s, line %d: [%s] is ignored: %s", reader->path,
                 reader->group_line, name, reader->trouble);
        return;
    }
    reader->records[group] = reader->read;
}

static bool parse_integer(const char *digits, int *value) {
    const size_t length = strlen(digits);
    if (length == 0 || length > 9 || strspn(digits, "0123456789") != length) {
        return false;
    }
    *value = (int)strtol(digits, NULL, 10);
    return true;
}

static bool parse_version(const char *digits, uint64_t *value) {
    if (strlen(digits) != 16 || strspn(digits, "0123456789abcdef") != 16) {
        return false;
    }
    *value = (uint64_t)strtoull(digits, NULL, 16);
    return true;
}

static void read_parameter(tuning_reader *reader, const tuning_line *line) {
    const tuning_parameter *parameter = tuning_find_parameter((tuning_group)reader->group, line->name);
    int value = 0;
    if (parameter == NULL) {
        refuse(reader, "it has no parameter \"%s\"", line->name);
    } else if (!parse_integer(line->value, &value)) {
        refuse(reader, "%s is not a number", line->name);
    } else {
        tuning_set_value(&reader->read.values, parameter, value);
    }
}

static void read_group_value(tuning_reader *reader, const tuning_line *line) {
    if (strcmp(line->name, "kernel") == 0) {
        if (!parse_version(line->value, &reader->kernel)) {
            refuse(reader, "%s is not a version", line->name);
        }
    } else if (strcmp(line->name, "measured") == 0) {
        memcpy(reader->read.measured, line->value, sizeof(reader->read.measured));
    } else if (strcmp(line->name, "search") == 0) {
        snprintf(reader->read.search, sizeof(reader->read.search), "%.15s", line->value);
    } else {
        read_parameter(reader, line);
    }
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static void open_device(tuning_reader *reader) {
    reader->in_device = reader->in_header = true;
    reader->name_fits = reader->driver_fits = false;
}

static void read_header_value(tuning_reader *reader, const tuning_line *line) {
    const device_caps *caps = &reader->context->caps;
    if (strcmp(line->name, "name") == 0) {
        reader->name_fits = strcmp(line->value, caps->name) == 0;
    } else if (strcmp(line->name, "driver") == 0) {
        reader->driver_fits = strcmp(line->value, caps->driver_version) == 0;
    }
    reader->found_device = reader->found_device || device_fits(reader);
}

static void read_damaged(tuning_reader *reader, const tuning_line *line) {
    if (reader->group != NO_GROUP) {
        char number[16];
        snprintf(number, sizeof(number), "%d", line->number);
        refuse(reader, "line %s is damaged", number);
        return;
    }
    if (reader->in_header) {
        reader->in_device = false;
    }
    log_line(&reader->context->log, OCLATTN_LOG_WARNING, "tuning file %s, line %d is damaged and ignored", reader->path,
             line->number);
}

static void read_line(tuning_reader *reader, const tuning_line *line) {
    if (line->kind == TUNING_LINE_SECTION) {
        close_group(reader);
        if (strcmp(line->name, TUNING_DEVICE) == 0) {
            open_device(reader);
        } else {
            open_group(reader, line);
        }
    } else if (line->kind == TUNING_LINE_DAMAGED) {
        read_damaged(reader, line);
    } else if (line->kind == TUNING_LINE_VALUE && reader->in_header) {
        read_header_value(reader, line);
    } else if (line->kind == TUNING_LINE_VALUE && reader->group != NO_GROUP) {
        read_group_value(reader, line);
    }
}

static void read_lines(tuning_reader *reader, const text *content) {
    tuning_line line = {0};
    while (tuning_line_next(content, &line)) {
        read_line(reader, &line);
    }
    close_group(reader);
    if (!reader->found_device) {
        log_line(&reader->context->log, OCLATTN_LOG_INFO, "tuning file %s holds nothing for %s with driver %s",
                 reader->path, reader->context->caps.name, reader->context->caps.driver_version);
    }
}

void tuning_file_load(const oclattn_context *context, const char *path, tuning_record records[TUNING_GROUPS]) {
    tuning_reader reader = {
        .context = context, .path = path, .records = records, .row = tuning_find(&context->caps), .group = NO_GROUP};
    text content = {0};
    for (int group = 0; group < TUNING_GROUPS; ++group) {
        records[group] = (tuning_record){.values = reader.row};
    }
    if (file_load(path, TUNING_FILE_MOST_BYTES, &content)) {
        const char *trouble = tuning_lines_trouble(&content);
        if (trouble == NULL) {
            read_lines(&reader, &content);
        } else {
            log_line(&context->log, OCLATTN_LOG_WARNING, "tuning file %s is ignored: %s", path, trouble);
        }
    } else if (named_file() != NULL) {
        log_line(&context->log, OCLATTN_LOG_WARNING, "tuning file %s cannot be read", path);
    }
    text_clear(&content);
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static void take_group(tuning *tuned, tuning_group group, const tuning *from) {
    for (size_t i = 0; i < tuning_parameter_count; ++i) {
        if (tuning_parameters[i].group == group) {
            tuning_set_value(tuned, &tuning_parameters[i], tuning_value(from, &tuning_parameters[i]));
        }
    }
    tuned->from_file[group] = true;
}

static void keep_path(tuning *tuned, const char *path) {
    const size_t length = strlen(path);
    const size_t most = sizeof(tuned->path) - 1;
    if (length <= most) {
        memcpy(tuned->path, path, length + 1);
    } else {
        snprintf(tuned->path, sizeof(tuned->path), "...%s", path + length - most + 3);
    }
}

tuning tuning_over(const oclattn_context *context, const char *path, const tuning_record records[TUNING_GROUPS]) {
    tuning tuned = tuning_find(&context->caps);
    for (int group = 0; group < TUNING_GROUPS; ++group) {
        if (records[group].found) {
            take_group(&tuned, (tuning_group)group, &records[group].values);
        }
    }
    keep_path(&tuned, path);
    return tuned;
}

tuning tuning_for(const oclattn_context *context) {
    tuning tuned;
    text path = {0};
    if (tuning_file_path(context, &path)) {
        tuning_record records[TUNING_GROUPS];
        tuning_file_load(context, path.data, records);
        tuned = tuning_over(context, path.data, records);
    } else {
        tuned = tuning_find(&context->caps);
    }
    text_clear(&path);
    return tuned;
}
