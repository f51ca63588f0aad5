#include "bench.h"

#include <unistd.h>

#include "child.h"
#include "wrap.h"

typedef struct measure_row {
    const char *key, *label, *unit;
} measure_row;

static const measure_row rows[] = {
    {"fma_f32_gflops", "multiply and add, f32", "GFLOP/s"},
    {"fma_f16_gflops", "multiply and add, f16", "GFLOP/s"},
    {"fma_f64_gflops", "multiply and add, f64", "GFLOP/s"},
    {"global_read_gb_per_s", "memory, reading", "GB/s"},
    {"global_copy_gb_per_s", "memory, copying (both ways)", "GB/s"},
    {"cached_read_gb_per_s", "cache, reading", "GB/s"},
    {"local_read_gb_per_s", "local memory, reading", "GB/s"},
    {"launch_alone_us", "launch and wait", "us"},
    {"launch_in_row_us", "launch in a row of 200", "us"},
    {"copy_to_device_gb_per_s", "host to device", "GB/s"},
    {"copy_to_host_gb_per_s", "device to host", "GB/s"},
    {"attention_many_rows_reachable_gflops", "attention, many rows: reachable", "GFLOP/s"},
    {"attention_many_rows_reached_gflops", "attention, many rows: reached", "GFLOP/s"},
    {"attention_one_row_reachable_gflops", "attention, one row: reachable", "GFLOP/s"},
    {"attention_one_row_reached_gflops", "attention, one row: reached", "GFLOP/s"},
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0], LABEL_COLUMNS = 34 };

typedef struct listener {
    json_t *measures, *unknown, *shapes; /* of the attention problems: B, Hq, Hkv, Sq, Skv, D, Dv */
    char cannot_open[512], running[64];
    bool on_terminal;
} listener;

static void show_progress(const listener *l, const char *text) {
    if (l->on_terminal) {
        fprintf(stderr, "\r\033[K%s", text);
        fflush(stderr);
    }
}

static void hear(const char *text, void *user) {
    listener *l = user;
    json_t *line = json_loads(text, 0, NULL);
    const char *measure = json_string_value(json_object_get(line, "measure"));
    const char *starts = json_string_value(json_object_get(line, "starts"));
    const char *cannot = json_string_value(json_object_get(line, "cannot_open"));
    const char *problem = json_string_value(json_object_get(line, "problem"));
    if (problem) {
        json_object_set(l->shapes, problem, json_object_get(line, "shape"));
    } else if (measure) {
        json_object_set(l->measures, measure, json_object_get(line, "value"));
        if (json_is_null(json_object_get(line, "value"))) {
            json_object_set(l->unknown, measure, json_object_get(line, "reason"));
        }
    } else if (starts) {
        snprintf(l->running, sizeof l->running, "measuring %s", starts);
        show_progress(l, l->running);
    } else if (cannot) {
        snprintf(l->cannot_open, sizeof l->cannot_open, "%s", cannot);
    }
    json_decref(line);
}

static bool has_measures(const listener *l) {
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (json_is_real(json_object_get(l->measures, rows[i].key))) {
            return true;
        }
    }
    return false;
}

static void fill_gaps(listener *l, const char *reason) {
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (!json_object_get(l->measures, rows[i].key)) {
            json_object_set_new(l->measures, rows[i].key, json_null());
            json_object_set_new(l->unknown, rows[i].key, json_string(reason));
        }
    }
}

/* As --shape takes it. */
static void shape_text(const json_t *sizes, char *text, size_t size) {
    size_t length = 0, i;
    json_t *item;
    text[0] = '\0';
    json_array_foreach((json_t *)sizes, i, item) {
        length += (size_t)snprintf(text + length, size - length, "%s%lld", i > 0 ? "," : "",
                                   (long long)json_integer_value(item));
    }
}

static void show_share(const listener *l, const char *kind) {
    char reachable[64], reached[64], shape[128];
    const json_t *measures = l->measures;
    snprintf(reachable, sizeof reachable, "attention_%s_reachable_gflops", kind);
    snprintf(reached, sizeof reached, "attention_%s_reached_gflops", kind);
    const double most = json_real_value(json_object_get(measures, reachable));
    const double found = json_real_value(json_object_get(measures, reached));
    if (most > 0 && found > 0) {
        shape_text(json_object_get(l->shapes, kind), shape, sizeof shape);
        show_wrapped("", 0, "attention --shape %s: %.0f %% of what is reachable%s", shape, 100 * found / most,
                     found > most ? " as measured: the machine is busy, or the budget is short" : "");
    }
}

static void show_measures(const machine *m, const listener *l) {
    const device_record *device = &m->list.items[m->chosen];
    show_wrapped("", 0, "device %d:%d, %s", device->platform_index, device->device_index, device->caps.name);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const json_t *value = json_object_get(l->measures, rows[i].key);
        if (json_is_real(value)) {
            show_wrapped(rows[i].label, LABEL_COLUMNS, "%.4g %s", json_real_value(value), rows[i].unit);
        } else {
            show_wrapped(rows[i].label, LABEL_COLUMNS, "not known: %s",
                         json_string_value(json_object_get(l->unknown, rows[i].key)));
        }
    }
    show_share(l, "many_rows");
    show_share(l, "one_row");
}

exit_code bench_run(const machine *m, json_t *document, double budget_s, bool quiet, failure *f) {
    const device_record *device = &m->list.items[m->chosen];
    bench_task task = {device->platform_index, device->device_index, budget_s};
    listener l = {.measures = json_object(),
                  .unknown = json_object(),
                  .shapes = json_object(),
                  .on_terminal = isatty(STDERR_FILENO) == 1};
    child_result child;
    const bool ended = child_run(bench_measure, &task, 5 * budget_s + 300, hear, &l, &child);
    show_progress(&l, "");
    json_object_set_new(document, "bench",
                        json_pack("{s:o, s:f, s:O, s:O, s:O}", "device",
                                  json_sprintf("%d:%d", device->platform_index, device->device_index), "budget_seconds",
                                  budget_s, "measures", l.measures, "unknown", l.unknown, "attention_shapes",
                                  l.shapes));
    fill_gaps(&l, ended ? "it was not measured" : "the driver broke down");
    bool good = true;
    if (l.cannot_open[0] != '\0') {
        good = fail_with(f, EXIT_RUNTIME, "device %d:%d cannot be measured: %s", task.platform_index, task.device_index,
                         l.cannot_open);
    } else if (!ended) {
        good = fail_with(f, EXIT_RUNTIME, "the driver %s while %s%s%s", child.trouble,
                         l.running[0] != '\0' ? l.running : "starting", child.said[0] != '\0' ? ", saying " : "",
                         child.said);
    }
    if (good && !has_measures(&l)) {
        good = fail_with(f, EXIT_RUNTIME, "nothing could be measured on device %d:%d: %s", task.platform_index,
                         task.device_index, json_string_value(json_object_get(l.unknown, rows[0].key)));
    }
    if (!quiet) {
        show_measures(m, &l);
    }
    child_clear(&child);
    json_decref(l.measures);
    json_decref(l.unknown);
    json_decref(l.shapes);
    return good ? EXIT_DONE : f->code;
}
