#include "npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input_file.h"
#include "npy_header.h"

#define MOST_HEADER_BYTES (1u << 20)

static bool check_magic(input_file *in, const uint8_t start[8], failure *f) {
    if (memcmp(start, "PK\3\4", 4) == 0) {
        return input_fail(in, f, "it is a .npz archive; save the one array with numpy.save");
    }
    if (memcmp(start, "\x93NUMPY", 6) != 0) {
        return input_fail(in, f, "it is not a .npy file");
    }
    if (start[6] < 1 || start[6] > 3 || start[7] != 0) {
        return input_fail(in, f, "it is .npy of version %d.%d; 1.0 to 3.0 are supported", start[6], start[7]);
    }
    return true;
}

static bool read_header_length(input_file *in, int version, size_t *length, failure *f) {
    uint8_t bytes[4] = {0};
    if (!input_read(in, bytes, version == 1 ? 2 : 4, f)) {
        return false;
    }
    *length = bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
    return *length <= MOST_HEADER_BYTES ? true : input_fail(in, f, "its header claims %zu bytes", *length);
}

static bool read_header(input_file *in, host_array *array, failure *f) {
    uint8_t start[8];
    size_t length = 0;
    if (!input_read(in, start, sizeof start, f) || !check_magic(in, start, f) ||
        !read_header_length(in, start[6], &length, f)) {
        return false;
    }
    char *header = malloc(length + 1);
    if (!header) {
        return fail_memory(f, in->path);
    }
    char text[256];
    const char *reason = NULL;
    bool good = input_read(in, header, length, f);
    if (good && !npy_header_parse(header, length, array, &reason, text)) {
        good = input_fail(in, f, "%s", reason);
    }
    free(header);
    return good;
}

static bool check_size(input_file *in, const host_array *array, failure *f) {
    char shape[SHAPE_TEXT_SIZE];
    const uint64_t needed = (uint64_t)array->count * array_type_bytes(array->type);
    const uint64_t left = in->bytes - in->position;
    if (left == needed) {
        return true;
    }
    return input_fail(in, f, "it is %s: %s of %s needs %llu bytes after the header, the file has %llu",
                      left < needed ? "truncated" : "damaged", array_shape_text(array, shape),
                      array_type_name(array->type), (unsigned long long)needed, (unsigned long long)left);
}

static bool read_data(input_file *in, host_array *array, failure *f) {
    const size_t bytes = array->count * array_type_bytes(array->type);
    array->data = malloc(bytes > 0 ? bytes : 1);
    if (!array->data) {
        return fail_memory(f, in->path);
    }
    return input_read(in, array->data, bytes, f);
}

bool npy_read(const char *label, const char *path, host_array *array, failure *f) {
    input_file in;
    *array = (host_array){0};
    if (!input_open(&in, label, path, f)) {
        return false;
    }
    const bool good = read_header(&in, array, f) && check_size(&in, array, f) && read_data(&in, array, f);
    input_close(&in);
    if (!good) {
        array_free(array);
    }
    return good;
}

static const char *code_of_type(array_type type) {
    static const char *const codes[] = {
        [ARRAY_BOOL] = "|b1", [ARRAY_U8] = "|u1",  [ARRAY_I32] = "<i4", [ARRAY_I64] = "<i8",
        [ARRAY_F16] = "<f2",  [ARRAY_BF16] = NULL, [ARRAY_F32] = "<f4", [ARRAY_F64] = "<f8"};
    return codes[type];
}

bool npy_write(FILE *file, const host_array *array) {
    const char *code = code_of_type(array->type);
    char shape[SHAPE_TEXT_SIZE] = "";
    char header[128 + SHAPE_TEXT_SIZE];
    if (!code) {
        errno = EINVAL;
        return false;
    }
    size_t used = 0;
    for (int d = 0; d < array->rank; d++) {
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%lld,%s", (long long)array->shape[d],
                                 d + 1 < array->rank ? " " : "");
    }
    const int text =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", code, shape);
    /* Magic, version and length take 10 bytes; blanks and a newline fill the header up to a multiple of 64. */
    const unsigned length = (10u + (unsigned)text + 1u + 63u) / 64u * 64u - 10u;
    const uint8_t start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)(length & 255), (uint8_t)(length >> 8)};
    fwrite(start, 1, sizeof start, file);
    fprintf(file, "%-*s\n", (int)length - 1, header);
    fwrite(array->data, array_type_bytes(array->type), array->count, file);
    return !ferror(file);
}
