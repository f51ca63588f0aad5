#include "text.h"

#include <string.h>

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Length of the valid UTF-8 character that starts at `bytes`, or 0. Table 3-7 of the Unicode standard: overlong forms,
 * surrogates and what lies beyond U+10FFFF are invalid. */
static size_t utf8_length(const unsigned char *bytes, size_t available) {
    const unsigned char first = bytes[0];
    if (first < 0x80) {
        return 1;
    }
    const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || length > available) {
        return 0;
    }
    const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (bytes[1] < low || bytes[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return length;
}

/* C0 and C1 controls, which terminals obey, line separators, and what turns the direction of text (U+2028 to U+202E,
 * U+2066 to U+2069). */
static bool is_control(const unsigned char *c, size_t length) {
    if (length == 1) {
        return c[0] < 0x20 || c[0] == 0x7F;
    }
    if (length == 2) {
        return c[0] == 0xC2 && c[1] < 0xA0;
    }
    return length == 3 && c[0] == 0xE2 &&
           ((c[1] == 0x80 && c[2] >= 0xA8 && c[2] <= 0xAE) || (c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9));
}

static size_t copy_character(char *to, const char *from, size_t length) {
    if (length == 0) {
        *to = '?';
        return 1;
    }
    if (is_control((const unsigned char *)from, length)) {
        *to = ' ';
        return 1;
    }
    memcpy(to, from, length);
    return length;
}

void text_clean(char *text, size_t size, const char *raw, size_t raw_length) {
    const char *end = raw_length > 0 ? memchr(raw, '\0', raw_length) : NULL;
    size_t left = end != NULL ? (size_t)(end - raw) : raw_length;
    size_t used = 0;
    while (left > 0) {
        const size_t length = utf8_length((const unsigned char *)raw, left);
        const size_t step = length > 0 ? length : 1;
        if (used + step >= size) {
            break;
        }
        used += copy_character(text + used, raw, length);
        used -= used == 1 && text[0] == ' '; /* none at the beginning */
        raw += step;
        left -= step;
    }
    while (used > 0 && text[used - 1] == ' ') {
        used--;
    }
    text[used] = '\0';
}

bool text_has_word(const char *words, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = strstr(words, word); at != NULL; at = strstr(at + length, word)) {
        const bool starts = at == words || is_blank(at[-1]);
        const bool ends = at[length] == '\0' || is_blank(at[length]);
        if (starts && ends) {
            return true;
        }
    }
    return false;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool starts_with_ignoring_case(const char *text, const char *part) {
    while (*part != '\0' && lower(*text) == lower(*part)) {
        text++;
        part++;
    }
    return *part == '\0';
}

bool text_equal_ignoring_case(const char *a, const char *b) {
    return strlen(a) == strlen(b) && starts_with_ignoring_case(a, b);
}

bool text_contains_ignoring_case(const char *text, const char *part) {
    for (;; text++) {
        if (starts_with_ignoring_case(text, part)) {
            return true;
        }
        if (*text == '\0') {
            return false;
        }
    }
}
