#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

json_t *json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *shape_json(const int64_t *shape, int rank) {
    json_t *list = json_array();
    for (int d = 0; d < rank; d++) {
        json_array_append_new(list, json_integer((json_int_t)shape[d]));
    }
    return list;
}

void json_print(json_t *root) {
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
}

void device_print(const oclattn_device_info *info) {
    printf("%-10s %d:%d %s (%s)\n", "device", (int)info->platform_index, (int)info->device_index, info->name,
           info->platform);
}

/* Names come from drivers, which promise no encoding. */
static json_t *text_json(const char *text) {
    json_t *json = json_string(text);
    return json ? json : json_null();
}

json_t *device_json(const oclattn_device_info *info) {
    return json_pack("{s:i, s:i, s:o, s:o, s:o}", "platform_index", (int)info->platform_index, "device_index",
                     (int)info->device_index, "name", text_json(info->name), "platform", text_json(info->platform),
                     "driver", text_json(info->driver));
}

void timing_print(const timing *t) {
    if (t->runs == 1) {
        printf("%-10s %.3f ms, one run, from enqueue to its end\n", "time", t->median_ms);
        return;
    }
    printf("%-10s median %.3f ms, least %.3f ms, of %lld runs, each from enqueue to its end\n", "time", t->median_ms,
           t->least_ms, (long long)t->runs);
    printf("%-10s %s\n", "bits", t->same_bits ? "the same in every run" : "DIFFERENT between runs");
}

json_t *timing_json(const timing *t) {
    return json_pack("{s:I, s:f, s:f, s:b}", "runs", (json_int_t)t->runs, "median_ms", t->median_ms, "min_ms",
                     t->least_ms, "same_bits", t->same_bits);
}

char *plan_text(const oclattn_plan *plan) {
    const size_t length = oclattn_plan_describe(plan, NULL, 0);
    char *text = malloc(length + 1);
    if (text) {
        text[0] = '\0';
        oclattn_plan_describe(plan, text, length + 1);
    }
    return text;
}

void plan_print(const char *text) {
    puts("plan");
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        printf("  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static bool same_file(const char *a, const char *b) {
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Any option with a value may name a file; results are told from inputs by being the same pointer. */
static bool spares_option(const result_file *result, const option_spec *spec, const void *values, failure *f) {
    if (spec->kind != OPTION_TEXT) {
        return true;
    }
    const char *path = *(const char *const *)((const char *)values + spec->offset);
    if (!path || path == result->out.path || !same_file(path, result->out.path)) {
        return true;
    }
    return fail_with(f, EXIT_BAD_INPUT, "%s %s would replace the file of --%s", result->out.label, result->out.path,
                     spec->name);
}

bool results_spare_inputs(const result_file *results, size_t count, const option_group *groups, size_t group_count,
                          failure *f) {
    for (size_t i = 0; i < count; i++) {
        for (size_t g = 0; g < group_count && results[i].out.path; g++) {
            for (size_t s = 0; s < groups[g].count; s++) {
                if (!spares_option(&results[i], &groups[g].specs[s], groups[g].values, f)) {
                    return false;
                }
            }
        }
    }
    return true;
}

bool results_check(result_file *results, size_t count, failure *f) {
    for (size_t i = 0; i < count; i++) {
        const output_file *out = &results[i].out;
        for (size_t j = 0; j < i && out->path; j++) {
            if (results[j].out.path && strcmp(results[j].out.path, out->path) == 0) {
                return fail_with(f, EXIT_BAD_INPUT, "%s and %s name the same file, %s", results[j].out.label,
                                 out->label, out->path);
            }
        }
        if (!output_check(out, f)) {
            return false;
        }
    }
    return true;
}

static bool write_one(result_file *result, failure *f) {
    host_array wide = {0};
    if (!result->out.path) {
        return true;
    }
    if (result->array.type != ARRAY_BF16) {
        return output_write_npy(&result->out, &result->array, f);
    }
    const bool good = array_convert(&result->array, ARRAY_F32, &wide, result->out.label, f) &&
                      output_write_npy(&result->out, &wide, f);
    array_free(&wide);
    return good;
}

bool results_write(result_file *results, size_t count, failure *f) {
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        good = write_one(&results[i], f);
    }
    for (size_t i = 0; i < count; i++) {
        if (good && results[i].out.path) {
            good = output_commit(&results[i].out, f);
        }
        output_discard(&results[i].out);
    }
    return good;
}

static const char *file_type_name(const host_array *array) {
    return array_type_name(array->type == ARRAY_BF16 ? ARRAY_F32 : array->type);
}

void results_print(const result_file *results, size_t count) {
    char shape[SHAPE_TEXT_SIZE];
    for (size_t i = 0; i < count; i++) {
        if (results[i].out.path) {
            printf("%-10s %s: %s %s\n", "wrote", results[i].out.path, array_shape_text(&results[i].array, shape),
                   file_type_name(&results[i].array));
        }
    }
}

json_t *results_json(const result_file *results, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        if (results[i].out.path) {
            const host_array *array = &results[i].array;
            json_array_append_new(list,
                                  json_pack("{s:o, s:o, s:s}", "path", text_json(results[i].out.path), "shape",
                                            shape_json(array->shape, array->rank), "type", file_type_name(array)));
        }
    }
    return list;
}
