#include "tuning_lines.h"

#include <string.h>

#include "../device/text.h"

const char *tuning_lines_trouble(const text *content) {
    const size_t first = sizeof(TUNING_FIRST_LINE) - 1;
    if (content->length > TUNING_FILE_MOST_BYTES) {
        return "it is too large";
    }
    if (content->length <= first || strncmp(content->data, TUNING_FIRST_LINE, first) != 0 ||
        (content->data[first] != '\n' && content->data[first] != '\r')) {
        return "it does not begin with \"" TUNING_FIRST_LINE "\"";
    }
    return strlen(content->data) == content->length ? NULL : "it holds bytes of 0";
}

/* A value may hold any character, a name none of those that have a meaning. */
static void read_value(tuning_line *line, const char *begin, const char *end) {
    const char *equals = memchr(begin, '=', (size_t)(end - begin));
    if (equals == NULL) {
        line->kind = TUNING_LINE_DAMAGED;
        return;
    }
    line->kind = TUNING_LINE_VALUE;
    text_clean(line->name, sizeof(line->name), begin, (size_t)(equals - begin));
    text_clean(line->value, sizeof(line->value), equals + 1, (size_t)(end - equals - 1));
}

static void read_section(tuning_line *line, const char *begin, const char *end) {
    const char *close = memchr(begin, ']', (size_t)(end - begin));
    line->kind = close == NULL ? TUNING_LINE_DAMAGED : TUNING_LINE_SECTION;
    if (close != NULL) {
        text_clean(line->name, sizeof(line->name), begin + 1, (size_t)(close - begin - 1));
    }
}

bool tuning_line_next(const text *content, tuning_line *line) {
    const char *begin = line->begin == NULL ? content->data : line->begin + line->length;
    const char *const stop = content->data + content->length;
    if (begin == stop) {
        return false;
    }
    const char *newline = memchr(begin, '\n', (size_t)(stop - begin));
    const char *end = newline == NULL ? stop : newline;
    const bool is_first = line->begin == NULL;
    line->begin = begin;
    line->length = (size_t)(end - begin) + (newline != NULL);
    ++line->number;
    begin += strspn(begin, " \t\r");
    line->kind = TUNING_LINE_EMPTY;
    line->name[0] = line->value[0] = '\0';
    if (is_first || begin >= end || begin[0] == '#') {
        return true;
    }
    if (begin[0] == '[') {
        read_section(line, begin, end);
    } else {
        read_value(line, begin, end);
    }
    return true;
}
