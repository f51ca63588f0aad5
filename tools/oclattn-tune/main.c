/* oclattn-tune: measures tile sizes on this machine, and keeps the best. */
#include <string.h>

#include "oclattn-run/options.h"
#include "plan/tuning_parameters.h"
#include "show.h"
#include "tune.h"

typedef struct tune_options {
    bool show, dry_run, json, quick, restart, resume, help, version;
    const char *device, *out, *class_name, *budget;
} tune_options;

#define FIELD(name) offsetof(tune_options, name)

static const option_spec what_specs[] = {
    {"device", "SPEC", OPTION_TEXT, FIELD(device), "P:D indexes, gpu, cpu, accelerator, or a part of a name"},
    {"class", "NAME", OPTION_TEXT, FIELD(class_name), "this class alone, such as attention_tiled_cpu.64"},
    {"budget", "SECONDS", OPTION_TEXT, FIELD(budget), "to take, about (default 300)"},
    {"resume", NULL, OPTION_FLAG, FIELD(resume), "skip what has been measured before (the default)"},
    {"restart", NULL, OPTION_FLAG, FIELD(restart), "measure it all again, from the built-in values"},
    {"out", "FILE", OPTION_TEXT, FIELD(out), "the tuning file (default: the one that the library reads)"},
    {"quick", NULL, OPTION_FLAG, FIELD(quick), "tiny problems, 3 candidates: to try the tool out, not to tune"},
};

static const option_spec show_specs[] = {
    {"show", NULL, OPTION_FLAG, FIELD(show), "measure nothing: show the values in force, and where they are from"},
    {"dry-run", NULL, OPTION_FLAG, FIELD(dry_run), "measure nothing: list what would be measured"},
    {"json", NULL, OPTION_FLAG, FIELD(json), "strict JSON on stdout"},
    {"version", NULL, OPTION_FLAG, FIELD(version), "the library's version"},
    {"help", NULL, OPTION_FLAG, FIELD(help), "this text"},
};

#define GROUP_COUNT 2
#define LENGTH(array) (sizeof array / sizeof array[0])

static void option_groups(tune_options *o, option_group groups[GROUP_COUNT]) {
    groups[0] = (option_group){"What to measure", what_specs, LENGTH(what_specs), o};
    groups[1] = (option_group){"What to show", show_specs, LENGTH(show_specs), o};
}

static const char help_start[] =
    "Usage: oclattn-tune [options]\n"
    "\n"
    "Measures tile sizes of the library's kernels on one device, class by class, and writes the best\n"
    "of each class to the tuning file, from which the library takes them from then on. A candidate\n"
    "replaces what is there only if it is right, and faster by more than noise.\n";

static const char help_end[] =
    "\nTry\n"
    "  oclattn-tune --dry-run                     what would it do?\n"
    "  oclattn-tune --budget 600                  measure for ten minutes\n"
    "  oclattn-tune --show                        what is in force now, and why?\n"
    "  OCLATTN_TUNING=off oclattn-run ...         without the tuning file\n"
    "\nExit codes: 0 done, 1 the values in force give a wrong result, 2 usage, 3 no matching device,\n"
    "4 a driver failed\n";

static void print_help(const option_group *groups) {
    fputs(help_start, stdout);
    options_print(groups, GROUP_COUNT, stdout);
    puts("\nClasses");
    for (size_t i = 0; i < tune_class_count; i++) {
        printf("  %-26s  %s\n", class_name(&tune_classes[i]), tune_classes[i].what);
    }
    fputs(help_end, stdout);
}

static bool class_exists(const char *name) {
    for (size_t i = 0; i < tune_class_count; i++) {
        if (strcmp(class_name(&tune_classes[i]), name) == 0) {
            return true;
        }
    }
    return false;
}

static bool make_wish(const tune_options *o, tune_wish *wish, failure *f) {
    float budget = 300;
    if (o->show && o->dry_run) {
        return fail_with(f, EXIT_BAD_INPUT, "--show and --dry-run do not go together");
    }
    if (o->resume && o->restart) {
        return fail_with(f, EXIT_BAD_INPUT, "--resume and --restart do not go together");
    }
    if (o->class_name && !class_exists(o->class_name)) {
        return fail_with(f, EXIT_BAD_INPUT, "--class %s: there is no such class; --help lists them", o->class_name);
    }
    if (o->budget && !parse_float("--budget", o->budget, &budget, f)) {
        return false;
    }
    *wish = (tune_wish){.budget_s = (double)budget,
                        .class_name = o->class_name,
                        .quick = o->quick,
                        .restart = o->restart,
                        .json = o->json};
    return (budget >= 0 && budget <= 1e6F) || fail_with(f, EXIT_BAD_INPUT, "--budget must be from 0 to 1000000");
}

static void begin(const tune_machine *m, const tune_wish *wish, json_t *document) {
    const device_caps *caps = &m->played.caps;
    const char *file = m->file.length > 0 ? m->file.data : NULL;
    json_t *address = json_sprintf("%d:%d", m->played.platform_index, m->played.device_index);
    json_object_update_missing_new(document,
                                   json_pack("{s:i, s:o, s:s, s:s, s:s?}", "schema_version", 1, "device", address,
                                             "name", caps->name, "driver", caps->driver_version, "file", file));
    if (!wish->json) {
        printf("device %s, %s, driver %s\nfile   %s\n", json_string_value(address), caps->name, caps->driver_version,
               file ? file : "none");
        fflush(stdout);
    }
}

static exit_code tune(const tune_options *o, const tune_wish *wish, failure *f) {
    tune_machine m;
    exit_code code = EXIT_DONE;
    json_t *document = json_object();
    if (machine_read(&m, o->device, o->out, f)) {
        begin(&m, wish, document);
        if (o->show) {
            show_in_force(&m, wish, document);
        } else if (o->dry_run) {
            show_plan(&m, wish, document);
        } else {
            code = tune_all(&m, wish, document, f);
        }
        if (wish->json) {
            json_dumpf(document, stdout, JSON_INDENT(2));
            putchar('\n');
        }
    } else {
        code = f->code;
    }
    machine_clear(&m);
    json_decref(document);
    return code;
}

static exit_code run(int count, char **words, failure *f) {
    tune_options options = {.show = false};
    option_group groups[GROUP_COUNT];
    tune_wish wish;
    option_groups(&options, groups);
    if (!options_parse(groups, GROUP_COUNT, count - 1, words + 1, f)) {
        return f->code;
    }
    if (options.help) {
        print_help(groups);
        return EXIT_DONE;
    }
    if (options.version) {
        printf("oclattn-tune %s\n", oclattn_version());
        return EXIT_DONE;
    }
    return make_wish(&options, &wish, f) ? tune(&options, &wish, f) : f->code;
}

int main(int count, char **words) {
    failure f = {.code = EXIT_DONE};
    exit_code code = run(count, words, &f);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_DONE) {
        fail_with(&f, EXIT_RUNTIME, "writing to stdout failed");
        code = f.code;
    }
    if (f.text[0] != '\0') {
        fprintf(stderr, "oclattn-tune: %s\n", f.text);
    }
    return (int)code;
}
