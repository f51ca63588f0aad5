#include <stdio.h>

#include "bench.h"
#include "oclattn-run/common.h"

static void print_problem(const bench_problem *p) {
    char title[TITLE_SIZE];
    printf("%-10s  %-58s  %-4s  %9.4g GFLOP\n", group_name(p->group), problem_title(p, title), type_name(p->type),
           problem_flop(p) / 1e9);
}

void bench_list(const bench_options *o, const wishes *w) {
    json_t *problems = json_array();
    for (size_t i = 0; i < w->problem_count; i++) {
        if (o->json) {
            json_array_append_new(problems, problem_json(&w->problems[i]));
        } else {
            print_problem(&w->problems[i]);
        }
    }
    if (o->json) {
        json_t *root = json_pack("{s:i, s:O}", "schema_version", BENCH_SCHEMA_VERSION, "problems", problems);
        json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
        putchar('\n');
        json_decref(root);
    }
    json_decref(problems);
}
