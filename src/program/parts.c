#include "parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void parts_add(program_parts *parts, const char *kernel_name, const char *options) {
    program_part added;
    snprintf(added.file, sizeof added.file, "%s.cl", kernel_name);
    snprintf(added.options, sizeof added.options, "%s", options);
    for (size_t i = 0; i < parts->count; i++) {
        if (strcmp(parts->part[i].file, added.file) == 0 && strcmp(parts->part[i].options, added.options) == 0) {
            return;
        }
    }
    if (parts->count < MOST_PARTS) {
        parts->part[parts->count++] = added;
    }
}

bool next_macro(const char **options, macro_option *macro) {
    const char *at = strstr(*options, "-D");
    if (!at) {
        return false;
    }
    macro->name = at + 2;
    macro->name_length = strcspn(macro->name, "= ");
    macro->value = macro->name + macro->name_length;
    macro->value += *macro->value == '=';
    macro->value_length = strcspn(macro->value, " ");
    *options = macro->value + macro->value_length;
    return true;
}

static bool same_macro(const macro_option *a, const macro_option *b) {
    return a->name_length == b->name_length && memcmp(a->name, b->name, a->name_length) == 0;
}

static bool same_value(const macro_option *a, const macro_option *b) {
    return a->value_length == b->value_length && memcmp(a->value, b->value, a->value_length) == 0;
}

static bool options_agree(const char *options, const char *others) {
    macro_option macro, other;
    while (next_macro(&options, &macro)) {
        const char *rest = others;
        while (next_macro(&rest, &other)) {
            if (same_macro(&macro, &other) && !same_value(&macro, &other)) {
                return false;
            }
        }
    }
    return true;
}

static bool is_part_of_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static bool mentions(const char *text, const macro_option *macro) {
    for (const char *at = text; *at; at++) {
        const bool begins = at == text || !is_part_of_name(at[-1]);
        if (begins && strncmp(at, macro->name, macro->name_length) == 0 && !is_part_of_name(at[macro->name_length])) {
            return true;
        }
    }
    return false;
}

static bool has_macro(const char *options, const macro_option *wanted) {
    macro_option macro;
    while (next_macro(&options, &macro)) {
        if (same_macro(&macro, wanted)) {
            return true;
        }
    }
    return false;
}

static bool mentions_none_that_is_missing(const char *options, const char *others, const char *text) {
    macro_option macro;
    while (next_macro(&options, &macro)) {
        if (!has_macro(others, &macro) && mentions(text, &macro)) {
            return false;
        }
    }
    return true;
}

bool parts_may_share(const program_part *a, const program_part *b, const char *text) {
    return mentions_none_that_is_missing(a->options, b->options, text) &&
           mentions_none_that_is_missing(b->options, a->options, text);
}

/* Other options cannot be written into a source. */
static bool has_macros_only(const char *options) {
    for (const char *at = options; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        if (strncmp(at, "-D", 2) != 0) {
            return false;
        }
    }
    return true;
}

bool parts_agree(const program_parts *parts) {
    for (size_t i = 0; i < parts->count; i++) {
        if (!has_macros_only(parts->part[i].options)) {
            return false;
        }
        for (size_t k = 0; k < i; k++) {
            const program_part *a = &parts->part[i];
            const program_part *b = &parts->part[k];
            if (strcmp(a->file, b->file) == 0 || !options_agree(a->options, b->options)) {
                return false;
            }
        }
    }
    return true;
}
