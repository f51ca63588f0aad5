#include "wrap.h"

#include <stdarg.h>
#include <string.h>

#include "device/text.h"

enum { COLUMNS = 100, LONGEST = 16384 };

static size_t character_length(const char *text) {
    size_t length = 1;
    while (((unsigned char)text[length] & 0xC0) == 0x80) {
        length++;
    }
    return length;
}

/* Two for whatever may be wide: characters from U+1100 on, which are all of those with four bytes, and of those with
 * three the ones from E1 84 80 on. */
static int character_width(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    return c[0] > 0xE1 || (c[0] == 0xE1 && c[1] >= 0x84) ? 2 : 1;
}

static int width_of(const char *text) {
    int width = 0;
    for (; *text != '\0'; text += character_length(text)) {
        width += character_width(text);
    }
    return width;
}

/* The longest beginning of `text` that fits: it ends between words, or, in a word that is too long, anywhere. */
static size_t fitting(const char *text, int columns) {
    size_t end = 0, best = 0;
    int width = 0;
    while (text[end] != '\0') {
        width += character_width(text + end);
        if (width > columns) {
            return best > 0 ? best : end;
        }
        end += character_length(text + end);
        if (text[end] == ' ' || text[end] == '\0') {
            best = end;
        }
    }
    return end;
}

void text_cut(char *to, size_t size, const char *text) {
    const size_t length = strlen(text);
    if (length < size) {
        memcpy(to, text, length + 1);
        return;
    }
    size_t kept = size - sizeof "...";
    while (kept > 0 && ((unsigned char)text[kept] & 0xC0) == 0x80) {
        kept--;
    }
    memcpy(to, text, kept);
    memcpy(to + kept, "...", sizeof "...");
}

static void print_label(FILE *to, const char *label, int indent) {
    const int left = indent - width_of(label);
    if (left > 0 || indent == 0) {
        fprintf(to, "%s%*s", label, left > 0 ? left : 0, "");
    } else {
        fprintf(to, "%s\n%*s", label, indent, "");
    }
}

static void print_lines(FILE *to, int indent, const char *at) {
    do {
        const size_t length = fitting(at, COLUMNS - indent);
        fprintf(to, "%.*s\n", (int)length, at);
        at += length;
        at += strspn(at, " ");
        if (*at != '\0') {
            fprintf(to, "%*s", indent, "");
        }
    } while (*at != '\0');
}

void wrap_to(FILE *to, const char *label, int indent, const char *format, ...) {
    char text[LONGEST], clean[LONGEST], shown[LONGEST - 8];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    text_clean(clean, sizeof clean, text, strlen(text));
    text_cut(shown, sizeof shown, clean);
    print_label(to, label, indent);
    print_lines(to, indent, shown);
}
