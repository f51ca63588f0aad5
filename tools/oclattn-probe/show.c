#include "show.h"

#include <stdio.h>
#include <string.h>

#include "properties.h"
#include "wrap.h"

enum { LABEL_WIDTH = 12 };

static void fact(const json_t *record, const char *key, char *text, size_t size) {
    const property *p = device_property_find(key);
    property_text(p, json_object_get(json_object_get(record, "facts"), key), text, size);
}

static const char *platform_fact(const json_t *platform, const char *key) {
    const char *text = json_string_value(json_object_get(json_object_get(platform, "facts"), key));
    return text ? text : "not known";
}

static const char *string_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static void show_problems(const json_t *record) {
    const char *problem = string_of(record, "problem");
    const char *said = string_of(record, "driver_output");
    if (problem) {
        show_wrapped("", LABEL_WIDTH, "problem: %s", problem);
    }
    if (said) {
        show_wrapped("", LABEL_WIDTH, "the driver printed: %s", said);
    }
}

static void show_platform(const json_t *platform) {
    char label[32];
    const json_t *index = json_object_get(platform, "index");
    if (json_is_integer(index)) {
        snprintf(label, sizeof label, "platform %lld", (long long)json_integer_value(index));
    } else {
        snprintf(label, sizeof label, "platform ?");
    }
    show_wrapped(label, LABEL_WIDTH, "%s, %s", platform_fact(platform, "name"), platform_fact(platform, "version"));
    if (string_of(platform, "vendor_file")) {
        show_wrapped("", LABEL_WIDTH, "registered by %s%s", string_of(platform, "vendor_file"),
                     json_is_null(index) ? ", left out of what follows" : "");
    }
    show_problems(platform);
    if (json_array_size(json_object_get(platform, "devices")) == 0 && !string_of(platform, "problem")) {
        show_wrapped("", LABEL_WIDTH, "no devices");
    }
}

static bool is_chosen(const machine *m, const json_t *document, const json_t *device) {
    return string_of(json_object_get(document, "choice"), "device") && m->devices[m->chosen] == device;
}

static void show_device_name(const machine *m, const json_t *document, size_t i) {
    char label[32], name[256];
    const device_record *record = &m->list.items[i];
    const char *alias = string_of(m->devices[i], "alias_of");
    const char *trouble = string_of(m->devices[i], "unusable_because");
    snprintf(label, sizeof label, "  %d:%d %s", record->platform_index, record->device_index,
             is_chosen(m, document, m->devices[i]) ? "*" : "");
    fact(m->devices[i], "name", name, sizeof name);
    show_wrapped(label, LABEL_WIDTH, "%s%s%s%s%s", name, alias ? ", the same device as " : "", alias ? alias : "",
                 trouble ? ", " : "", trouble ? trouble : "");
}

static void show_device_kind(const json_t *device) {
    char type[64], driver[256], version[256], units[64], clock[64];
    fact(device, "type", type, sizeof type);
    fact(device, "driver_version", driver, sizeof driver);
    fact(device, "device_version", version, sizeof version);
    fact(device, "compute_units", units, sizeof units);
    fact(device, "clock_mhz", clock, sizeof clock);
    show_wrapped("", LABEL_WIDTH, "type %s, driver %s, %s, compute units: %s, clock: %s", type, driver, version, units,
                 clock);
}

static void show_device_limits(const json_t *device) {
    char memory[64], buffer[64], local[64], group[64], fp16[64], fp64[64], subgroups[64], matrix[1024];
    fact(device, "global_memory_bytes", memory, sizeof memory);
    fact(device, "max_allocation_bytes", buffer, sizeof buffer);
    fact(device, "local_memory_bytes", local, sizeof local);
    fact(device, "max_work_group_size", group, sizeof group);
    fact(device, "has_fp16", fp16, sizeof fp16);
    fact(device, "has_fp64", fp64, sizeof fp64);
    fact(device, "has_subgroups", subgroups, sizeof subgroups);
    fact(device, "matrix_extensions", matrix, sizeof matrix);
    show_wrapped("", LABEL_WIDTH, "memory: %s, largest buffer: %s, local: %s, work-group: %s", memory, buffer, local,
                 group);
    show_wrapped("", LABEL_WIDTH, "fp16: %s, fp64: %s, sub-groups: %s, matrix extensions: %s", fp16, fp64, subgroups,
                 matrix);
}

static void show_devices(const machine *m, const json_t *document, const json_t *platform, bool limits) {
    for (size_t i = 0; i < m->list.count; i++) {
        if (m->platforms[i] == platform) {
            show_device_name(m, document, i);
            show_device_kind(m->devices[i]);
            if (limits && !string_of(m->devices[i], "alias_of")) {
                show_device_limits(m->devices[i]);
            }
        }
    }
}

static void show_loader(const json_t *document) {
    size_t i;
    json_t *vendor;
    const json_t *loader = json_object_get(document, "loader");
    if (json_array_size(json_object_get(document, "platforms")) == 0) {
        printf("0 platforms\n");
    }
    if (string_of(loader, "problem")) {
        show_wrapped("loader", LABEL_WIDTH, "%s", string_of(loader, "problem"));
    }
    json_array_foreach(json_object_get(loader, "vendors"), i, vendor) {
        if (string_of(vendor, "problem")) {
            show_wrapped("", LABEL_WIDTH, "%s: %s", string_of(vendor, "path"), string_of(vendor, "problem"));
        }
    }
    if (string_of(loader, "hint")) {
        show_wrapped("hint", LABEL_WIDTH, "%s", string_of(loader, "hint"));
    }
}

void show_list(const machine *m, const json_t *document) {
    size_t i;
    json_t *platform;
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        show_platform(platform);
        show_devices(m, document, platform, false);
    }
    show_loader(document);
}

static void show_sources(const json_t *document) {
    size_t i;
    json_t *source;
    json_array_foreach(json_object_get(document, "source"), i, source) {
        show_wrapped(i == 0 ? "source" : "", LABEL_WIDTH, "%s", json_string_value(source));
    }
}

static void show_operation(const json_t *operation) {
    size_t i;
    json_t *reason;
    const json_t *shape = json_object_get(operation, "shape");
    const char *variant = string_of(operation, "variant");
    if (json_array_size(shape) == 7) {
        show_wrapped("", 2, "attention, rows: %lld, keys: %lld, head_dim: %lld: %s",
                     (long long)json_integer_value(json_array_get(shape, 3)),
                     (long long)json_integer_value(json_array_get(shape, 4)),
                     (long long)json_integer_value(json_array_get(shape, 5)), variant ? variant : "none fits");
    } else {
        show_wrapped("", 2, "%s: %s", string_of(operation, "operation"), variant ? variant : "none fits");
    }
    json_array_foreach(json_object_get(operation, "refusals"), i, reason) {
        show_wrapped("", 4, "not taken: %s", json_string_value(reason));
    }
}

static void show_choice(const json_t *document) {
    size_t i;
    json_t *operation;
    const json_t *choice = json_object_get(document, "choice");
    const char *device = string_of(choice, "device");
    if (!device) {
        show_wrapped("choice", LABEL_WIDTH, "none: %s", string_of(choice, "why"));
        return;
    }
    show_wrapped("choice", LABEL_WIDTH, "%s: %s; tuning: %s", device, string_of(choice, "why"),
                 string_of(choice, "tuning"));
    json_array_foreach(json_object_get(choice, "operations"), i, operation) {
        show_operation(operation);
    }
}

void show_overview(const machine *m, const json_t *document) {
    size_t i;
    json_t *platform;
    show_sources(document);
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        show_platform(platform);
        show_devices(m, document, platform, true);
    }
    show_loader(document);
    show_choice(document);
}

static void show_record(const json_t *record, const property *properties, size_t count) {
    const json_t *unknown = json_object_get(record, "unknown");
    for (size_t i = 0; i < count; i++) {
        char text[16384], label[64];
        const json_t *value = json_object_get(json_object_get(record, "facts"), properties[i].key);
        snprintf(label, sizeof label, "  %s", properties[i].label);
        property_text(&properties[i], value, text, sizeof text);
        const char *reason = string_of(unknown, properties[i].key);
        show_wrapped(label, 30, "%s%s%s", text, json_is_null(value) && reason ? ": " : "",
                     json_is_null(value) && reason ? reason : "");
    }
}

void show_all(const machine *m, const json_t *document) {
    size_t i;
    json_t *platform;
    show_sources(document);
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        show_platform(platform);
        show_record(platform, platform_properties, platform_property_count);
        for (size_t d = 0; d < m->list.count; d++) {
            if (m->platforms[d] == platform) {
                show_device_name(m, document, d);
                show_record(m->devices[d], device_properties, device_property_count);
            }
        }
    }
    show_loader(document);
    show_choice(document);
}

void show_plan(const json_t *plan) {
    size_t i;
    json_t *line;
    json_array_foreach(json_object_get(plan, "plan"), i, line) {
        const char *text = json_string_value(line);
        const int indent = (int)strspn(text, " ");
        show_wrapped("", indent, "%s", text + indent);
    }
    if (!string_of(plan, "variant")) {
        show_operation(plan);
    }
}
