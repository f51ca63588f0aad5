#include "fake_answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HUGE_BYTES = 1 << 20, LONG_BYTES = 700, MOST_BYTES_BEYOND = 200 };

int fake_lies(const char *word) {
    const char *list = getenv("FAKE_LIES");
    const size_t length = strlen(word);
    while (list != NULL && *list != '\0') {
        const size_t span = strcspn(list, ",");
        if (span == length && strncmp(list, word, length) == 0) {
            return 1;
        }
        list += span + (list[span] == ',');
    }
    return 0;
}

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: its mixing of a counter. */
unsigned fake_chance(cl_uint a, cl_uint b, unsigned below) {
    const char *seed = getenv("FAKE_SEED");
    if (seed == NULL) {
        return 0;
    }
    cl_ulong z = strtoull(seed, NULL, 10) * 0x9E3779B97F4A7C15u + ((cl_ulong)a << 32 | b);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (unsigned)((z ^ (z >> 31)) % below);
}

/* ---- lies about sizes ------------------------------------------------------------------------------------------- */

typedef enum size_lie {
    HONEST,
    ANNOUNCES_MORE,
    ANNOUNCES_LESS,
    GROWS,
    ANNOUNCES_MUCH,
    ANSWERS_NOTHING,
    FAILS
} size_lie;

static size_lie size_lie_of(cl_uint param) {
    static const char *const words[] = {"announces_more", "announces_less", "grows", "claims_much"};
    for (int i = 0; i < 4; i++) {
        if (fake_lies(words[i])) {
            return (size_lie)(ANNOUNCES_MORE + i);
        }
    }
    const unsigned drawn = fake_chance(param, 1, 24);
    return drawn <= FAILS ? (size_lie)drawn : HONEST;
}

static void put(const fake_query *q, const void *data, size_t length) {
    if (q->value != NULL && length > 0) {
        memcpy(q->value, data, length);
    }
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static void announce(const fake_query *q, size_t length) {
    if (q->returned != NULL) {
        *q->returned = length;
    }
}

cl_int fake_answer(const fake_query *q, const void *data, size_t length) {
    const size_lie lie = size_lie_of(q->param);
    const size_t announced = lie == ANNOUNCES_MORE    ? length + 24
                             : lie == ANNOUNCES_LESS  ? length / 2
                             : lie == ANNOUNCES_MUCH  ? (size_t)1 << 40
                             : lie == ANSWERS_NOTHING ? 0
                                                      : length;
    if (lie == FAILS || (lie == GROWS && q->value != NULL)) {
        return lie == FAILS ? CL_INVALID_OPERATION : CL_INVALID_VALUE;
    }
    if (q->value != NULL && q->size < announced) {
        return CL_INVALID_VALUE;
    }
    put(q, data, lie == ANNOUNCES_LESS ? least(length, announced + MOST_BYTES_BEYOND) : least(length, announced));
    announce(q, announced);
    return CL_SUCCESS;
}

/* ---- lies about contents ---------------------------------------------------------------------------------------- */

typedef struct text_lie {
    const char *word, *text; /* text NULL: made by lying_text */
} text_lie;

static const text_lie text_lies[] = {
    {"not_utf8", "F\xFF\xFE\x01\xC3 GPU\xED\xA0\x80"},
    {"controls", "\x1b[31mred\x1b]0;title\x07\r\nsecond line\tend \xC2\x9B"
                 "1m \xE2\x80\xAEturned \xE2\x80\xA8line"},
    {"wide", NULL},
    {"long", NULL},
    {"huge_text", NULL},
    {"blank", "  \t \n "},
    {"percent", "%s%n%1000d \\ \" ' </script>"},
};
enum { TEXT_LIES = sizeof(text_lies) / sizeof(text_lies[0]) };

static void repeat(char *to, size_t size, const char *part) {
    const size_t length = strlen(part);
    size_t used = 0;
    for (; used + length < size; used += length) {
        memcpy(to + used, part, length);
    }
    to[used] = '\0';
}

static const char *made_text(const char *word) {
    static char text[HUGE_BYTES];
    const int is_wide = strcmp(word, "wide") == 0;
    repeat(text, strcmp(word, "huge_text") == 0 ? HUGE_BYTES : LONG_BYTES, is_wide ? "\xE9\xBE\x8D" : "w0rd");
    return text;
}

static const char *lying_text(cl_uint param, const char *honest) {
    const unsigned drawn = fake_chance(param, 2, 4 * TEXT_LIES);
    for (unsigned i = 0; i < TEXT_LIES; i++) {
        if (fake_lies(text_lies[i].word) || (getenv("FAKE_SEED") != NULL && drawn == i)) {
            return text_lies[i].text != NULL ? text_lies[i].text : made_text(text_lies[i].word);
        }
    }
    return honest;
}

cl_int fake_answer_text(const fake_query *q, const char *text) {
    if (fake_lies("empty_texts")) {
        return fake_answer(q, "", 0);
    }
    text = lying_text(q->param, text);
    const int unterminated = fake_lies("unterminated") || fake_chance(q->param, 3, 5) == 1;
    return fake_answer(q, text, strlen(text) + (unterminated ? 0 : 1));
}

static cl_ulong lying_number(cl_uint param, cl_ulong honest) {
    static const cl_ulong numbers[] = {0,          0, 1, 7, ~(cl_ulong)0, (cl_ulong)1 << 63, ((cl_ulong)1 << 31) - 1,
                                       4000000000u};
    const unsigned drawn = fake_chance(param, 4, 20);
    if (fake_lies("zeros")) {
        return 0;
    }
    if (fake_lies("huge_numbers")) {
        return ~(cl_ulong)0;
    }
    return drawn > 0 && drawn < 8 ? numbers[drawn] : honest;
}

cl_int fake_answer_number(const fake_query *q, cl_ulong number, size_t width) {
    const cl_ulong wide = lying_number(q->param, number);
    const cl_uint narrow = (cl_uint)wide;
    if (fake_lies("short_numbers")) {
        return fake_answer(q, &wide, 1);
    }
    return width == sizeof(narrow) ? fake_answer(q, &narrow, width) : fake_answer(q, &wide, width);
}
