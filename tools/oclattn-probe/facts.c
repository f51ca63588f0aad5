#include "facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/text.h"

/* ---- answers to values: null, and answer->reason, where there is none -------------------------------------------- */

static json_t *refuse(query_answer *answer, const char *sentence) {
    snprintf(answer->reason, sizeof answer->reason, "%s", sentence);
    return json_null();
}

static json_t *refuse_length(query_answer *answer, size_t expected) {
    snprintf(answer->reason, sizeof answer->reason, "the driver answers with %zu bytes instead of %zu", answer->length,
             expected);
    return json_null();
}

static json_t *text_value(const property *p, query_answer *answer) {
    char *clean = malloc(answer->length + 1);
    if (!clean) {
        return refuse(answer, "out of memory");
    }
    text_clean(clean, answer->length + 1, answer->bytes, answer->length);
    json_t *value =
        clean[0] == '\0' && !p->may_be_empty ? refuse(answer, "the driver answers with nothing") : json_string(clean);
    free(clean);
    return value ? value : refuse(answer, "the driver's text cannot be written");
}

static unsigned long long unsigned_value(const query_answer *answer) {
    cl_uint narrow = 0;
    cl_ulong wide = 0;
    if (answer->length == sizeof narrow) {
        memcpy(&narrow, answer->bytes, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, answer->bytes, sizeof wide);
    return wide;
}

static json_t *refuse_number(query_answer *answer, unsigned long long value) {
    snprintf(answer->reason, sizeof answer->reason, "the driver says %llu, which cannot be", value);
    return json_null();
}

static json_t *number_value(const property *p, query_answer *answer) {
    const unsigned long long value = unsigned_value(answer);
    return property_believes_number(p, value) ? json_integer((json_int_t)value) : refuse_number(answer, value);
}

static json_t *numbers_value(const property *p, query_answer *answer) {
    json_t *list = json_array();
    if (answer->length == 0 || answer->length % sizeof(size_t) != 0) {
        json_decref(list);
        return refuse_length(answer, 3 * sizeof(size_t));
    }
    for (size_t at = 0; at < answer->length; at += sizeof(size_t)) {
        size_t value = 0;
        memcpy(&value, answer->bytes + at, sizeof value);
        if (!property_believes_number(p, value)) {
            json_decref(list);
            return refuse_number(answer, value);
        }
        json_array_append_new(list, json_integer((json_int_t)value));
    }
    return list;
}

/* Of several, the first in the list. */
static json_t *type_value(const property *p, query_answer *answer) {
    const unsigned long long value = unsigned_value(answer);
    for (size_t i = 0; p->words[i]; i++) {
        if (value & property_type_bit(i)) {
            return json_string(p->words[i]);
        }
    }
    return refuse(answer, "the driver names no type");
}

static json_t *bits_value(const property *p, const query_answer *answer) {
    const unsigned long long value = unsigned_value(answer);
    json_t *list = json_array();
    for (size_t i = 0; p->words[i]; i++) {
        if (value >> i & 1) {
            json_array_append_new(list, json_string(p->words[i]));
        }
    }
    return list;
}

static json_t *value_of(const property *p, query_answer *answer) {
    if (!answer->bytes) {
        return json_null();
    }
    if (p->bytes > 0 && answer->length != p->bytes) {
        return refuse_length(answer, p->bytes);
    }
    switch (p->kind) {
    case PROPERTY_TEXT:
        return text_value(p, answer);
    case PROPERTY_NUMBER:
        return number_value(p, answer);
    case PROPERTY_FLAG:
        return json_boolean(unsigned_value(answer) != 0);
    case PROPERTY_IS_LOCAL:
        return json_boolean(unsigned_value(answer) == CL_LOCAL);
    case PROPERTY_NUMBERS:
        return numbers_value(p, answer);
    case PROPERTY_TYPE:
        return type_value(p, answer);
    case PROPERTY_BITS:
        return bits_value(p, answer);
    default:
        return json_null();
    }
}

/* ---- what follows from the extensions --------------------------------------------------------------------------- */

static json_t *matrix_words(const char *extensions) {
    json_t *list = json_array();
    while (*extensions) {
        const size_t length = strcspn(extensions, " ");
        char word[128];
        snprintf(word, sizeof word, "%.*s", (int)length, extensions);
        if (length < sizeof word && (strstr(word, "matrix") || strstr(word, "cl_qcom_ml_ops"))) {
            json_array_append_new(list, json_string(word));
        }
        extensions += length;
        extensions += strspn(extensions, " ");
    }
    return list;
}

/* The rule of the library: an extension, or sub-groups of the core, which came with OpenCL 2.1. */
static bool has_subgroups(const json_t *facts, const char *extensions) {
    unsigned major = 0, minor = 0;
    const char *version = json_string_value(json_object_get(facts, "device_version"));
    if (text_has_word(extensions, "cl_khr_subgroups") || text_has_word(extensions, "cl_intel_subgroups")) {
        return true;
    }
    return version && sscanf(version, "OpenCL %3u.%3u", &major, &minor) == 2 &&
           (major > 2 || (major == 2 && minor >= 1)) &&
           json_integer_value(json_object_get(facts, "max_sub_groups")) > 0;
}

static bool is_derived(const property *p) {
    return p->kind == PROPERTY_WORD || p->kind == PROPERTY_MATRIX || p->kind == PROPERTY_SUBGROUPS;
}

static json_t *derived_value(const property *p, const json_t *facts, const char *extensions) {
    switch (p->kind) {
    case PROPERTY_WORD:
        return json_boolean(text_has_word(extensions, p->words[0]));
    case PROPERTY_MATRIX:
        return matrix_words(extensions);
    default:
        return json_boolean(has_subgroups(facts, extensions));
    }
}

/* ---- the record ------------------------------------------------------------------------------------------------- */

static void set_fact(json_t *record, const char *key, json_t *value, const char *reason) {
    json_object_set_new(json_object_get(record, "facts"), key, value);
    if (json_is_null(value)) {
        json_object_set_new(json_object_get(record, "unknown"), key, json_string(reason));
    }
}

json_t *facts_read(query_target target, const property *properties, size_t count) {
    json_t *record = json_pack("{s:{}, s:{}}", "facts", "unknown");
    const json_t *facts = json_object_get(record, "facts");
    for (size_t i = 0; i < count; i++) {
        if (is_derived(&properties[i])) {
            continue;
        }
        query_answer answer = answer_ask(target, properties[i].param);
        json_t *value = value_of(&properties[i], &answer);
        set_fact(record, properties[i].key, value, answer.reason);
        answer_clear(&answer);
    }
    const char *extensions = json_string_value(json_object_get(facts, "extensions"));
    for (size_t i = 0; i < count; i++) {
        if (is_derived(&properties[i])) {
            set_fact(record, properties[i].key,
                     extensions ? derived_value(&properties[i], facts, extensions) : json_null(),
                     "the extensions are not known");
        }
    }
    return record;
}
