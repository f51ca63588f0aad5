#include "common.h"

#include <string.h>

#include "io/npy.h"

#define FIELD(name) offsetof(common_options, name)

static const option_spec common_specs[] = {
    {"dtype", "f32|f16|bf16", OPTION_TEXT, FIELD(dtype), "storage type (default f32); arithmetic is float32 always"},
    {"variant", "NAME", OPTION_TEXT, FIELD(variant), "attention kernel to use, or be told why not (default: the best)"},
    {"device", "SPEC", OPTION_TEXT, FIELD(device), "P:D indexes, gpu, cpu, accelerator, or a part of a name"},
    {"check", NULL, OPTION_FLAG, FIELD(check), "compare with plain loops in float64; exit code 1 if it differs"},
    {"repeat", "N", OPTION_COUNT, FIELD(repeat), "run N times, compare the bits, report median and least time"},
    {"explain", NULL, OPTION_FLAG, FIELD(explain), "print the plan: shapes, variants, refusals, tiles, memory"},
    {"json", NULL, OPTION_FLAG, FIELD(json), "strict JSON on stdout instead of text"},
    {"log", "LEVEL", OPTION_TEXT, FIELD(log), "none, warning (default), info or debug, to stderr"},
    {"help", NULL, OPTION_FLAG, FIELD(help), "this text"},
};

option_group common_option_group(common_options *options) {
    return (option_group){"Running", common_specs, sizeof common_specs / sizeof common_specs[0], options};
}

bool parse_type(const char *label, const char *text, oclattn_type otherwise, oclattn_type *type, failure *f) {
    static const oclattn_type all[] = {OCLATTN_F32, OCLATTN_F16, OCLATTN_BF16};
    *type = otherwise;
    for (size_t i = 0; text && i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(text, type_name(all[i])) == 0) {
            *type = all[i];
            return true;
        }
    }
    return text ? fail_with(f, EXIT_BAD_INPUT, "%s must be f32, f16 or bf16, not '%s'", label, text) : true;
}

const char *type_name(oclattn_type type) {
    return type == OCLATTN_F16 ? "f16" : type == OCLATTN_BF16 ? "bf16" : "f32";
}

array_type array_type_of(oclattn_type type) {
    return type == OCLATTN_F16 ? ARRAY_F16 : type == OCLATTN_BF16 ? ARRAY_BF16 : ARRAY_F32;
}

array_type file_type_of(oclattn_type type) {
    return type == OCLATTN_F16 ? ARRAY_F16 : ARRAY_F32;
}

bool load_floats(const char *label, const char *path, oclattn_type type, host_array *array, failure *f) {
    host_array raw;
    if (!npy_read(label, path, &raw, f)) {
        return false;
    }
    const bool good = array_type_is_float(raw.type)
                          ? array_convert(&raw, array_type_of(type), array, label, f)
                          : fail_with(f, EXIT_BAD_INPUT, "%s %s: it holds %s; float16, float32 or float64 is needed",
                                      label, path, array_type_name(raw.type));
    array_free(&raw);
    return good;
}

static exit_code code_of_status(oclattn_status status) {
    switch (status) {
    case OCLATTN_INVALID_ARGUMENT:
    case OCLATTN_UNSUPPORTED:
        return EXIT_BAD_INPUT;
    case OCLATTN_NO_DEVICE:
        return EXIT_NO_DEVICE;
    default:
        return EXIT_RUNTIME;
    }
}

bool fail_library(failure *f, oclattn_status status, const oclattn_error *error) {
    if (error->cl_code != 0) {
        return fail_with(f, code_of_status(status), "%s: %s (OpenCL error %d)", oclattn_status_string(status),
                         error->message, (int)error->cl_code);
    }
    return fail_with(f, code_of_status(status), "%s: %s", oclattn_status_string(status), error->message);
}
