#include "baseline.h"

#include <string.h>

#include "bench.h"

static bool is_text(const json_t *row, const char *key) {
    return json_is_string(json_object_get(row, key));
}

/* A row that was not measured has no time. */
static bool check_row(const json_t *row) {
    const json_t *time = json_object_get(row, "min_ms");
    return json_is_object(row) && is_text(row, "group") && is_text(row, "problem") && is_text(row, "dtype") &&
           is_text(row, "kv_dtype") && is_text(row, "device") && is_text(row, "device_name") &&
           (!time || (json_is_number(time) && json_number_value(time) > 0));
}

static bool check_document(const json_t *document, const char *path, failure *f) {
    const json_t *rows = json_object_get(document, "results"), *row;
    size_t i;
    if (!json_is_array(rows) ||
        json_integer_value(json_object_get(document, "schema_version")) != BENCH_SCHEMA_VERSION) {
        return fail_with(f, EXIT_BAD_INPUT,
                         "--baseline %s: it is not what oclattn-bench --json writes (schema_version "
                         "%d, and an array \"results\")",
                         path, BENCH_SCHEMA_VERSION);
    }
    json_array_foreach(rows, i, row) {
        if (!check_row(row)) {
            return fail_with(f, EXIT_BAD_INPUT, "--baseline %s: row %zu of \"results\" lacks a name or a time", path,
                             i);
        }
    }
    return true;
}

json_t *baseline_load(const char *path, failure *f) {
    json_error_t error;
    json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!document) {
        fail_with(f, EXIT_BAD_INPUT, "--baseline %s: %s", path, error.text);
    } else if (!check_document(document, path, f)) {
        json_decref(document);
        document = NULL;
    }
    return document;
}

static bool same_text(const json_t *a, const json_t *b, const char *key) {
    const char *x = json_string_value(json_object_get(a, key)), *y = json_string_value(json_object_get(b, key));
    return x == y || (x && y && strcmp(x, y) == 0);
}

static bool same_problem(const json_t *a, const json_t *b) {
    static const char *const keys[] = {"group", "problem", "dtype", "kv_dtype", "wanted_variant", "device_name"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (!same_text(a, b, keys[i])) {
            return false;
        }
    }
    return true;
}

static const json_t *find(const json_t *baseline, const json_t *wanted) {
    const json_t *row, *found = NULL;
    size_t i;
    json_array_foreach(json_object_get(baseline, "results"), i, row) {
        const bool usable = json_object_get(row, "min_ms") && same_problem(row, wanted);
        if (usable && (!found || same_text(row, wanted, "device"))) {
            found = row;
        }
    }
    return found;
}

void baseline_compare(const json_t *baseline, double tolerance_percent, bench_row *row) {
    json_t *wanted = row_json(row);
    const json_t *found = find(baseline, wanted);
    row->has_baseline = found != NULL;
    if (found) {
        row->baseline_s = json_number_value(json_object_get(found, "min_ms")) / 1e3;
        row->slower = row->times.least_s > row->baseline_s * (1 + tolerance_percent / 100);
    }
    json_decref(wanted);
}
