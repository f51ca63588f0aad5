#include "quarantine.h"

#include <errno.h>
#include <string.h>

#include "../device/text.h"
#include "../program/file.h"
#include "../program/os.h"

/* The first line; then "variant <tab> device <tab> driver <tab> library version <tab> reason" on each. */
#define FIRST_LINE "oclattn quarantine 1"

enum { FIELD_VARIANT, FIELD_DEVICE, FIELD_DRIVER, FIELD_LIBRARY, FIELD_REASON, FIELD_COUNT };
enum { MOST_BYTES = 1 << 16, REASON_SIZE = 256 };

typedef struct quarantine_entry {
    const char *line;
    size_t length; /* without the newline */
    const char *fields[FIELD_COUNT];
    size_t lengths[FIELD_COUNT];
} quarantine_entry;

static void file_path(const char *cache_dir, text *path) {
    text_format(path, "%s/quarantine", cache_dir);
}

/* The entry at *at, which moves behind it. False: the line is none. */
static bool parse_entry(const char **at, quarantine_entry *entry) {
    const char *end = strchr(*at, '\n');
    if (end == NULL) {
        return false;
    }
    entry->line = *at;
    entry->length = (size_t)(end - *at);
    const char *field = *at;
    for (int i = 0; i < FIELD_COUNT; ++i) {
        const char *stop = i + 1 < FIELD_COUNT ? memchr(field, '\t', (size_t)(end - field)) : end;
        if (stop == NULL) {
            return false;
        }
        entry->fields[i] = field;
        entry->lengths[i] = (size_t)(stop - field);
        field = stop + 1;
    }
    *at = end + 1;
    return true;
}

static const char *entries_of(const text *content) {
    const size_t length = sizeof(FIRST_LINE) - 1;
    const bool begins = content->length > length && strncmp(content->data, FIRST_LINE "\n", length + 1) == 0;
    return begins ? content->data + length + 1 : NULL;
}

static bool is_whole(const text *content) {
    const char *at = entries_of(content);
    quarantine_entry entry;
    if (at == NULL || content->length > MOST_BYTES || strlen(content->data) != content->length) {
        return false;
    }
    while (*at != '\0') {
        if (!parse_entry(&at, &entry)) {
            return false;
        }
    }
    return true;
}

/* False: there is nothing to look at. */
static bool load(const char *cache_dir, const logger *log, text *content) {
    text path = {0};
    if (cache_dir == NULL) {
        return false;
    }
    file_path(cache_dir, &path);
    bool loaded = !path.failed && file_load(path.data, MOST_BYTES, content) && content->length > 0;
    if (loaded && !is_whole(content)) {
        log_line(log, OCLATTN_LOG_WARNING, "%s is damaged and ignored: no variant is in quarantine", path.data);
        loaded = false;
    }
    text_clear(&path);
    return loaded;
}

static bool field_is(const quarantine_entry *entry, int field, const char *value) {
    return strlen(value) == entry->lengths[field] && memcmp(entry->fields[field], value, entry->lengths[field]) == 0;
}

static bool is_about(const quarantine_entry *entry, const device_caps *caps, const char *variant) {
    return field_is(entry, FIELD_VARIANT, variant) && field_is(entry, FIELD_DEVICE, caps->name) &&
           field_is(entry, FIELD_DRIVER, caps->driver_version) && field_is(entry, FIELD_LIBRARY, oclattn_version());
}

bool quarantine_holds(const char *cache_dir, const device_caps *caps, const char *variant, const logger *log,
                      text *reason) {
    text content = {0};
    bool found = false;
    if (load(cache_dir, log, &content)) {
        const char *at = entries_of(&content);
        quarantine_entry entry;
        while (!found && *at != '\0' && parse_entry(&at, &entry)) {
            found = is_about(&entry, caps, variant);
        }
        if (found && reason != NULL) {
            text_add(reason, entry.fields[FIELD_REASON], entry.lengths[FIELD_REASON]);
        }
    }
    text_clear(&content);
    return found;
}

static void add_others(text *to, const text *content, const device_caps *caps, const char *variant) {
    const char *at = entries_of(content);
    quarantine_entry entry;
    while (*at != '\0' && parse_entry(&at, &entry)) {
        if (!is_about(&entry, caps, variant)) {
            text_add(to, entry.line, entry.length + 1);
        }
    }
}

static void add_entry(text *to, const device_caps *caps, const char *variant, const char *reason) {
    char clean[REASON_SIZE];
    text_clean(clean, sizeof(clean), reason, strlen(reason));
    text_format(to, "%s\t%s\t%s\t%s\t%s\n", variant, caps->name, caps->driver_version, oclattn_version(), clean);
}

static bool write_file(const char *cache_dir, const text *content) {
    text path = {0};
    file_path(cache_dir, &path);
    const bool written = !path.failed && os_make_folders(cache_dir) && file_replace(path.data, content);
    const int reason = errno;
    text_clear(&path);
    errno = reason;
    return written;
}

bool quarantine_set(const char *cache_dir, const device_caps *caps, const char *variant, const char *reason,
                    const logger *log) {
    text old = {0};
    text made = {0};
    const bool had = load(cache_dir, log, &old);
    const bool must_write = cache_dir != NULL && (reason != NULL || had);
    text_add_string(&made, FIRST_LINE "\n");
    if (had) {
        add_others(&made, &old, caps, variant);
    }
    if (reason != NULL) {
        add_entry(&made, caps, variant, reason);
    }
    const bool done = !must_write || (!made.failed && write_file(cache_dir, &made));
    text_clear(&old);
    text_clear(&made);
    return done;
}
