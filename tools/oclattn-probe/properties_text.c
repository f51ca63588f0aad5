/* Values as people and scripts read them. */
#include <string.h>

#include "properties.h"
#include "wrap.h"

static void bytes_text(json_int_t value, char *text, size_t size) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double scaled = (double)value;
    int unit = 0;
    while (scaled >= 1024 && unit < 6) {
        scaled /= 1024;
        unit++;
    }
    if (unit == 0) {
        snprintf(text, size, "%lld bytes", (long long)value);
    } else {
        snprintf(text, size, "%.4g %s", scaled, units[unit]);
    }
}

static void number_text(const property *p, json_int_t value, char *text, size_t size) {
    static const char *const units[] = {"", "", " MHz", " bits", " ns"};
    if (p->unit == UNIT_BYTES) {
        bytes_text(value, text, size);
    } else {
        snprintf(text, size, "%lld%s", (long long)value, units[p->unit]);
    }
}

static void item_text(const json_t *item, char *text, size_t size) {
    if (json_is_integer(item)) {
        snprintf(text, size, "%lld", (long long)json_integer_value(item));
    } else {
        text_cut(text, size, json_string_value(item));
    }
}

static void list_text(const json_t *list, const char *between, char *text, size_t size) {
    static const char more[] = " ...";
    size_t length = 0, i;
    json_t *item;
    text[0] = '\0';
    json_array_foreach((json_t *)list, i, item) {
        char word[256];
        item_text(item, word, sizeof word);
        const size_t added = strlen(word) + (i > 0 ? strlen(between) : 0);
        if (length + added + sizeof more > size) {
            snprintf(text + length, size - length, "%s", more);
            return;
        }
        length += (size_t)snprintf(text + length, size - length, "%s%s", i > 0 ? between : "", word);
    }
}

void property_text(const property *p, const json_t *value, char *text, size_t size) {
    if (json_is_integer(value)) {
        number_text(p, json_integer_value(value), text, size);
    } else if (json_is_boolean(value)) {
        snprintf(text, size, "%s", json_is_true(value) ? "yes" : "no");
    } else if (json_is_array(value) && json_array_size(value) > 0) {
        list_text(value, json_is_integer(json_array_get(value, 0)) ? " x " : ", ", text, size);
    } else if (json_is_array(value) || (json_is_string(value) && json_string_length(value) == 0)) {
        snprintf(text, size, "none");
    } else if (json_is_string(value)) {
        text_cut(text, size, json_string_value(value));
    } else {
        snprintf(text, size, "not known");
    }
}

void property_print(const json_t *value, FILE *to) {
    size_t i;
    json_t *item;
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING:
        fputs(json_string_value(value), to);
        break;
    case JSON_INTEGER:
        fprintf(to, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        fputs(json_is_true(value) ? "true" : "false", to);
        break;
    case JSON_ARRAY:
        json_array_foreach((json_t *)value, i, item) {
            fputs(i > 0 ? " " : "", to);
            property_print(item, to);
        }
        break;
    default:
        fputs("null", to);
    }
}
