/* oclattn-probe: what a machine's OpenCL is worth for attention. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "capture.h"
#include "oclattn-run/options.h"
#include "program/cache.h"
#include "properties.h"
#include "selftest.h"
#include "show.h"
#include "survey.h"
#include "vendors.h"
#include "wrap.h"

enum { STDERR_INDENT = 15 };

typedef struct probe_options {
    bool list, all, raw, json, selftest, bench, explain, help, version;
    const char *device, *prop, *save, *load, *variant, *shape, *budget, *timeout, *problem;
} probe_options;

#define FIELD(name) offsetof(probe_options, name)

static const option_spec show_specs[] = {
    {"list", NULL, OPTION_FLAG, FIELD(list), "platforms and devices, two lines each"},
    {"all", NULL, OPTION_FLAG, FIELD(all), "every fact, and why one is not known"},
    {"raw", NULL, OPTION_FLAG, FIELD(raw), "one \"key value\" a line, for scripts"},
    {"json", NULL, OPTION_FLAG, FIELD(json), "strict JSON; null where a fact is not known"},
    {"prop", "NAME", OPTION_TEXT, FIELD(prop), "one fact of the chosen device, such as local_memory_bytes"},
    {"explain", NULL, OPTION_FLAG, FIELD(explain), "the plan for one attention problem"},
    {"shape", "B,Hq,Hkv,Sq,Skv,D,Dv", OPTION_TEXT, FIELD(shape), "which one (1,12,12,512,512,64,64)"},
};

static const option_spec choice_specs[] = {
    {"device", "SPEC", OPTION_TEXT, FIELD(device), "P:D indexes, gpu, cpu, accelerator, or a part of a name"},
    {"variant", "NAME", OPTION_TEXT, FIELD(variant), "for --selftest and --explain: this one alone"},
    {"timeout", "SECONDS", OPTION_TEXT, FIELD(timeout), "for each platform to answer (default 20)"},
};

static const option_spec work_specs[] = {
    {"selftest", NULL, OPTION_FLAG, FIELD(selftest), "run every kernel; variants that fail go into quarantine"},
    {"problem", "N", OPTION_TEXT, FIELD(problem), "for --selftest: this problem of each variant alone"},
    {"bench", NULL, OPTION_FLAG, FIELD(bench), "measure the device, and attention beside what it allows"},
    {"budget", "SECONDS", OPTION_TEXT, FIELD(budget), "for --bench to take, compiling and all (default 10)"},
    {"save", "FILE", OPTION_TEXT, FIELD(save), "write a capture of all facts"},
    {"load", "FILE", OPTION_TEXT, FIELD(load), "answer for the machine in a capture"},
    {"version", NULL, OPTION_FLAG, FIELD(version), "the library's version"},
    {"help", NULL, OPTION_FLAG, FIELD(help), "this text"},
};

#define GROUP_COUNT 3
#define LENGTH(array) (sizeof array / sizeof array[0])

static void option_groups(probe_options *o, option_group groups[GROUP_COUNT]) {
    groups[0] = (option_group){"What to show (default: one screen)", show_specs, LENGTH(show_specs), o};
    groups[1] = (option_group){"Of what", choice_specs, LENGTH(choice_specs), o};
    groups[2] = (option_group){"Work", work_specs, LENGTH(work_specs), o};
}

static const char help_start[] =
    "Usage: oclattn-probe [options]\n"
    "\n"
    "Tells what this machine's OpenCL is worth for attention: its platforms and devices, which device\n"
    "the library would choose and why, and which kernels it would run there. Drivers are asked in\n"
    "processes of their own, so that one that crashes or hangs costs only its own answer, and its file\n"
    "is named.\n";

static const char help_end[] =
    "\nTry\n"
    "  oclattn-probe                              one screen, to begin with\n"
    "  oclattn-probe --selftest                   are the results right on this machine?\n"
    "  oclattn-probe --bench --budget 30          how fast is it, and how fast could it be?\n"
    "  oclattn-probe --save here.json             put this into a bug report\n"
    "  oclattn-probe --load here.json --explain --shape 1,32,8,1,4096,128,128\n"
    "\nNo device, or not the one you expect? The line \"hint\" says what is missing. The manual page has\n"
    "more.\n"
    "\nExit codes: 0 fine, 1 the self-test failed, 2 usage, 3 no matching device, 4 a driver failed\n";

static void print_help(const option_group *groups) {
    fputs(help_start, stdout);
    options_print(groups, GROUP_COUNT, stdout);
    fputs(help_end, stdout);
}

/* What the options say. */
typedef struct wishes {
    double timeout_s, budget_s;
    int64_t problem, shape[7];
} wishes;

static bool parse_seconds(const char *label, const char *word, double otherwise, double *seconds, failure *f) {
    float value = 0;
    *seconds = otherwise;
    if (!word) {
        return true;
    }
    if (!parse_float(label, word, &value, f)) {
        return false;
    }
    *seconds = (double)value;
    return (value > 0 && value <= 86400) || fail_with(f, EXIT_BAD_INPUT, "%s must be above 0 and at most 86400", label);
}

static bool parse_wishes(const probe_options *o, wishes *w, failure *f) {
    const char *shape = o->shape ? o->shape : "1,12,12,512,512,64,64";
    w->problem = -1;
    return parse_seconds("--timeout", o->timeout, 20, &w->timeout_s, f) &&
           parse_seconds("--budget", o->budget, 10, &w->budget_s, f) &&
           parse_integers("--shape", shape, 7, 0, w->shape, f) &&
           (!o->problem || parse_integer("--problem", o->problem, 0, 1000, &w->problem, f));
}

static bool check_options(const probe_options *o, failure *f) {
    const int shown = o->list + o->all + o->raw + (o->prop != NULL) + o->explain + o->selftest + o->bench;
    if (shown > 1) {
        return fail_with(f, EXIT_BAD_INPUT,
                         "only one of --list, --all, --raw, --prop, --explain, --selftest and "
                         "--bench at a time (each but --raw and --prop goes with --json)");
    }
    if (o->json && (o->raw || o->prop)) {
        return fail_with(f, EXIT_BAD_INPUT, "--json does not go with --raw or --prop");
    }
    if (o->load && (o->selftest || o->bench)) {
        return fail_with(f, EXIT_BAD_INPUT,
                         "a capture cannot be tested or measured: --selftest and --bench need the "
                         "machine itself");
    }
    if (o->problem && !(o->selftest && o->variant)) {
        return fail_with(f, EXIT_BAD_INPUT, "--problem needs --selftest and --variant");
    }
    if (o->variant && !o->selftest && !o->explain) {
        return fail_with(f, EXIT_BAD_INPUT, "--variant needs --selftest or --explain");
    }
    if ((o->shape && !o->explain) || (o->budget && !o->bench)) {
        return fail_with(f, EXIT_BAD_INPUT, o->shape ? "--shape needs --explain" : "--budget needs --bench");
    }
    if (o->prop && !device_property_find(o->prop)) {
        return fail_with(f, EXIT_BAD_INPUT, "--prop %s: there is no such fact; --raw shows all", o->prop);
    }
    return true;
}

static exit_code show_property(const machine *m, const char *key) {
    const json_t *device = m->devices[m->chosen];
    property_print(json_object_get(json_object_get(device, "facts"), key), stdout);
    putchar('\n');
    const char *reason = json_string_value(json_object_get(json_object_get(device, "unknown"), key));
    if (reason && json_is_null(json_object_get(json_object_get(device, "facts"), key))) {
        wrap_to(stderr, "oclattn-probe:", STDERR_INDENT, "%s is not known: %s", key, reason);
    }
    return EXIT_DONE;
}

static exit_code explain(const machine *m, json_t *document, const probe_options *o, const wishes *w,
                         const char *cache_dir) {
    json_t *plan = machine_explain(m, w->shape, o->variant, cache_dir);
    json_object_set_new(document, "explain", plan);
    if (!o->json) {
        show_plan(plan);
    }
    return json_is_string(json_object_get(plan, "variant")) ? EXIT_DONE : EXIT_BAD_INPUT;
}

static exit_code do_work(const machine *m, json_t *document, const probe_options *o, const wishes *w,
                         const char *cache_dir, failure *f) {
    if (o->selftest) {
        const selftest_wish wish = {o->variant, w->problem, 60 + 30 * w->timeout_s, o->json};
        return selftest_run(m, document, &wish, cache_dir, f);
    }
    if (o->bench) {
        return bench_run(m, document, w->budget_s, o->json, f);
    }
    if (o->explain) {
        return explain(m, document, o, w, cache_dir);
    }
    return o->prop ? show_property(m, o->prop) : EXIT_DONE;
}

static void show(const machine *m, const json_t *document, const probe_options *o) {
    if (o->json) {
        json_dumpf(document, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (o->raw) {
        show_raw(m, document);
    } else if (o->list) {
        show_list(m, document);
    } else if (o->all) {
        show_all(m, document);
    } else if (!o->prop && !o->explain && !o->selftest && !o->bench) {
        show_overview(m, document);
    }
}

/* Where no device can be used, a driver that failed is the reason rather than the wish. */
static exit_code code_without_device(const json_t *document, failure *f) {
    if (survey_has_broken_driver(document)) {
        f->code = EXIT_RUNTIME;
    }
    return f->code;
}

static exit_code answer(json_t *document, const probe_options *o, const wishes *w, const char *cache_dir, failure *f) {
    machine m;
    exit_code code = EXIT_DONE;
    if (!machine_make(&m, document, f)) {
        machine_clear(&m);
        return f->code;
    }
    if (machine_choose(&m, document, o->device, cache_dir, f)) {
        code = do_work(&m, document, o, w, cache_dir, f);
    } else {
        code = code_without_device(document, f);
    }
    show(&m, document, o);
    machine_clear(&m);
    return code;
}

static exit_code probe(const probe_options *o, const wishes *w, failure *f) {
    char *cache_dir = NULL;
    json_t *document = o->load ? capture_load(o->load, f) : survey_make(w->timeout_s);
    if (!document) {
        return f->code != EXIT_DONE ? f->code : (fail_memory(f, "the answer"), f->code);
    }
    if (!o->load && cache_choose_folder(NULL, NULL, &cache_dir, NULL) != OCLATTN_OK) {
        cache_dir = NULL;
    }
    exit_code code = answer(document, o, w, cache_dir, f);
    if (o->save && !capture_save(document, o->save, f)) {
        code = f->code;
    }
    vendors_restore();
    free(cache_dir);
    json_decref(document);
    return code;
}

static exit_code run(int count, char **words, failure *f) {
    probe_options options = {0};
    option_group groups[GROUP_COUNT];
    wishes w;
    option_groups(&options, groups);
    if (!options_parse(groups, GROUP_COUNT, count - 1, words + 1, f)) {
        return f->code;
    }
    if (options.help) {
        print_help(groups);
        return EXIT_DONE;
    }
    if (options.version) {
        printf("oclattn-probe %s\n", oclattn_version());
        return EXIT_DONE;
    }
    return check_options(&options, f) && parse_wishes(&options, &w, f) ? probe(&options, &w, f) : f->code;
}

/* A closed one would become the next file that is opened, and what is printed would go there. */
static void open_standard_streams(void) {
    int opened = open("/dev/null", O_RDONLY);
    while (opened >= 0 && opened <= STDERR_FILENO) {
        opened = open("/dev/null", O_RDONLY);
    }
    if (opened >= 0) {
        close(opened);
    }
}

int main(int count, char **words) {
    failure f = {0};
    open_standard_streams();
    exit_code code = run(count, words, &f);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_DONE) {
        fail_with(&f, EXIT_RUNTIME, "writing to stdout failed");
        code = f.code;
    }
    if (f.text[0] != '\0') {
        wrap_to(stderr, "oclattn-probe:", STDERR_INDENT, "%s", f.text);
    }
    return (int)code;
}
