#include "survey.h"

#include <stdlib.h>
#include <string.h>

#include <oclattn/oclattn.h>

#include "child.h"
#include "hints.h"
#include "properties.h"
#include "query.h"
#include "silent.h"
#include "survey_parts.h"
#include "vendors.h"

/* A loader that counts more is not believed. */
enum { MOST_PLATFORMS = 64 };

static json_t *text_or_null(const char *text) {
    json_t *value = text && text[0] != '\0' ? json_string(text) : NULL;
    return value ? value : json_null();
}

json_t *silent_platform(const char *problem) {
    json_t *record = json_pack("{s:{}, s:{}, s:n, s:[], s:s, s:b}", "facts", "unknown", "same_as", "devices", "problem",
                               problem, "broken", 1);
    for (size_t i = 0; i < platform_property_count; i++) {
        const char *key = platform_properties[i].key;
        json_object_set_new(json_object_get(record, "facts"), key, json_null());
        json_object_set_new(json_object_get(record, "unknown"), key, json_string("the driver gave no answer"));
    }
    return record;
}

/* The next line of the answer, or NULL. */
static json_t *next_line(const char **at) {
    const char *end = *at ? strchr(*at, '\n') : NULL;
    if (!end) {
        return NULL;
    }
    json_t *line = json_loadb(*at, (size_t)(end - *at), 0, NULL);
    *at = end + 1;
    return line;
}

/* Puts the parts of the answer together; what is missing was left out by a driver that broke down. */
static json_t *join_answer(const child_result *result) {
    char problem[256];
    const char *at = result->answer;
    json_t *record = next_line(&at), *devices = next_line(&at);
    snprintf(problem, sizeof problem, "the driver %s", result->trouble[0] != '\0' ? result->trouble : "gave no answer");
    if (!record) {
        record = silent_platform(problem);
    } else if (!devices) {
        json_object_set_new(record, "devices", json_array());
        json_object_set_new(record, "problem", json_string(problem));
    } else {
        json_object_update(record, devices);
    }
    json_object_set_new(record, "broken", json_boolean(!devices));
    json_decref(devices);
    return record;
}

json_t *ask_platform(int index, double limit_s) {
    child_result result;
    size_t i;
    json_t *device;
    child_run(query_platform, &index, limit_s, NULL, NULL, &result);
    json_t *record = join_answer(&result);
    json_object_set_new(record, "index", json_integer(index));
    json_object_set_new(record, "driver_output", text_or_null(result.said));
    json_array_foreach(json_object_get(record, "devices"), i, device) {
        json_object_set_new(device, "index", json_integer((json_int_t)i));
    }
    child_clear(&result);
    return record;
}

static json_t *new_document(void) {
    return json_pack("{s:i, s:s, s:s, s:[s], s:{s:n, s:n, s:[]}, s:[]}", "schema_version", SCHEMA_VERSION, "tool",
                     "oclattn-probe", "version", oclattn_version(), "source", "this machine", "loader", "problem",
                     "hint", "vendors", "platforms");
}

static void set_problem(json_t *loader, json_t *sentence) {
    json_object_set_new(loader, "problem", sentence);
}

int count_platforms(json_t *loader, double limit_s) {
    child_result result;
    child_run(query_count, NULL, limit_s, NULL, NULL, &result);
    const char *at = result.answer;
    json_t *answer = next_line(&at);
    json_int_t count = json_integer_value(json_object_get(answer, "platforms"));
    const json_int_t code = json_integer_value(json_object_get(answer, "code"));
    if (!answer) {
        set_problem(loader, json_sprintf("the OpenCL loader, or a driver that it loads, %s",
                                         result.trouble[0] != '\0' ? result.trouble : "gave no answer"));
        json_object_set_new(loader, "broken", json_true());
    } else if (code != CL_SUCCESS) {
        set_problem(loader, json_sprintf("clGetPlatformIDs failed: %s (%lld)",
                                         json_string_value(json_object_get(answer, "name")), (long long)code));
    } else if (count == 0) {
        set_problem(loader, json_string("the OpenCL loader finds no platform"));
    } else if (count > MOST_PLATFORMS) {
        set_problem(loader, json_sprintf("the OpenCL loader counts %lld platforms, and the first %d are looked at here",
                                         (long long)count, MOST_PLATFORMS));
        count = MOST_PLATFORMS;
    }
    json_decref(answer);
    child_clear(&result);
    return (int)count;
}

static bool has_broken_platform(const json_t *platforms) {
    size_t i;
    json_t *platform;
    json_array_foreach(platforms, i, platform) {
        if (json_is_true(json_object_get(platform, "broken"))) {
            return true;
        }
    }
    return false;
}

json_t *survey_make(double limit_s) {
    json_t *document = new_document();
    json_t *loader = json_object_get(document, "loader");
    json_t *platforms = json_object_get(document, "platforms");
    json_t *apart = json_array();
    machine_signs signs;
    vendors_list(json_object_get(loader, "vendors"));
    int count = count_platforms(loader, limit_s);
    if (json_is_true(json_object_get(loader, "broken"))) {
        count = leave_out_culprits(loader, apart, limit_s);
    }
    for (int i = 0; i < count; i++) {
        json_array_append_new(platforms, ask_platform(i, limit_s));
    }
    if (has_broken_platform(platforms)) {
        name_culprits(loader, platforms, limit_s);
    }
    if ((size_t)count < json_array_size(json_object_get(loader, "vendors"))) {
        explain_silent_drivers(json_object_get(loader, "vendors"), limit_s);
    }
    json_array_extend(platforms, apart);
    json_decref(apart);
    hints_read_signs("", &signs);
    hints_add(document, &signs, vendors_folder());
    return document;
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
