/* The lines of a tuning file. */
#ifndef OCLATTN_PLAN_TUNING_LINES_H
#define OCLATTN_PLAN_TUNING_LINES_H

#include <stdbool.h>

#include "../program/text.h"

#define TUNING_FIRST_LINE "oclattn tuning 1"
#define TUNING_DEVICE "device"

enum { TUNING_FILE_MOST_BYTES = 1 << 18 };

typedef enum tuning_line_kind {
    TUNING_LINE_EMPTY,
    TUNING_LINE_SECTION,
    TUNING_LINE_VALUE,
    TUNING_LINE_DAMAGED
} tuning_line_kind;

typedef struct tuning_line {
    tuning_line_kind kind;
    int number;        /* 1: the first one */
    const char *begin; /* in the file's text */
    size_t length;     /* with its newline */
    char name[64];     /* of the section or the value; cut where too long, and safe to print */
    char value[256];
} tuning_line;

/* NULL: the content is a tuning file; else what it is not. */
const char *tuning_lines_trouble(const text *content);

/* Reads the next line; start with a zeroed one and content that is a tuning file. False: there is none. */
bool tuning_line_next(const text *content, tuning_line *line);

#endif
