#include "wishes.h"

#include <stdlib.h>
#include <string.h>

#include "latency.h"
#include "oclattn-run/common.h"
#include "suite.h"

#define FIELD(name) offsetof(bench_options, name)
#define SHAPE(name) offsetof(bench_options, shape.name)
#define LENGTH(array) (sizeof array / sizeof array[0])

static const option_spec what_specs[] = {
    {"suite", "NAME", OPTION_TEXT, FIELD(suite), SUITE_NAMES " (default quick)"},
    {"list", NULL, OPTION_FLAG, FIELD(list), "list the problems, without a device, and stop"},
    {"latency", NULL, OPTION_FLAG, FIELD(latency), "instead: process start, planning, the cost of an enqueue"},
    {"dtype", "f32|f16|bf16", OPTION_TEXT, FIELD(dtype), "this type alone (suites have all three, quick has f32)"},
    {"variant", "NAME", OPTION_LIST, FIELD(variants), "this kernel, not the best one; may be repeated"},
};

static const option_spec shape_specs[] = {
    {"batch", "N", OPTION_COUNT, SHAPE(batch), "sequences (1)"},
    {"heads", "N", OPTION_COUNT, SHAPE(heads), "query heads (12; decode 32)"},
    {"kv-heads", "N", OPTION_COUNT, SHAPE(kv_heads), "heads of keys and values (as many)"},
    {"q-len", "N", OPTION_COUNT, SHAPE(q_len), "query rows (attention 512, mha 128, decode 1)"},
    {"kv-len", "N", OPTION_COUNT, SHAPE(kv_len), "keys (as many as rows; decode 4096)"},
    {"head-dim", "N", OPTION_COUNT, SHAPE(head_dim), "width of a head (64; decode 128; mha d-model / heads)"},
    {"v-dim", "N", OPTION_COUNT, SHAPE(v_dim), "width of a value (that of the head)"},
    {"kv-dtype", "f32|f16|bf16", OPTION_TEXT, FIELD(kv_dtype), "storage of keys and values (attention, decode)"},
    {"causal", NULL, OPTION_FLAG, SHAPE(causal), "rows see no later keys"},
    {"window", "L,R", OPTION_TEXT, SHAPE(window), "keys before and after a row's own that it sees; -1: all"},
    {"align", "WHERE", OPTION_TEXT, SHAPE(align), "rows are the last ones: bottom-right (default), or top-left"},
    {"d-model", "N", OPTION_COUNT, SHAPE(d_model), "mha: columns of H (768)"},
    {"rows", "N", OPTION_COUNT, SHAPE(rows), "projection: rows of x (128)"},
    {"in", "N", OPTION_COUNT, SHAPE(in), "projection: columns of x (768)"},
    {"out", "N", OPTION_COUNT, SHAPE(out), "projection: columns of y (768)"},
};

static const option_spec how_specs[] = {
    {"device", "SPEC", OPTION_LIST, FIELD(devices), "P:D, gpu, cpu, a part of a name, or all; may be repeated"},
    {"rounds", "N", OPTION_COUNT, FIELD(rounds), "timed runs of a problem (20), or tries of --latency (3)"},
    {"budget", "SECONDS", OPTION_TEXT, FIELD(budget), "for a problem, after which 3 runs are enough (5)"},
    {"check", NULL, OPTION_FLAG, FIELD(check), "compare results with float64; exit code 1 if one is wrong"},
};

static const option_spec report_specs[] = {
    {"baseline", "FILE", OPTION_TEXT, FIELD(baseline), "compare with an earlier --json; exit code 1 if slower"},
    {"tolerance", "PERCENT", OPTION_TEXT, FIELD(tolerance), "that a least time may be longer than before (10)"},
    {"json", NULL, OPTION_FLAG, FIELD(json), "strict JSON on stdout; keys name their units"},
    {"version", NULL, OPTION_FLAG, FIELD(version), "the library's version"},
    {"help", NULL, OPTION_FLAG, FIELD(help), "this text"},
};

void wishes_option_groups(bench_options *o, option_group groups[OPTION_GROUPS]) {
    groups[0] = (option_group){"What to measure", what_specs, LENGTH(what_specs), o};
    groups[1] = (option_group){"One problem (defaults in brackets)", shape_specs, LENGTH(shape_specs), o};
    groups[2] = (option_group){"How", how_specs, LENGTH(how_specs), o};
    groups[3] = (option_group){"Report", report_specs, LENGTH(report_specs), o};
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static bool parse_positive(const char *label, const char *word, double otherwise, double *number, failure *f) {
    float value = 0;
    *number = otherwise;
    if (!word) {
        return true;
    }
    if (!parse_float(label, word, &value, f)) {
        return false;
    }
    *number = (double)value;
    return (value > 0 && value <= 86400) || fail_with(f, EXIT_BAD_INPUT, "%s must be above 0 and at most 86400", label);
}

/* ---- problems --------------------------------------------------------------------------------------------------- */

/* What is asked for, before types and variants multiply it. */
static bool ask(const char *command, const bench_options *o, bench_problem asked[MOST_SUITE_PROBLEMS], size_t *count,
                failure *f) {
    const char *suite = o->suite ? o->suite : "quick";
    if (command) {
        *count = 1;
        return shape_problem(command, &o->shape, &asked[0], f);
    }
    *count = suite_problems(suite, asked);
    return *count > 0 ? true : fail_with(f, EXIT_BAD_INPUT, "--suite must be %s, not '%s'", SUITE_NAMES, suite);
}

static bool choose_types(const char *command, const bench_options *o, oclattn_type types[3], size_t *count,
                         failure *f) {
    const bool all = !command && o->suite && strcmp(o->suite, "quick") != 0;
    *count = 1;
    if (o->dtype || !all) {
        return parse_type("--dtype", o->dtype, OCLATTN_F32, &types[0], f);
    }
    types[0] = OCLATTN_F32;
    types[1] = OCLATTN_F16;
    types[2] = OCLATTN_BF16;
    *count = 3;
    return true;
}

static bool add_problem(const bench_problem *asked, oclattn_type type, const char *variant, const bench_options *o,
                        wishes *w, failure *f) {
    const bool has_keys = asked->group == GROUP_PREFILL || asked->group == GROUP_DECODE;
    bench_problem *p = &w->problems[w->problem_count++];
    *p = *asked;
    p->type = p->kv_type = type;
    p->variant = variant;
    return !has_keys || parse_type("--kv-dtype", o->kv_dtype, type, &p->kv_type, f);
}

static bool multiply(const char *command, const bench_options *o, const bench_problem *asked, size_t asked_count,
                     wishes *w, failure *f) {
    oclattn_type types[3];
    size_t type_count = 0;
    const size_t variants = o->variants.count > 0 ? o->variants.count : 1;
    if (!choose_types(command, o, types, &type_count, f)) {
        return false;
    }
    w->problems = calloc(asked_count * type_count * variants, sizeof *w->problems);
    if (!w->problems) {
        return fail_memory(f, "the problems");
    }
    for (size_t i = 0; i < asked_count * type_count * variants; i++) {
        const bench_problem *problem = &asked[i / (type_count * variants)];
        const char *variant = o->variants.count > 0 ? o->variants.items[i % variants] : NULL;
        if (!add_problem(problem, types[i / variants % type_count], variant, o, w, f)) {
            return false;
        }
    }
    return true;
}

static bool has_shape(const shape_options *s) {
    return s->batch || s->heads || s->kv_heads || s->q_len || s->kv_len || s->head_dim || s->v_dim || s->d_model ||
           s->rows || s->in || s->out || s->window || s->align || s->causal;
}

static bool check_together(const char *command, const bench_options *o, failure *f) {
    if (command && (o->suite || o->latency)) {
        return fail_with(f, EXIT_BAD_INPUT, "%s is one problem; it does not go with --suite or --latency", command);
    }
    if (o->latency &&
        (o->suite || o->list || o->check || o->baseline || o->budget || o->dtype || o->variants.count > 0)) {
        return fail_with(f, EXIT_BAD_INPUT,
                         "--latency measures a problem of its own: only --device, --rounds and --json "
                         "go with it");
    }
    if (o->latency && o->rounds > MOST_LATENCY_TRIES) {
        return fail_with(f, EXIT_BAD_INPUT, "--latency takes at most %d --rounds", MOST_LATENCY_TRIES);
    }
    if (!command && has_shape(&o->shape)) {
        return fail_with(f, EXIT_BAD_INPUT,
                         "a size needs a problem to belong to: begin with attention, mha, decode or "
                         "projection");
    }
    if (o->kv_dtype && command && (strcmp(command, "mha") == 0 || strcmp(command, "projection") == 0)) {
        return fail_with(f, EXIT_BAD_INPUT, "--kv-dtype means nothing to %s; --help says what does", command);
    }
    return !o->tolerance || o->baseline || fail_with(f, EXIT_BAD_INPUT, "--tolerance needs --baseline");
}

bool wishes_make(const char *command, const bench_options *o, wishes *w, failure *f) {
    bench_problem asked[MOST_SUITE_PROBLEMS];
    size_t count = 0;
    *w = (wishes){.rounds = o->rounds > 0 ? o->rounds : o->latency ? 3 : 20};
    return check_together(command, o, f) && parse_positive("--budget", o->budget, 5, &w->budget_s, f) &&
           parse_positive("--tolerance", o->tolerance, 10, &w->tolerance_percent, f) &&
           ask(command, o, asked, &count, f) && multiply(command, o, asked, count, w, f);
}

void wishes_clear(wishes *w) {
    free(w->problems);
    *w = (wishes){0};
}
