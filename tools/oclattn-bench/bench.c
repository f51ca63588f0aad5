#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "device.h"
#include "latency.h"
#include "oclattn-run/common.h"
#include "oclattn-run/progress.h"

enum { LEAST_RUNS = 3, MOST_DEVICES = 16, MOST_PEAK_SECONDS = 3 };

typedef struct bench {
    const char *program;
    const bench_options *options;
    const wishes *wishes;
    const json_t *baseline; /* NULL: none */
    double peak_budget_s;
    json_t *devices, *results, *latencies;
    size_t measured, slower, wrong, unknown;
    failure refusal;  /* of the first problem that the library does not take */
    exit_code broken; /* of the first device or problem that failed otherwise */
} bench;

/* ---- one problem ------------------------------------------------------------------------------------------------ */

static bool time_once(const bench *b, prepared *r, measure_times *times, failure *f) {
    const int64_t rounds = b->wishes->rounds;
    const measure_limits limits = {rounds < LEAST_RUNS ? rounds : LEAST_RUNS, rounds, b->wishes->budget_s};
    return measure_time(r->device->queue, prepared_run, r, &limits, times, f);
}

/* What is slower than before is measured again, since other programs of the machine may have been the reason. */
static bool time_against_baseline(const bench *b, prepared *r, bench_row *row, failure *f) {
    enum { AGAIN = 2 };
    baseline_compare(b->baseline, b->wishes->tolerance_percent, row);
    for (int i = 0; i < AGAIN && row->slower; i++) {
        measure_times times;
        if (!time_once(b, r, &times, f)) {
            return false;
        }
        if (times.least_s < row->times.least_s) {
            row->times = times;
        }
        baseline_compare(b->baseline, b->wishes->tolerance_percent, row);
    }
    return true;
}

static bool measure_row(const bench *b, prepared *r, bench_row *row, failure *f) {
    if (!prepare(r, row->problem, row->device, f)) {
        return false;
    }
    row->copies = r->copies;
    prepared_variants(r, row->variants, sizeof row->variants);
    if (!time_once(b, r, &row->times, f)) {
        return false;
    }
    return (!b->baseline || time_against_baseline(b, r, row, f)) &&
           (!b->options->check || check_result(r, &row->check, f));
}

static void remember_failure(bench *b, exit_code code) {
    b->broken = b->broken == EXIT_DONE ? code : b->broken;
}

static void complain(const bench_row *row, const char *what) {
    char title[TITLE_SIZE];
    fprintf(stderr, "oclattn-bench: %s: %s %s %s%s%s\n", what, group_name(row->problem->group),
            problem_title(row->problem, title), type_name(row->problem->type), row->problem->variant ? " " : "",
            row->problem->variant ? row->problem->variant : "");
}

static void count_row(bench *b, const bench_row *row) {
    if (!row->measured && row->trouble.code == EXIT_BAD_INPUT) {
        b->refusal = b->refusal.code == EXIT_DONE ? row->trouble : b->refusal;
        return;
    }
    if (!row->measured) {
        remember_failure(b, row->trouble.code);
        complain(row, row->trouble.text);
        return;
    }
    b->measured++;
    if (row->times.clocks_disagree) {
        complain(row, "warning: the host's clock and the device's disagree");
    }
    if (row->check.wrong > 0) {
        b->wrong++;
        complain(row, "the result is wrong");
    }
    if (row->slower) {
        b->slower++;
        complain(row, "slower than the baseline");
    }
    if (b->baseline && !row->has_baseline) {
        b->unknown++;
        complain(row, "not in the baseline");
    }
}

static void print_row(const bench *b, const bench_row *row, const bench_problem *before) {
    char title[TITLE_SIZE], title_before[TITLE_SIZE] = "";
    const bool with_baseline = b->baseline != NULL;
    if (before && before->group == row->problem->group) {
        problem_title(before, title_before);
    } else {
        row_print_heading(row->problem->group, with_baseline);
    }
    row_print(row, strcmp(problem_title(row->problem, title), title_before) != 0, with_baseline);
    fflush(stdout);
}

/* Faster than the peak: other programs of the machine were at work when that was measured. */
static void correct_peaks(const bench *b, bench_device *device, const bench_row *row) {
    const double believable = 1.02;
    if (row->measured && row_share(row) > believable) {
        device_measure_peaks(device, b->peak_budget_s);
        if (!b->options->json) {
            device_print_peaks(device, true);
        }
    }
}

static void measure_problem(const bench *b, const bench_device *device, bench_row *row) {
    prepared r = {0};
    row->device = device;
    row->measured = measure_row(b, &r, row, &row->trouble);
    prepared_release(&r);
}

/* ---- one device ------------------------------------------------------------------------------------------------- */

static void measure_problems(bench *b, bench_device *device, bench_row *rows) {
    const size_t count = b->wishes->problem_count;
    progress p = progress_start("measuring", (int64_t)count);
    device_measure_peaks(device, b->peak_budget_s);
    if (!b->options->json) {
        device_print(device);
        device_print_peaks(device, false);
    }
    for (size_t i = 0; i < count; i++) {
        rows[i].problem = &b->wishes->problems[i];
        progress_step(&p, (int64_t)i);
        measure_problem(b, device, &rows[i]);
        progress_end(&p);
        correct_peaks(b, device, &rows[i]);
        if (!b->options->json) {
            print_row(b, &rows[i], i > 0 ? rows[i - 1].problem : NULL);
        }
        count_row(b, &rows[i]);
    }
    json_array_append_new(b->devices, device_json(device));
    for (size_t i = 0; i < count; i++) { /* at the end, when the peaks are final */
        json_array_append_new(b->results, row_json(&rows[i]));
    }
}

static bool measure_latency(bench *b, const bench_device *device, failure *f) {
    latency l;
    if (!latency_measure(b->program, device, (size_t)b->wishes->rounds, &l, f)) {
        return false;
    }
    json_array_append_new(b->devices, device_json(device));
    json_array_append_new(b->latencies, latency_json(&l, device));
    if (!b->options->json) {
        device_print(device);
        latency_print(&l);
    }
    return true;
}

static bool measure_opened(bench *b, bench_device *device, failure *f) {
    bench_row *rows = NULL;
    if (b->options->latency) {
        return measure_latency(b, device, f);
    }
    rows = calloc(b->wishes->problem_count, sizeof *rows);
    if (!rows) {
        return fail_memory(f, "the results");
    }
    measure_problems(b, device, rows);
    free(rows);
    return true;
}

/* A device that fails does not keep others from being measured. */
static void measure_device_of(bench *b, const char *spec) {
    failure f = {0};
    bench_device device;
    if (!device_open(&device, spec, &f) || !measure_opened(b, &device, &f)) {
        remember_failure(b, f.code);
        fprintf(stderr, "oclattn-bench: %s\n", f.text);
    }
    device_close(&device);
}

/* ---- all devices ------------------------------------------------------------------------------------------------ */

static bool list_devices(oclattn_device_info infos[MOST_DEVICES], size_t *count, failure *f) {
    oclattn_error error = {0};
    for (size_t i = 0; i < MOST_DEVICES; i++) {
        oclattn_device_info_init(&infos[i]);
    }
    const oclattn_status status = oclattn_devices_list(infos, MOST_DEVICES, count, &error);
    if (status != OCLATTN_OK) {
        return fail_library(f, status, &error);
    }
    *count = *count < MOST_DEVICES ? *count : MOST_DEVICES;
    return *count > 0 ? true : fail_with(f, EXIT_NO_DEVICE, "there is no OpenCL device");
}

static bool measure_all(bench *b, failure *f) {
    oclattn_device_info infos[MOST_DEVICES];
    size_t count = 0;
    if (!list_devices(infos, &count, f)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        char spec[32];
        snprintf(spec, sizeof spec, "%d:%d", (int)infos[i].platform_index, (int)infos[i].device_index);
        if (infos[i].alias_of < 0) {
            measure_device_of(b, spec);
        }
    }
    return true;
}

static bool measure_devices(bench *b, failure *f) {
    const text_list *wanted = &b->options->devices;
    if (wanted->count == 0) {
        measure_device_of(b, NULL);
    }
    for (size_t i = 0; i < wanted->count; i++) {
        if (strcmp(wanted->items[i], "all") != 0) {
            measure_device_of(b, wanted->items[i]);
        } else if (!measure_all(b, f)) {
            return false;
        }
    }
    return true;
}

/* ---- the end ---------------------------------------------------------------------------------------------------- */

static void print_json(const bench *b) {
    const wishes *w = b->wishes;
    json_t *root =
        json_pack("{s:i, s:s, s:s, s:I, s:f, s:O, s:O, s:O}", "schema_version", BENCH_SCHEMA_VERSION, "tool",
                  "oclattn-bench", "library_version", oclattn_version(), "rounds", (json_int_t)w->rounds,
                  "budget_seconds", w->budget_s, "devices", b->devices, "results", b->results, "latency", b->latencies);
    json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(root);
}

static void print_summary(const bench *b) {
    if (b->baseline && b->measured > 0) {
        printf("\nbaseline: of %zu problems, %zu slower by more than %g %%, %zu not in it\n", b->measured, b->slower,
               b->wishes->tolerance_percent, b->unknown);
    }
}

static exit_code verdict(const bench *b, failure *f) {
    if (b->wrong > 0 || b->slower > 0) {
        return EXIT_WRONG_RESULT;
    }
    if (b->broken == EXIT_DONE && b->measured == 0 && !b->options->latency) {
        *f = b->refusal;
        return f->code;
    }
    return b->broken;
}

exit_code bench_run(const char *program, const bench_options *o, const wishes *w, failure *f) {
    bench b = {.program = program, .options = o, .wishes = w};
    json_t *baseline = o->baseline ? baseline_load(o->baseline, f) : NULL;
    if (o->baseline && !baseline) {
        return f->code;
    }
    b.baseline = baseline;
    b.peak_budget_s = w->budget_s < MOST_PEAK_SECONDS ? w->budget_s : MOST_PEAK_SECONDS;
    b.devices = json_array();
    b.results = json_array();
    b.latencies = json_array();
    const bool good = measure_devices(&b, f);
    if (o->json && json_array_size(b.devices) > 0) {
        print_json(&b);
    } else if (!o->json) {
        print_summary(&b);
    }
    json_decref(baseline);
    json_decref(b.devices);
    json_decref(b.results);
    json_decref(b.latencies);
    return good ? verdict(&b, f) : f->code;
}
