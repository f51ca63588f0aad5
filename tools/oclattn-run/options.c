#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const option_spec *find(const option_group *groups, size_t group_count, const char *name, size_t length,
                               void **value) {
    for (size_t g = 0; g < group_count; g++) {
        for (size_t i = 0; i < groups[g].count; i++) {
            const option_spec *spec = &groups[g].specs[i];
            if (strlen(spec->name) == length && memcmp(spec->name, name, length) == 0) {
                *value = (char *)groups[g].values + spec->offset;
                return spec;
            }
        }
    }
    return NULL;
}

static bool add_text(const char *label, text_list *list, const char *text, failure *f) {
    const size_t most = sizeof list->items / sizeof list->items[0];
    if (list->count == most) {
        return fail_with(f, EXIT_BAD_INPUT, "%s may be given %zu times", label, most);
    }
    list->items[list->count++] = text;
    return true;
}

static bool store(const option_spec *spec, void *value, const char *text, failure *f) {
    char label[64];
    snprintf(label, sizeof label, "--%s", spec->name);
    if (spec->kind == OPTION_SIZE || spec->kind == OPTION_COUNT) {
        return parse_integer(label, text, spec->kind == OPTION_COUNT ? 1 : 0, INT64_MAX, value, f);
    }
    if (text[0] == '\0') {
        return fail_with(f, EXIT_BAD_INPUT, "%s needs a value: %s", label, spec->metavar);
    }
    if (spec->kind == OPTION_LIST) {
        return add_text(label, value, text, f);
    }
    *(const char **)value = text;
    return true;
}

/* The option's value, behind "=" or in the next word, which *index then moves to. NULL: there is none. */
static const char *value_text(const char *equals, int count, char *const *words, int *index) {
    if (equals) {
        return equals + 1;
    }
    if (*index + 1 == count || strncmp(words[*index + 1], "--", 2) == 0) {
        return NULL;
    }
    return words[++*index];
}

static bool parse_word(const option_group *groups, size_t group_count, int count, char *const *words, int *index,
                       failure *f) {
    const char *word = words[*index];
    const char *name = strcmp(word, "-h") == 0 ? "--help" : word;
    if (strncmp(name, "--", 2) != 0 || name[2] == '\0') {
        return fail_with(f, EXIT_BAD_INPUT, "unexpected argument '%s'; options begin with --", word);
    }
    const char *equals = strchr(name, '=');
    const size_t length = (equals ? (size_t)(equals - name) : strlen(name)) - 2;
    void *value = NULL;
    const option_spec *spec = find(groups, group_count, name + 2, length, &value);
    if (!spec) {
        return fail_with(f, EXIT_BAD_INPUT, "unknown option --%.*s; --help lists them", (int)length, name + 2);
    }
    if (spec->kind == OPTION_FLAG) {
        *(bool *)value = true;
        return equals ? fail_with(f, EXIT_BAD_INPUT, "--%s takes no value", spec->name) : true;
    }
    const char *text = value_text(equals, count, words, index);
    return text ? store(spec, value, text, f)
                : fail_with(f, EXIT_BAD_INPUT, "--%s needs a value: %s", spec->name, spec->metavar);
}

bool options_parse(const option_group *groups, size_t group_count, int count, char *const *words, failure *f) {
    for (int i = 0; i < count; i++) {
        if (!parse_word(groups, group_count, count, words, &i, f)) {
            return false;
        }
    }
    return true;
}

void options_print(const option_group *groups, size_t group_count, FILE *to) {
    for (size_t g = 0; g < group_count; g++) {
        fprintf(to, "\n%s\n", groups[g].heading);
        for (size_t i = 0; i < groups[g].count; i++) {
            const option_spec *spec = &groups[g].specs[i];
            char left[64];
            snprintf(left, sizeof left, "--%s%s%s", spec->name, spec->metavar ? " " : "",
                     spec->metavar ? spec->metavar : "");
            fprintf(to, "  %-26s  %s\n", left, spec->help);
        }
    }
}

bool parse_float(const char *label, const char *text, float *value, failure *f) {
    char *end = NULL;
    const double number = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(number) || !isfinite((float)number)) {
        return fail_with(f, EXIT_BAD_INPUT, "%s must be a finite float32 number, not '%s'", label, text);
    }
    *value = (float)number;
    return true;
}

bool is_integer(const char *text) {
    const char *digits = text + (text[0] == '-' || text[0] == '+');
    return digits[0] != '\0' && digits[strspn(digits, "0123456789")] == '\0';
}

bool parse_integer(const char *label, const char *text, int64_t least, int64_t most, int64_t *value, failure *f) {
    errno = 0;
    const long long number = is_integer(text) ? strtoll(text, NULL, 10) : 0;
    if (!is_integer(text) || errno == ERANGE || number < least || number > most) {
        if (most == INT64_MAX) {
            return fail_with(f, EXIT_BAD_INPUT, "%s must be an integer of at least %lld, not '%s'", label,
                             (long long)least, text);
        }
        return fail_with(f, EXIT_BAD_INPUT, "%s must be an integer from %lld to %lld, not '%s'", label,
                         (long long)least, (long long)most, text);
    }
    *value = number;
    return true;
}

bool parse_integers(const char *label, const char *text, size_t count, int64_t least, int64_t *values, failure *f) {
    const char *at = text;
    for (size_t i = 0; i < count; i++) {
        char word[32];
        const size_t length = strcspn(at, ",");
        const bool last = i + 1 == count;
        if (length >= sizeof word || (at[length] == '\0') != last) {
            return fail_with(f, EXIT_BAD_INPUT, "%s must be %zu integers separated by commas, not '%s'", label, count,
                             text);
        }
        memcpy(word, at, length);
        word[length] = '\0';
        if (!parse_integer(label, word, least, INT64_MAX, &values[i], f)) {
            return false;
        }
        at += length + 1;
    }
    return true;
}
