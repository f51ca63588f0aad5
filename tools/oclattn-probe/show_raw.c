/* For scripts. */
#include "properties.h"
#include "show.h"

static void raw_line(const char *prefix, const char *key, const json_t *value) {
    printf("%s.%s ", prefix, key);
    property_print(value, stdout);
    putchar('\n');
}

static void raw_record(const char *prefix, const json_t *record, const property *properties, size_t count) {
    for (size_t i = 0; i < count; i++) {
        raw_line(prefix, properties[i].key, json_object_get(json_object_get(record, "facts"), properties[i].key));
    }
}

void show_raw(const machine *m, const json_t *document) {
    size_t i;
    json_t *platform;
    char prefix[64];
    const json_t *choice = json_object_get(document, "choice");
    raw_line("choice", "device", json_object_get(choice, "device"));
    raw_line("choice", "why", json_object_get(choice, "why"));
    raw_line("choice", "tuning", json_object_get(choice, "tuning"));
    raw_line("loader", "problem", json_object_get(json_object_get(document, "loader"), "problem"));
    json_array_foreach(json_object_get(document, "platforms"), i, platform) {
        snprintf(prefix, sizeof prefix, "%zu", i);
        raw_line(prefix, "problem", json_object_get(platform, "problem"));
        raw_record(prefix, platform, platform_properties, platform_property_count);
    }
    for (size_t d = 0; d < m->list.count; d++) {
        const device_record *record = &m->list.items[d];
        snprintf(prefix, sizeof prefix, "%d:%d", record->platform_index, record->device_index);
        raw_line(prefix, "alias_of", json_object_get(m->devices[d], "alias_of"));
        raw_line(prefix, "unusable_because", json_object_get(m->devices[d], "unusable_because"));
        raw_record(prefix, m->devices[d], device_properties, device_property_count);
    }
}
