#include "row.h"

#include <stdio.h>
#include <string.h>

#include "oclattn-run/common.h"

enum { COLUMNS = 100 };

static double flop_per_s(const bench_row *row) {
    return problem_flop(row->problem) / row->times.least_s;
}

static double bytes_per_s(const bench_row *row) {
    return problem_bytes(row->problem) / row->times.least_s;
}

static bool is_bound_by_memory(const bench_problem *p) {
    return p->group == GROUP_DECODE;
}

static double share_of(double rate, double peak) {
    return peak > 0 ? rate / peak : -1;
}

double row_share(const bench_row *row) {
    return is_bound_by_memory(row->problem) ? share_of(bytes_per_s(row), row->device->peaks.read)
                                            : share_of(flop_per_s(row), row->device->peaks.fma_f32);
}

/* ---- table ------------------------------------------------------------------------------------------------------ */

void row_print_heading(problem_group group, bool with_baseline) {
    printf("\n%s (%s)\n    %-7s %10s %10s %8s %8s %7s%s  variant\n", group_name(group), group_legend(group), "dtype",
           "min ms", "median ms", "GFLOP/s", "GB/s", group == GROUP_DECODE ? "of read" : "of FMA",
           with_baseline ? "  ratio" : "");
}

static const char *share_text(double share, char text[16]) {
    if (share >= 0) {
        snprintf(text, 16, "%.0f %%", 100 * share);
    } else {
        snprintf(text, 16, "?");
    }
    return text;
}

static const char *ratio_text(const bench_row *row, char text[16]) {
    if (row->has_baseline) {
        snprintf(text, 16, "  %5.2f", row->times.least_s / row->baseline_s);
    } else {
        snprintf(text, 16, "    new");
    }
    return text;
}

/* "f32", or "f32/f16" where K and V have a type of their own. */
static const char *types_text(const bench_problem *p, char text[16]) {
    snprintf(text, 16, "%s%s%s", type_name(p->type), p->kv_type != p->type ? "/" : "",
             p->kv_type != p->type ? type_name(p->kv_type) : "");
    return text;
}

static void print_wrapped(int indent, const char *text) {
    const size_t room = (size_t)(COLUMNS - indent);
    while (*text) {
        size_t length = strlen(text);
        if (length > room) {
            length = room;
            while (length > 0 && text[length] != ' ') {
                length--;
            }
            length = length > 0 ? length : room;
        }
        printf("%*s%.*s\n", indent, "", (int)length, text);
        text += length + strspn(text + length, " \n");
    }
}

static void print_check(const check_verdict *c) {
    char text[256];
    if (c->wrong > 0) {
        snprintf(text, sizeof text, "WRONG: %lld of %lld numbers in %s (%lld of %lld), max |error| %.3g",
                 (long long)c->wrong, (long long)c->values, c->which, (long long)c->rows, (long long)c->all_rows,
                 c->greatest_error);
    } else {
        snprintf(text, sizeof text, "right: %s (%lld of %lld), max |error| %.3g", c->which, (long long)c->rows,
                 (long long)c->all_rows, c->greatest_error);
    }
    print_wrapped(6, text);
}

static void print_notes(const bench_row *row) {
    char text[160];
    if (row->times.clocks_disagree) {
        snprintf(text, sizeof text, "the clocks disagree: median %.4g ms by the host, %.4g ms by events",
                 row->times.median_s * 1e3, row->times.event_median_s * 1e3);
        print_wrapped(6, text);
    }
    if (row->check.done) {
        print_check(&row->check);
    }
}

/* Variants that do not fit stand on a line of their own. */
static void print_numbers(const bench_row *row, bool with_baseline) {
    char types[16], share[16], ratio[16], line[128];
    snprintf(line, sizeof line, "    %-7s %10.4g %10.4g %8.4g %8.4g %7s%s%s", types_text(row->problem, types),
             row->times.least_s * 1e3, row->times.median_s * 1e3, flop_per_s(row) / 1e9, bytes_per_s(row) / 1e9,
             share_text(row_share(row), share), with_baseline ? ratio_text(row, ratio) : "",
             row->slower ? "  SLOWER" : "");
    if (strlen(line) + 2 + strlen(row->variants) <= COLUMNS) {
        printf("%s  %s\n", line, row->variants);
    } else {
        printf("%s\n", line);
        print_wrapped(6, row->variants);
    }
}

void row_print(const bench_row *row, bool with_title, bool with_baseline) {
    char title[TITLE_SIZE], types[16];
    if (with_title) {
        print_wrapped(2, problem_title(row->problem, title));
    }
    if (row->measured) {
        print_numbers(row, with_baseline);
        print_notes(row);
    } else {
        printf("    %-7s not measured:\n", types_text(row->problem, types));
        print_wrapped(6, row->trouble.text);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static json_t *ms_json(double seconds) {
    return seconds >= 0 ? json_real(seconds * 1e3) : json_null();
}

static json_t *share_json(double share) {
    return share >= 0 ? json_real(share) : json_null();
}

static json_t *baseline_json(const bench_row *row) {
    if (!row->has_baseline) {
        return json_null();
    }
    return json_pack("{s:f, s:f, s:b}", "min_ms", row->baseline_s * 1e3, "ratio", row->times.least_s / row->baseline_s,
                     "slower", row->slower);
}

static json_t *times_json(const bench_row *row) {
    const measure_times *t = &row->times;
    return json_pack(
        "{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:b, s:f, s:f, s:s, s:o, s:o, s:o, s:o, s:o}", "variant", row->variants,
        "kv_copies", (json_int_t)row->copies, "runs", (json_int_t)t->runs, "min_ms", ms_json(t->least_s), "median_ms",
        ms_json(t->median_s), "event_min_ms", ms_json(t->event_least_s), "event_median_ms", ms_json(t->event_median_s),
        "clocks_disagree", t->clocks_disagree, "gflop_per_s", flop_per_s(row) / 1e9, "gb_per_s", bytes_per_s(row) / 1e9,
        "bound_by", is_bound_by_memory(row->problem) ? "read_gb_per_s" : "fma_f32_gflop_per_s", "share_of_peak",
        share_json(row_share(row)), "share_of_fma", share_json(share_of(flop_per_s(row), row->device->peaks.fma_f32)),
        "share_of_read", share_json(share_of(bytes_per_s(row), row->device->peaks.read)), "check",
        check_json(&row->check), "baseline", baseline_json(row));
}

/* A driver's words need not be UTF-8, which JSON is. */
static json_t *trouble_json(const bench_row *row) {
    json_t *text = row->measured ? json_null() : json_string(row->trouble.text);
    return text ? text : json_string("the driver's words are not UTF-8");
}

json_t *row_json(const bench_row *row) {
    json_t *json = problem_json(row->problem);
    json_object_set_new(json, "device", device_spec_json(row->device));
    json_object_set_new(json, "device_name", json_string(row->device->info.name));
    json_object_set_new(json, "not_measured_because", trouble_json(row));
    if (row->measured) {
        json_t *times = times_json(row);
        json_object_update(json, times);
        json_decref(times);
    }
    return json;
}
