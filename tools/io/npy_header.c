#include "npy_header.h"

#include <stdio.h>
#include <string.h>

#define KEY_SIZE 32

typedef struct cursor {
    const char *at, *end;
    const char *reason;
    char *text; /* room for a reason with details, 256 bytes */
} cursor;

static bool refuse(cursor *c, const char *reason) {
    c->reason = reason;
    return false;
}

static const char *malformed = "its header is not a .npy dictionary of descr, fortran_order and shape";

static void skip_blanks(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t')) {
        c->at++;
    }
}

static bool take(cursor *c, char wanted) {
    skip_blanks(c);
    if (c->at == c->end || *c->at != wanted) {
        return false;
    }
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word) {
    const size_t length = strlen(word);
    skip_blanks(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) {
        return false;
    }
    c->at += length;
    return true;
}

static bool take_string(cursor *c, char out[KEY_SIZE]) {
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) {
        return false;
    }
    const char quote = *c->at++;
    size_t used = 0;
    while (c->at < c->end && *c->at != quote && used + 1 < KEY_SIZE) {
        out[used++] = *c->at++;
    }
    out[used] = '\0';
    return take(c, quote);
}

static bool take_size(cursor *c, int64_t *size) {
    skip_blanks(c);
    const char *start = c->at;
    int64_t value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        const int digit = *c->at - '0';
        if (value > (INT64_MAX - digit) / 10) {
            return refuse(c, "a size in its shape overflows 64 bits");
        }
        value = value * 10 + digit;
    }
    *size = value;
    return c->at > start ? true : refuse(c, "its shape is not a tuple of sizes");
}

static bool parse_shape(cursor *c, host_array *array) {
    if (!take(c, '(')) {
        return refuse(c, "its shape is not a tuple of sizes");
    }
    array->rank = 0;
    while (!take(c, ')')) {
        if (array->rank == ARRAY_MAX_RANK) {
            return refuse(c, "it has more than 8 dimensions");
        }
        if (!take_size(c, &array->shape[array->rank])) {
            return false;
        }
        array->rank++;
        if (take(c, ',')) {
            continue;
        }
        return take(c, ')') ? true : refuse(c, "its shape is not a tuple of sizes");
    }
    return true;
}

static bool type_of_code(const char *code, array_type *type) {
    static const struct {
        const char *code;
        array_type type;
    } known[] = {
        {"b1", ARRAY_BOOL}, {"u1", ARRAY_U8},  {"i4", ARRAY_I32}, {"i8", ARRAY_I64},
        {"f2", ARRAY_F16},  {"f4", ARRAY_F32}, {"f8", ARRAY_F64},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(code, known[i].code) == 0) {
            *type = known[i].type;
            return true;
        }
    }
    return false;
}

static bool host_is_little_endian(void) {
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 1;
}

static bool parse_descr(cursor *c, host_array *array) {
    char descr[KEY_SIZE];
    if (!take_string(c, descr)) {
        return refuse(c, "its type is not a plain number: structured types are not supported");
    }
    if (!descr[0] || !type_of_code(descr + 1, &array->type)) {
        snprintf(c->text, 256,
                 "its type '%s' is not supported; bool, uint8, int32, int64, float16, float32 and float64 are", descr);
        return refuse(c, c->text);
    }
    const bool one_byte = array_type_bytes(array->type) == 1;
    const char order = descr[0] == '=' ? (host_is_little_endian() ? '<' : '>') : descr[0];
    if (order == '>' && !one_byte) {
        snprintf(c->text, 256, "its byte order is big-endian ('%s'); save it with a little-endian type ('<%s')", descr,
                 descr + 1);
        return refuse(c, c->text);
    }
    if (order != '<' && order != '>' && !(order == '|' && one_byte)) {
        return refuse(c, "its byte order is unknown");
    }
    return true;
}

static bool parse_fortran_order(cursor *c) {
    if (take_word(c, "False")) {
        return true;
    }
    return refuse(c, take_word(c, "True") ? "it is in Fortran order; save numpy.ascontiguousarray(array)" : malformed);
}

static bool parse_entry(cursor *c, host_array *array, unsigned *seen) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[KEY_SIZE];
    if (!take_string(c, key) || !take(c, ':')) {
        return refuse(c, malformed);
    }
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(key, keys[i]) != 0) {
            continue;
        }
        if (*seen & 1u << i) {
            return refuse(c, malformed);
        }
        *seen |= 1u << i;
        return i == 0 ? parse_descr(c, array) : i == 1 ? parse_fortran_order(c) : parse_shape(c, array);
    }
    return refuse(c, malformed);
}

static bool parse_dictionary(cursor *c, host_array *array) {
    unsigned seen = 0;
    if (!take(c, '{')) {
        return refuse(c, malformed);
    }
    while (!take(c, '}')) {
        if (!parse_entry(c, array, &seen)) {
            return false;
        }
        if (!take(c, ',')) {
            if (!take(c, '}')) {
                return refuse(c, malformed);
            }
            break;
        }
    }
    skip_blanks(c);
    return c->at == c->end && seen == 7 ? true : refuse(c, malformed);
}

bool npy_header_parse(const char *header, size_t length, host_array *array, const char **reason, char text[256]) {
    cursor c = {.at = header, .end = header + length, .text = text};
    bool good = parse_dictionary(&c, array);
    if (good && !shape_count(array->shape, array->rank, array_type_bytes(array->type), &array->count)) {
        good = refuse(&c, "the product of its sizes overflows");
    }
    *reason = c.reason;
    return good;
}
