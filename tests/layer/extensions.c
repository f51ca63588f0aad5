/* Extensions that are hidden: from the device's list, and from the kernels that look for their macros. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

static bool list_names(const char *list, const char *word, size_t length) {
    while (list != NULL && *list != '\0') {
        const size_t span = strcspn(list, ",");
        if (span == length && strncmp(list, word, length) == 0) {
            return true;
        }
        list += span + (list[span] == ',');
    }
    return false;
}

bool is_hidden(const char *word, size_t length) {
    const char *kept = setting("KEEP_EXTENSIONS");
    return list_names(setting("HIDE_EXTENSIONS"), word, length) || (kept != NULL && !list_names(kept, word, length));
}

/* What the driver says. */
static char *real_extensions(cl_device_id device) {
    size_t length = 0;
    if (target->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &length) != CL_SUCCESS) {
        return NULL;
    }
    char *text = calloc(length + 1, 1);
    if (text != NULL && length > 0 &&
        target->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, length, text, NULL) != CL_SUCCESS) {
        free(text);
        return NULL;
    }
    return text;
}

char *visible_extensions(cl_device_id device) {
    char *text = real_extensions(device);
    char *to = text;
    for (const char *from = text; from != NULL && *from != '\0';) {
        const size_t length = strcspn(from, " ");
        const size_t step = length + (from[length] == ' ');
        if (length > 0 && !is_hidden(from, length)) {
            memmove(to, from, step);
            to += step;
        }
        from += step;
    }
    if (text != NULL) {
        *to = '\0';
    }
    return text;
}

/* An extension that became a part of OpenCL C 3.0 has a macro of that, too: cl_khr_fp64, __opencl_c_fp64. */
static size_t write_lines(char *to, size_t size, const char *word, size_t length) {
    static const char start[] = "cl_khr_";
    const size_t skipped = sizeof(start) - 1;
    size_t written = (size_t)snprintf(to, size, "#undef %.*s\n", (int)length, word);
    if (length > skipped && strncmp(word, start, skipped) == 0) {
        written += (size_t)snprintf(to + written, size - written, "#undef __opencl_c_%.*s\n", (int)(length - skipped),
                                    word + skipped);
    }
    return written;
}

static size_t write_extensions(char *to, size_t size, const char *extensions) {
    size_t length = 0;
    for (const char *word = extensions; *word != '\0';) {
        const size_t span = strcspn(word, " ");
        if (span > 0 && is_hidden(word, span)) {
            length += write_lines(to + length, size - length, word, span);
        }
        word += span + (word[span] == ' ');
    }
    return length;
}

static bool hides_any(void) {
    return setting("HIDE_EXTENSIONS") != NULL || setting("KEEP_EXTENSIONS") != NULL;
}

char *hiding_lines(cl_device_id device) {
    static const char old_version[] = "#undef __OPENCL_VERSION__\n#define __OPENCL_VERSION__ 120\n";
    if (device == NULL || !device_is_changed(device) || (!hides_any() && !is_old())) {
        return NULL;
    }
    char *extensions = hides_any() ? real_extensions(device) : NULL;
    /* Every word stands at most twice in the lines, with 28 bytes around it. */
    const size_t size = sizeof(old_version) + (extensions != NULL ? 64 * strlen(extensions) : 0);
    char *lines = calloc(size, 1);
    if (lines != NULL) {
        const size_t length = extensions != NULL ? write_extensions(lines, size, extensions) : 0;
        snprintf(lines + length, size - length, "%s", is_old() ? old_version : "");
    }
    free(extensions);
    return lines;
}
