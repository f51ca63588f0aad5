/* What a plan wants to have compiled: files of cl/, each with its build options. */
#ifndef OCLATTN_PROGRAM_PARTS_H
#define OCLATTN_PROGRAM_PARTS_H

#include <stdbool.h>
#include <stddef.h>

enum { PART_NAME_SIZE = 64, PART_OPTIONS_SIZE = 320, MOST_PARTS = 16 };

typedef struct program_part {
    char file[PART_NAME_SIZE];
    char options[PART_OPTIONS_SIZE];
} program_part;

typedef struct program_parts {
    size_t count;
    program_part part[MOST_PARTS];
} program_parts;

/* Adds the file of a kernel (of the same name) unless it is there with the same options. */
void parts_add(program_parts *parts, const char *kernel_name, const char *options);

/* Whether one program can hold them all: each file is there once, options are of the form -DNAME=VALUE, and a macro has
 * one value. */
bool parts_agree(const program_parts *parts);

/* Whether a text that both parts would share means the same to both: it mentions no macro that only one of them has. */
bool parts_may_share(const program_part *a, const program_part *b, const char *text);

/* One -DNAME=VALUE. */
typedef struct macro_option {
    const char *name, *value;
    size_t name_length, value_length;
} macro_option;

/* Takes the next one from *options. */
bool next_macro(const char **options, macro_option *macro);

#endif
