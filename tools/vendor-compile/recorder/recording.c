#include "recording.h"

#include <string.h>

static json_t *kernels, *sources;

static size_t source_index(const char *source, size_t length) {
    if (sources == NULL) {
        sources = json_array();
    }
    for (size_t i = 0; i < json_array_size(sources); ++i) {
        const json_t *known = json_array_get(sources, i);
        if (json_string_length(known) == length && memcmp(json_string_value(known), source, length) == 0) {
            return i;
        }
    }
    json_array_append_new(sources, json_stringn(source, length));
    return json_array_size(sources) - 1;
}

/* Where a kernel of that name stands, or the end. */
static size_t find_kernel(const char *kernel) {
    size_t at = 0;
    while (at < json_array_size(kernels) &&
           strcmp(json_string_value(json_object_get(json_array_get(kernels, at), "kernel")), kernel) != 0) {
        ++at;
    }
    return at;
}

void recording_add(const char *kernel, const char *source, size_t source_length, const char *options, size_t group,
                   size_t local_arguments) {
    json_t *made = json_pack("{s:s, s:I, s:s, s:I, s:I}", "kernel", kernel, "source",
                             (json_int_t)source_index(source, source_length), "options", options, "group",
                             (json_int_t)group, "local_arguments", (json_int_t)local_arguments);
    if (kernels == NULL) {
        kernels = json_array();
    }
    const size_t at = find_kernel(kernel);
    if (at < json_array_size(kernels)) {
        json_array_set_new(kernels, at, made);
    } else {
        json_array_append_new(kernels, made);
    }
}

json_t *recording_take(void) {
    json_t *taken = kernels == NULL ? json_array() : kernels;
    kernels = NULL;
    return taken;
}

json_t *recording_sources(void) {
    return sources == NULL ? json_array() : json_incref(sources);
}
