/* The one table of what is known about platforms and devices. Asking drivers, the screen, --raw, --json, --prop and
 * captures all walk it; a value is JSON everywhere, null where it is not known. */
#ifndef OCLATTN_PROBE_PROPERTIES_H
#define OCLATTN_PROBE_PROPERTIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>
#include <oclattn/oclattn.h>

typedef enum property_kind {
    PROPERTY_TEXT,
    PROPERTY_NUMBER, /* of `bytes` bytes */
    PROPERTY_FLAG,
    PROPERTY_IS_LOCAL, /* cl_device_local_mem_type: true where it is CL_LOCAL */
    PROPERTY_NUMBERS,  /* size_t, any number of them */
    PROPERTY_TYPE,     /* cl_device_type, as one of `words`; see property_type_bit */
    PROPERTY_BITS,     /* a bit field, as words */
    PROPERTY_WORD,     /* true where the extensions hold one of `words` */
    PROPERTY_MATRIX,   /* the extensions that speak of matrix units */
    PROPERTY_SUBGROUPS /* true where the library would use them */
} property_kind;

typedef enum property_unit { UNIT_NONE, UNIT_BYTES, UNIT_MHZ, UNIT_BITS, UNIT_NS } property_unit;

typedef struct property {
    const char *key;   /* in --json and --raw; it names the unit */
    const char *label; /* on the screen */
    property_kind kind;
    property_unit unit;
    cl_uint param;
    size_t bytes;
    unsigned long long least, most; /* of each number, to be believed */
    const char *const *words;       /* of PROPERTY_TYPE, _WORD, and _BITS, there the lowest bit first; NULL ends them */
    bool may_be_empty;              /* a text */
} property;

extern const property platform_properties[];
extern const size_t platform_property_count;
extern const property device_properties[];
extern const size_t device_property_count;

/* NULL: no device property has that key. */
const property *device_property_find(const char *key);

/* Whether the number is within the property's bounds. */
bool property_believes_number(const property *p, unsigned long long value);

/* Whether a JSON value, which comes from a capture, is one of the property's; null is. */
bool property_takes(const property *p, const json_t *value);

/* CL_DEVICE_TYPE_... of the word of that index. */
unsigned long long property_type_bit(size_t index);

/* A value as people read it: "16 GiB", "yes", "4096 x 4096 x 4096", "not known". What does not fit ends in "...". */
void property_text(const property *p, const json_t *value, char *text, size_t size);

/* A value as scripts read it, on one line: "17179869184", "true", "4096 4096 4096", "null". */
void property_print(const json_t *value, FILE *to);

#endif
