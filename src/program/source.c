#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources.h"

#define MAX_FILES 64
#define MAX_NAME 128

typedef struct included_file {
    char name[MAX_NAME];
    bool open;   /* being expanded: meeting it again is a cycle */
    size_t part; /* that included it first */
} included_file;

typedef struct expansion {
    text *out;
    oclattn_error *error;
    const char *folder; /* NULL: the embedded table */
    included_file files[MAX_FILES];
    size_t file_count;
    const program_parts *parts; /* NULL: a file alone */
    size_t part;
} expansion;

static oclattn_status read_embedded(const expansion *e, const char *name, text *content) {
    for (const kernel_source *source = kernel_sources; source->name; source++) {
        if (strcmp(source->name, name) == 0) {
            text_add(content, (const char *)source->text, source->length);
            return content->failed ? error_no_memory(e->error) : OCLATTN_OK;
        }
    }
    return error_set(e->error, OCLATTN_BUILD_FAILED, "kernel file %s is not part of this library", name);
}

static void read_stream(FILE *stream, text *content) {
    char block[4096];
    size_t got;
    while ((got = fread(block, 1, sizeof block, stream)) > 0 && !content->failed) {
        text_add(content, block, got);
    }
}

static oclattn_status read_from_folder(const expansion *e, const char *name, text *content) {
    text path = {0};
    text_format(&path, "%s/%s", e->folder, name);
    if (path.failed) {
        text_clear(&path);
        return error_no_memory(e->error);
    }
    oclattn_status status = OCLATTN_OK;
    FILE *stream = fopen(path.data, "rb");
    if (stream) {
        read_stream(stream, content);
    }
    if (!stream || ferror(stream)) {
        status = error_set(e->error, OCLATTN_BUILD_FAILED,
                           "cannot read kernel file %s, in the folder that "
                           "OCLATTN_KERNEL_DIR names: %s",
                           path.data, strerror(errno));
    } else if (content->failed) {
        status = error_no_memory(e->error);
    }
    if (stream) {
        fclose(stream);
    }
    text_clear(&path);
    return status;
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    return at;
}

/* Finds NAME in a line `#include "NAME"`. */
static bool parse_include(const char *line, const char *end, const char **name, size_t *name_length) {
    static const char word[] = "include";
    const size_t word_length = sizeof word - 1;
    const char *at = skip_blanks(line, end);
    if (at == end || *at != '#') {
        return false;
    }
    at = skip_blanks(at + 1, end);
    if ((size_t)(end - at) <= word_length || memcmp(at, word, word_length) != 0) {
        return false;
    }
    at = skip_blanks(at + word_length, end);
    if (at == end || *at != '"') {
        return false;
    }
    at++;
    const char *quote = memchr(at, '"', (size_t)(end - at));
    if (!quote) {
        return false;
    }
    *name = at;
    *name_length = (size_t)(quote - at);
    return true;
}

static included_file *find_file(expansion *e, const char *name) {
    for (size_t i = 0; i < e->file_count; i++) {
        if (strcmp(e->files[i].name, name) == 0) {
            return &e->files[i];
        }
    }
    return NULL;
}

static oclattn_status read_file(const expansion *e, const char *name, text *content) {
    return e->folder ? read_from_folder(e, name, content) : read_embedded(e, name, content);
}

static oclattn_status check_shared_file(expansion *e, const included_file *shared);

/* The files that a shared one includes are shared as well. */
static oclattn_status check_shared_includes(expansion *e, const text *content) {
    const char *at = content->data;
    const char *const end = at + content->length;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *const line_end = newline ? newline : end;
        const char *included;
        size_t length;
        if (parse_include(at, line_end, &included, &length) && length < MAX_NAME) {
            char name[MAX_NAME];
            memcpy(name, included, length);
            name[length] = '\0';
            const included_file *known = find_file(e, name);
            if (known) {
                RETURN_IF_ERROR(check_shared_file(e, known));
            }
        }
        at = newline ? newline + 1 : end;
    }
    return OCLATTN_OK;
}

/* A file that an earlier part included must mean the same to this one. */
static oclattn_status check_shared_file(expansion *e, const included_file *shared) {
    if (!e->parts || shared->part == e->part) {
        return OCLATTN_OK;
    }
    text content = {0};
    oclattn_status status = read_file(e, shared->name, &content);
    if (status == OCLATTN_OK && content.length > 0) {
        const program_part *part = &e->parts->part[e->part];
        status = parts_may_share(&e->parts->part[shared->part], part, content.data)
                     ? check_shared_includes(e, &content)
                     : error_set(e->error, OCLATTN_UNSUPPORTED, "%s: %s uses macros that others do not define",
                                 part->file, shared->name);
    }
    text_clear(&content);
    return status;
}

static oclattn_status expand_file(expansion *e, const char *name);

static oclattn_status expand_include(expansion *e, const char *from, unsigned line, const char *name, size_t length) {
    char copy[MAX_NAME];
    if (length == 0 || length >= sizeof copy || memchr(name, '/', length) || memchr(name, '\\', length)) {
        return error_set(e->error, OCLATTN_BUILD_FAILED,
                         "%s, line %u: an include names a file of the same folder, "
                         "in fewer than %d bytes",
                         from, line, MAX_NAME);
    }
    memcpy(copy, name, length);
    copy[length] = '\0';
    const included_file *known = find_file(e, copy);
    if (known && known->open) {
        return error_set(e->error, OCLATTN_BUILD_FAILED, "%s, line %u: including %s closes a circle of includes", from,
                         line, copy);
    }
    RETURN_IF_ERROR(known ? check_shared_file(e, known) : expand_file(e, copy));
    text_format(e->out, "#line %u \"%s\"\n", line + 1, from);
    return OCLATTN_OK;
}

static oclattn_status expand_lines(expansion *e, const char *name, const text *content) {
    const char *at = content->data;
    const char *const end = at + content->length;
    for (unsigned line = 1; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *const line_end = newline ? newline : end;
        const char *included;
        size_t included_length;
        if (parse_include(at, line_end, &included, &included_length)) {
            RETURN_IF_ERROR(expand_include(e, name, line, included, included_length));
        } else {
            text_add(e->out, at, (size_t)(line_end - at));
            text_add(e->out, "\n", 1);
        }
        at = newline ? newline + 1 : end;
    }
    return e->out->failed ? error_no_memory(e->error) : OCLATTN_OK;
}

static oclattn_status expand_file(expansion *e, const char *name) {
    if (e->file_count == MAX_FILES) {
        return error_set(e->error, OCLATTN_BUILD_FAILED, "more than %d kernel files include each other", MAX_FILES);
    }
    included_file *file = &e->files[e->file_count++];
    snprintf(file->name, sizeof file->name, "%s", name);
    file->open = true;
    file->part = e->part;
    text content = {0};
    oclattn_status status = read_file(e, name, &content);
    if (status == OCLATTN_OK) {
        text_format(e->out, "#line 1 \"%s\"\n", name);
        status = content.length > 0 ? expand_lines(e, name, &content) : OCLATTN_OK;
    }
    text_clear(&content);
    file->open = false;
    return status;
}

/* Frees it. */
static oclattn_status finish_expansion(expansion *e, oclattn_status status) {
    if (status == OCLATTN_OK && e->out->failed) {
        status = error_no_memory(e->error);
    }
    free(e);
    return status;
}

/* NULL: out of memory. */
static expansion *begin_expansion(text *out, oclattn_error *error) {
    const char *folder = getenv("OCLATTN_KERNEL_DIR");
    expansion *e = calloc(1, sizeof *e);
    if (!e) {
        error_no_memory(error);
        return NULL;
    }
    e->out = out;
    e->error = error;
    e->folder = folder && folder[0] != '\0' ? folder : NULL;
    return e;
}

oclattn_status source_expand(const char *file, text *expanded, oclattn_error *error) {
    expansion *e = begin_expansion(expanded, error);
    return e ? finish_expansion(e, expand_file(e, file)) : OCLATTN_OUT_OF_MEMORY;
}

static void write_macros(const char *options, bool define, text *out) {
    macro_option macro;
    while (next_macro(&options, &macro)) {
        text_format(out, "#undef %.*s\n", (int)macro.name_length, macro.name);
        if (define) {
            text_format(out, "#define %.*s %.*s\n", (int)macro.name_length, macro.name, (int)macro.value_length,
                        macro.value);
        }
    }
}

static oclattn_status expand_parts(expansion *e, const program_parts *parts) {
    e->parts = parts;
    for (size_t i = 0; i < parts->count; i++) {
        e->part = i;
        write_macros(parts->part[i].options, true, e->out);
        RETURN_IF_ERROR(expand_file(e, parts->part[i].file));
        write_macros(parts->part[i].options, false, e->out);
    }
    return OCLATTN_OK;
}

oclattn_status source_join(const program_parts *parts, text *joined, oclattn_error *error) {
    expansion *e = begin_expansion(joined, error);
    return e ? finish_expansion(e, expand_parts(e, parts)) : OCLATTN_OUT_OF_MEMORY;
}
