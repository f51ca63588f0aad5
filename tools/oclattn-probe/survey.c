#include "survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <oclattn/oclattn.h>

#include "child.h"
#include "io/output_file.h"
#include "properties.h"
#include "query.h"
#include "vendors.h"

static json_t *parse_answer(const child_result *result) {
    return result->answer ? json_loads(result->answer, 0, NULL) : NULL;
}

static json_t *text_or_null(const char *text) {
    json_t *value = text && text[0] != '\0' ? json_string(text) : NULL;
    return value ? value : json_null();
}

static json_t *silent_platform(const char *problem) {
    json_t *record = json_pack("{s:{}, s:{}, s:n, s:[], s:s}", "facts", "unknown", "same_as", "devices", "problem",
                               problem);
    for (size_t i = 0; i < platform_property_count; i++) {
        const char *key = platform_properties[i].key;
        json_object_set_new(json_object_get(record, "facts"), key, json_null());
        json_object_set_new(json_object_get(record, "unknown"), key, json_string("the driver gave no answer"));
    }
    return record;
}

static json_t *ask_platform(int index, double limit_s) {
    child_result result;
    child_run(query_platform, &index, limit_s, NULL, NULL, &result);
    json_t *record = parse_answer(&result);
    if (!record) {
        char problem[256];
        snprintf(problem, sizeof problem, "the driver %s",
                 result.trouble[0] != '\0' ? result.trouble : "gave no answer");
        record = silent_platform(problem);
        json_object_set_new(record, "broken", json_true());
    }
    json_object_set_new(record, "index", json_integer(index));
    json_object_set_new(record, "driver_output", text_or_null(result.said));
    child_clear(&result);
    size_t i;
    json_t *device;
    json_array_foreach(json_object_get(record, "devices"), i, device) {
        json_object_set_new(device, "index", json_integer((json_int_t)i));
    }
    return record;
}

static json_t *new_document(void) {
    return json_pack("{s:i, s:s, s:s, s:[s], s:{s:n, s:n, s:[]}, s:[]}", "schema_version", SCHEMA_VERSION, "tool",
                     "oclattn-probe", "version", oclattn_version(), "source", "this machine", "loader", "problem",
                     "hint", "vendors", "platforms");
}

static int count_platforms(json_t *loader, double limit_s) {
    child_result result;
    child_run(query_count, NULL, limit_s, NULL, NULL, &result);
    json_t *answer = parse_answer(&result);
    const int count = (int)json_integer_value(json_object_get(answer, "platforms"));
    const json_int_t code = json_integer_value(json_object_get(answer, "code"));
    if (!answer) {
        json_object_set_new(loader, "problem",
                            json_sprintf("the OpenCL loader, or a driver that it loads, %s",
                                         result.trouble[0] != '\0' ? result.trouble : "gave no answer"));
        json_object_set_new(loader, "broken", json_true());
    } else if (code != CL_SUCCESS) {
        json_object_set_new(loader, "problem",
                            json_sprintf("clGetPlatformIDs failed: %s (%lld)",
                                         json_string_value(json_object_get(answer, "name")), (long long)code));
    } else if (count == 0) {
        json_object_set_new(loader, "problem", json_string("the OpenCL loader finds no platform"));
    }
    json_decref(answer);
    child_clear(&result);
    return count;
}

static void add_broken_platform(json_t *platforms, json_t *vendor, json_t *record) {
    if (!record) {
        record = silent_platform("the driver brings down the loader");
        json_object_set_new(record, "driver_output", json_null());
    }
    json_object_set_new(record, "index", json_null());
    json_object_set(record, "vendor_file", json_object_get(vendor, "file"));
    json_object_set_new(vendor, "culprit", json_true());
    json_array_append_new(platforms, record);
}

/* With the loader shown one file alone: does its driver break down? */
static void try_alone(json_t *vendor, json_t *broken_platforms, double limit_s) {
    json_t *trial = json_object();
    const vendors_choice before = vendors_show_only(json_string_value(json_object_get(vendor, "path")));
    const int count = count_platforms(trial, limit_s);
    if (json_is_true(json_object_get(trial, "broken"))) {
        json_object_set(vendor, "problem", json_object_get(trial, "problem"));
        add_broken_platform(broken_platforms, vendor, NULL);
    }
    for (int p = 0; p < count; p++) {
        json_t *record = ask_platform(p, limit_s);
        if (json_is_true(json_object_get(record, "broken"))) {
            json_object_set(vendor, "problem", json_object_get(record, "problem"));
            add_broken_platform(broken_platforms, vendor, record);
        } else {
            json_decref(record);
        }
    }
    vendors_show_again(&before);
    json_decref(trial);
}

/* A driver that brings down the loader hides all others; so they are asked without it. */
static int leave_out_culprits(json_t *loader, json_t *broken_platforms, double limit_s) {
    size_t i;
    json_t *vendor;
    json_t *left_out = json_array();
    json_array_foreach(json_object_get(loader, "vendors"), i, vendor) {
        try_alone(vendor, broken_platforms, limit_s);
        if (json_is_true(json_object_get(vendor, "culprit"))) {
            json_array_append(left_out, json_object_get(vendor, "file"));
        }
    }
    json_object_set(loader, "left_out", left_out);
    json_t *again = json_object();
    int count = 0;
    if (json_array_size(left_out) > 0 && vendors_leave_out_culprits(json_object_get(loader, "vendors"))) {
        count = count_platforms(again, limit_s);
        json_object_set_new(loader, "broken", json_boolean(json_is_true(json_object_get(again, "broken"))));
    }
    json_decref(left_out);
    json_decref(again);
    return count;
}

json_t *survey_make(double limit_s) {
    json_t *document = new_document();
    json_t *loader = json_object_get(document, "loader");
    json_t *platforms = json_object_get(document, "platforms");
    json_t *broken_platforms = json_array();
    vendors_list(json_object_get(loader, "vendors"));
    int count = count_platforms(loader, limit_s);
    if (json_is_true(json_object_get(loader, "broken"))) {
        count = leave_out_culprits(loader, broken_platforms, limit_s);
    }
    for (int i = 0; i < count; i++) {
        json_array_append_new(platforms, ask_platform(i, limit_s));
    }
    json_array_extend(platforms, broken_platforms);
    json_decref(broken_platforms);
    vendors_add_hint(document);
    return document;
}

static bool is_record(const json_t *record) {
    return json_is_object(json_object_get(record, "facts"));
}

static bool is_document(const json_t *document) {
    size_t i, j;
    json_t *platform, *device;
    if (!json_is_array(json_object_get(document, "platforms"))) {
        return false;
    }
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        if (!is_record(platform) || !json_is_array(json_object_get(platform, "devices"))) {
            return false;
        }
        json_array_foreach(json_object_get(platform, "devices"), j, device) {
            if (!is_record(device)) {
                return false;
            }
        }
    }
    return true;
}

static bool fits_kind(const property *p, const json_t *value) {
    switch (p->kind) {
    case PROPERTY_TEXT:
    case PROPERTY_TYPE:
        return json_is_string(value);
    case PROPERTY_NUMBER:
        return json_is_integer(value);
    case PROPERTY_NUMBERS:
    case PROPERTY_BITS:
    case PROPERTY_MATRIX:
        return json_is_array(value);
    default:
        return json_is_boolean(value);
    }
}

/* A fact that the capture lacks is not known; one of another type is a mistake. */
static bool complete_record(json_t *record, const property *properties, size_t count, const char *path, failure *f) {
    json_t *facts = json_object_get(record, "facts");
    if (!json_is_object(json_object_get(record, "unknown"))) {
        json_object_set_new(record, "unknown", json_object());
    }
    json_t *unknown = json_object_get(record, "unknown");
    for (size_t i = 0; i < count; i++) {
        const char *key = properties[i].key;
        const json_t *value = json_object_get(facts, key);
        if (value && !json_is_null(value)) {
            if (!fits_kind(&properties[i], value)) {
                return fail_with(f, EXIT_BAD_INPUT, "--load %s: the fact \"%s\" has the wrong type", path, key);
            }
            continue;
        }
        json_object_set_new(facts, key, json_null());
        if (!json_is_string(json_object_get(unknown, key))) {
            json_object_set_new(unknown, key, json_string("the capture does not say"));
        }
    }
    return true;
}

static bool complete(json_t *document, const char *path, failure *f) {
    size_t i, j;
    json_t *platform, *device;
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        /* A driver that brought down the loader has no index. */
        if (!json_is_null(json_object_get(platform, "index"))) {
            json_object_set_new(platform, "index", json_integer((json_int_t)i));
        }
        if (!complete_record(platform, platform_properties, platform_property_count, path, f)) {
            return false;
        }
        json_array_foreach(json_object_get(platform, "devices"), j, device) {
            json_object_set_new(device, "index", json_integer((json_int_t)j));
            if (!complete_record(device, device_properties, device_property_count, path, f)) {
                return false;
            }
        }
    }
    return true;
}

json_t *survey_load(const char *path, failure *f) {
    json_error_t error;
    json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!document) {
        fail_with(f, EXIT_BAD_INPUT, "--load %s: %s (line %d)", path, error.text, error.line);
        return NULL;
    }
    const json_int_t version = json_integer_value(json_object_get(document, "schema_version"));
    bool good = true;
    if (version != SCHEMA_VERSION) {
        good = fail_with(f, EXIT_BAD_INPUT, "--load %s: schema_version is %lld; this version reads %d", path,
                         (long long)version, SCHEMA_VERSION);
    } else if (!is_document(document)) {
        good = fail_with(f, EXIT_BAD_INPUT, "--load %s: it is no capture: \"platforms\", \"devices\" and \"facts\" are "
                         "needed", path);
    }
    if (!good || !complete(document, path, f)) {
        json_decref(document);
        return NULL;
    }
    if (!json_is_object(json_object_get(document, "loader"))) {
        json_object_set_new(document, "loader", json_pack("{s:n, s:n, s:[]}", "problem", "hint", "vendors"));
    }
    return document;
}

bool survey_save(const json_t *document, const char *path, failure *f) {
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

bool survey_has_broken_driver(const json_t *document) {
    size_t i;
    json_t *platform;
    if (json_is_true(json_object_get(json_object_get(document, "loader"), "broken"))) {
        return true;
    }
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        if (json_is_string(json_object_get(platform, "problem"))) {
            return true;
        }
    }
    return false;
}
