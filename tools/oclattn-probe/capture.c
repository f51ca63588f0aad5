#include "capture.h"

#include <stdio.h>
#include <stdlib.h>

#include "device/text.h"
#include "io/output_file.h"
#include "properties.h"
#include "survey.h"

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static json_t *clean_text(const json_t *value) {
    const size_t length = json_string_length(value);
    char *text = malloc(length + 1);
    if (!text) {
        return NULL;
    }
    text_clean(text, length + 1, json_string_value(value), length);
    json_t *cleaned = json_string(text);
    free(text);
    return cleaned;
}

static void clean_all(json_t *value);

static void clean_object(json_t *object) {
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value) {
        if (json_is_string(value)) {
            json_object_set_new(object, key, clean_text(value));
        } else {
            clean_all(value);
        }
    }
}

static void clean_array(json_t *array) {
    size_t i;
    json_t *value;
    json_array_foreach(array, i, value) {
        if (json_is_string(value)) {
            json_array_set_new(array, i, clean_text(value));
        } else {
            clean_all(value);
        }
    }
}

static void clean_all(json_t *value) {
    if (json_is_object(value)) {
        clean_object(value);
    } else if (json_is_array(value)) {
        clean_array(value);
    }
}

/* ---- the document ----------------------------------------------------------------------------------------------- */

static bool is_wrong(const char *path, const char *what, failure *f) {
    return fail_with(f, EXIT_BAD_INPUT, "--load %s: it is no capture: %s", path, what);
}

/* What may be left out or null, and otherwise has the type. */
static bool is_absent_or(const json_t *object, const char *key, json_type type) {
    const json_t *value = json_object_get(object, key);
    return !value || json_is_null(value) || json_typeof(value) == type;
}

/* A fact that the capture lacks is not known; one that cannot be is a mistake. */
static bool complete_record(json_t *record, const property *properties, size_t count, const char *path, failure *f) {
    json_t *facts = json_object_get(record, "facts");
    if (!json_is_object(facts)) {
        return is_wrong(path, "\"facts\" are needed", f);
    }
    if (!json_is_object(json_object_get(record, "unknown"))) {
        json_object_set_new(record, "unknown", json_object());
    }
    json_t *unknown = json_object_get(record, "unknown");
    for (size_t i = 0; i < count; i++) {
        const char *key = properties[i].key;
        const json_t *value = json_object_get(facts, key);
        if (value && !property_takes(&properties[i], value)) {
            return fail_with(f, EXIT_BAD_INPUT, "--load %s: the fact \"%s\" cannot have this value", path, key);
        }
        if (value && !json_is_null(value)) {
            json_object_del(unknown, key);
            continue;
        }
        json_object_set_new(facts, key, json_null());
        if (!json_is_string(json_object_get(unknown, key))) {
            json_object_set_new(unknown, key, json_string("the capture does not say"));
        }
    }
    return true;
}

static bool complete_devices(json_t *platform, const char *path, failure *f) {
    size_t i;
    json_t *device;
    json_t *devices = json_object_get(platform, "devices");
    if (!json_is_array(devices)) {
        return is_wrong(path, "\"devices\" are needed", f);
    }
    json_array_foreach(devices, i, device) {
        if (!complete_record(device, device_properties, device_property_count, path, f)) {
            return false;
        }
        json_object_set_new(device, "index", json_integer((json_int_t)i));
    }
    return true;
}

static bool complete_platform(json_t *platform, size_t index, const char *path, failure *f) {
    if (!complete_record(platform, platform_properties, platform_property_count, path, f)) {
        return false;
    }
    if (!is_absent_or(platform, "problem", JSON_STRING) || !is_absent_or(platform, "driver_output", JSON_STRING) ||
        !is_absent_or(platform, "vendor_file", JSON_STRING) || !is_absent_or(platform, "same_as", JSON_INTEGER)) {
        return is_wrong(path, "a platform's \"problem\", \"driver_output\", \"vendor_file\" or \"same_as\"", f);
    }
    /* A driver that brought down the loader has no index. */
    const json_t *given = json_object_get(platform, "index");
    if (!given || !json_is_null(given)) {
        json_object_set_new(platform, "index", json_integer((json_int_t)index));
    }
    return complete_devices(platform, path, f);
}

static bool check_loader(json_t *document, const char *path, failure *f) {
    size_t i;
    json_t *vendor;
    json_t *loader = json_object_get(document, "loader");
    if (!loader) {
        json_object_set_new(document, "loader", json_pack("{s:n, s:n, s:[]}", "problem", "hint", "vendors"));
        return true;
    }
    bool good = json_is_object(loader) && is_absent_or(loader, "problem", JSON_STRING) &&
                is_absent_or(loader, "hint", JSON_STRING) && is_absent_or(loader, "vendors", JSON_ARRAY);
    json_array_foreach(json_object_get(loader, "vendors"), i, vendor) {
        good = good && json_is_string(json_object_get(vendor, "path")) && is_absent_or(vendor, "problem", JSON_STRING);
    }
    return good || is_wrong(path, "its \"loader\"", f);
}

static bool check_sources(const json_t *document, const char *path, failure *f) {
    size_t i;
    json_t *source;
    bool good = is_absent_or(document, "source", JSON_ARRAY);
    json_array_foreach(json_object_get(document, "source"), i, source) {
        good = good && json_is_string(source);
    }
    return good || is_wrong(path, "its \"source\" has to be a list of texts", f);
}

static bool complete(json_t *document, const char *path, failure *f) {
    size_t i;
    json_t *platform;
    const json_t *version = json_object_get(document, "schema_version");
    if (!json_is_integer(version)) {
        return is_wrong(path, "\"schema_version\" is needed", f);
    }
    if (json_integer_value(version) != SCHEMA_VERSION) {
        return fail_with(f, EXIT_BAD_INPUT, "--load %s: schema_version is %lld; this version reads %d", path,
                         (long long)json_integer_value(version), SCHEMA_VERSION);
    }
    if (!json_is_array(json_object_get(document, "platforms"))) {
        return is_wrong(path, "\"platforms\" are needed", f);
    }
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        if (!complete_platform(platform, i, path, f)) {
            return false;
        }
    }
    return check_loader(document, path, f) && check_sources(document, path, f);
}

json_t *capture_load(const char *path, failure *f) {
    json_error_t error;
    json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!document) {
        char line[32] = "";
        if (error.line > 0) {
            snprintf(line, sizeof line, " (line %d)", error.line);
        }
        fail_with(f, EXIT_BAD_INPUT, "--load %s: %s%s", path, error.text, line);
        return NULL;
    }
    clean_all(document);
    if (!complete(document, path, f)) {
        json_decref(document);
        return NULL;
    }
    return document;
}

bool capture_save(const json_t *document, const char *path, failure *f) {
    static const char *const kept[] = {"schema_version", "tool", "version", "source", "loader", "platforms"};
    json_t *capture = json_object();
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        json_object_set(capture, kept[i], json_object_get(document, kept[i]));
    }
    char *text = json_dumps(capture, JSON_INDENT(1));
    json_decref(capture);
    if (!text) {
        return fail_memory(f, "the capture");
    }
    output_file out = {.label = "--save", .path = path};
    const bool saved = output_check(&out, f) && output_write_text(&out, text, f) && output_commit(&out, f);
    output_discard(&out);
    free(text);
    return saved;
}
