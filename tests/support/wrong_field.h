/* Wrong values for the fields of a struct. */
#ifndef OCLATTN_TESTS_WRONG_FIELD_H
#define OCLATTN_TESTS_WRONG_FIELD_H

#include <oclattn/oclattn.h>
#include <string.h>

/* A value that is wrong at one place of a struct. */
typedef struct wrong_field {
    size_t offset;
    size_t bytes; /* 4 or 8 */
    int64_t value;
    oclattn_status status;
    const char *word;
} wrong_field;

/* A field of a descriptor, of a size that the table cannot get wrong. */
#define FIELD(type, field) offsetof(type, field), sizeof(((type *)NULL)->field)

static inline void write_field(void *to, const wrong_field *wrong) {
    const int32_t narrow = (int32_t)wrong->value;
    memcpy((char *)to + wrong->offset, wrong->bytes == 8 ? (const void *)&wrong->value : &narrow, wrong->bytes);
}

#endif
