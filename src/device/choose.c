#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "text.h"

typedef enum wish_kind { WISH_ANY, WISH_INDEXES, WISH_TYPE, WISH_NAME } wish_kind;

typedef struct wish {
    wish_kind kind;
    const char *text;
    bool from_environment;
    int platform_index, device_index;
    cl_device_type type;
} wish;

/* Reads digits as a number; what is too large for any list stays too large. */
static const char *parse_index(const char *text, int *index) {
    const int limit = 1000000;
    *index = 0;
    while (*text >= '0' && *text <= '9') {
        *index = *index < limit ? *index * 10 + (*text - '0') : limit;
        text++;
    }
    return text;
}

static bool parse_indexes(const char *text, int *platform_index, int *device_index) {
    const char *colon = parse_index(text, platform_index);
    if (colon == text || *colon != ':') {
        return false;
    }
    const char *end = parse_index(colon + 1, device_index);
    return end != colon + 1 && *end == '\0';
}

static bool parse_type(const char *text, cl_device_type *type) {
    static const struct {
        const char *name;
        cl_device_type type;
    } types[] = {{"gpu", CL_DEVICE_TYPE_GPU}, {"cpu", CL_DEVICE_TYPE_CPU}, {"accelerator", CL_DEVICE_TYPE_ACCELERATOR}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (text_equal_ignoring_case(text, types[i].name)) {
            *type = types[i].type;
            return true;
        }
    }
    return false;
}

static wish parse_wish(const char *spec) {
    wish wanted = {.kind = WISH_ANY, .text = spec};
    if (spec == NULL) {
        wanted.text = getenv("OCLATTN_DEVICE");
        wanted.from_environment = true;
    }
    if (wanted.text == NULL || wanted.text[0] == '\0') {
        return wanted;
    }
    if (parse_indexes(wanted.text, &wanted.platform_index, &wanted.device_index)) {
        wanted.kind = WISH_INDEXES;
    } else if (parse_type(wanted.text, &wanted.type)) {
        wanted.kind = WISH_TYPE;
    } else {
        wanted.kind = WISH_NAME;
    }
    return wanted;
}

const char *device_unusable_because(const device_caps *caps) {
    if (!caps->available) {
        return "not available";
    }
    if (!caps->compiler_available) {
        return "without a compiler";
    }
    if (caps->version_major == 1 && caps->version_minor < 2) {
        return "older than OpenCL 1.2";
    }
    return NULL;
}

/* How well a device fits: 0 not at all; a full name fits better than a part of one, so that "RTX 4070" is not taken
 * for "RTX 4070 Ti". */
static int fit(const device_record *record, const wish *wanted) {
    const device_caps *caps = &record->caps;
    switch (wanted->kind) {
    case WISH_ANY:
        return 1;
    case WISH_INDEXES:
        return record->platform_index == wanted->platform_index && record->device_index == wanted->device_index;
    case WISH_TYPE:
        return (caps->type & wanted->type) != 0;
    case WISH_NAME:
        break;
    }
    if (text_equal_ignoring_case(caps->name, wanted->text) ||
        text_equal_ignoring_case(caps->platform_name, wanted->text)) {
        return 2;
    }
    return text_contains_ignoring_case(caps->name, wanted->text) ||
           text_contains_ignoring_case(caps->platform_name, wanted->text);
}

static int type_rank(cl_device_type type) {
    if ((type & CL_DEVICE_TYPE_GPU) != 0) {
        return 3;
    }
    if ((type & CL_DEVICE_TYPE_ACCELERATOR) != 0) {
        return 2;
    }
    return (type & CL_DEVICE_TYPE_CPU) != 0 ? 1 : 0;
}

static int compare(cl_ulong a, cl_ulong b) {
    return (a > b) - (a < b);
}

/* Above 0 if a is the better device. Memory of its own tells a graphics card from an integrated GPU, and how much of
 * it there is grows with a card's class; compute units and clocks cannot be compared between vendors (one counts 128
 * lanes as a unit, another 8), so units only decide between equals. The drivers of a CPU all describe the same one:
 * there the first in the loader's order wins. */
static int compare_devices(const device_caps *a, const device_caps *b) {
    const int by_type = type_rank(a->type) - type_rank(b->type);
    if (by_type != 0 || type_rank(a->type) <= 1) {
        return by_type;
    }
    const int by_own_memory = (int)b->host_unified_memory - (int)a->host_unified_memory;
    if (by_own_memory != 0) {
        return by_own_memory;
    }
    const int by_memory_size = compare(a->global_memory_bytes, b->global_memory_bytes);
    return by_memory_size != 0 ? by_memory_size : compare(a->compute_units, b->compute_units);
}

static bool find_best(const device_list *list, const wish *wanted, size_t *index) {
    int best_fit = 0;
    for (size_t i = 0; i < list->count; i++) {
        const device_record *record = &list->items[i];
        /* Asked for by its indexes, an alias stands for the device that it repeats. */
        const bool by_alias = wanted->kind == WISH_INDEXES && record->alias_of >= 0;
        const size_t candidate = by_alias ? (size_t)record->alias_of : i;
        const device_record *device = &list->items[candidate];
        const int how_well = fit(record, wanted);
        if (how_well == 0 || device->alias_of >= 0 || device_unusable_because(&device->caps) != NULL) {
            continue;
        }
        if (how_well > best_fit ||
            (how_well == best_fit && compare_devices(&device->caps, &list->items[*index].caps) > 0)) {
            best_fit = how_well;
            *index = candidate;
        }
    }
    return best_fit > 0;
}

#define LIST_GOES_ON "; ..."

typedef struct text_buffer {
    char text[1536];
    size_t length;
} text_buffer;

/* False: it did not fit, and the buffer is as before. Room for LIST_GOES_ON is kept. */
static bool append(text_buffer *buffer, const char *format, ...) PRINTF_LIKE(2, 3);

static bool append(text_buffer *buffer, const char *format, ...) {
    const size_t space = sizeof(buffer->text) - sizeof(LIST_GOES_ON) - buffer->length;
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(buffer->text + buffer->length, space, format, args);
    va_end(args);
    const bool fits = length >= 0 && (size_t)length < space;
    buffer->length += fits ? (size_t)length : 0;
    buffer->text[buffer->length] = '\0';
    return fits;
}

static const char *known(const char *name) {
    return name[0] != '\0' ? name : "no name";
}

/* "0:0 NAME (PLATFORM); 1:0 NAME (PLATFORM), not available" */
static void describe_list(text_buffer *buffer, const device_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const device_record *record = &list->items[i];
        const char *trouble = record->alias_of >= 0 ? "the same device again" : device_unusable_because(&record->caps);
        const bool fits = append(buffer, "%s%d:%d %s (%s)%s%s", i > 0 ? "; " : "", record->platform_index,
                                 record->device_index, known(record->caps.name), known(record->caps.platform_name),
                                 trouble != NULL ? ", " : "", trouble != NULL ? trouble : "");
        if (!fits) {
            memcpy(buffer->text + buffer->length, LIST_GOES_ON, sizeof(LIST_GOES_ON));
            return;
        }
    }
}

static oclattn_status no_device_at_all(const device_list *list, oclattn_error *error) {
    const char *platforms = list->platform_count > 0 ? " (there are OpenCL platforms, but none has a device)" : "";
    return error_set(error, OCLATTN_NO_DEVICE,
                     "no OpenCL device%s: install pocl-opencl-icd or your GPU's OpenCL driver; clinfo shows what is "
                     "found",
                     platforms);
}

static oclattn_status nothing_fits(const device_list *list, const wish *wanted, oclattn_error *error) {
    text_buffer devices = {.length = 0};
    describe_list(&devices, list);
    if (wanted->kind == WISH_ANY) {
        return error_set(error, OCLATTN_NO_DEVICE, "no OpenCL device can be used; there are: %s", devices.text);
    }
    return error_set(error, OCLATTN_NO_DEVICE, "no usable OpenCL device fits \"%.128s\"%s; there are: %s", wanted->text,
                     wanted->from_environment ? " (from OCLATTN_DEVICE)" : "", devices.text);
}

oclattn_status device_choose(const device_list *list, const char *spec, const logger *log, size_t *index,
                             oclattn_error *error) {
    const wish wanted = parse_wish(spec);
    if (list->count == 0) {
        return no_device_at_all(list, error);
    }
    size_t best = 0;
    if (!find_best(list, &wanted, &best)) {
        return nothing_fits(list, &wanted, error);
    }
    const device_record *record = &list->items[best];
    log_line(log, OCLATTN_LOG_INFO, "device %d:%d: %s (%s), driver %s", record->platform_index, record->device_index,
             record->caps.name, record->caps.platform_name, record->caps.driver_version);
    *index = best;
    return OCLATTN_OK;
}
