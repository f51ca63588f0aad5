/* The parent's side: one child process for each variant, so that a compiler that crashes fails its variant alone. */
#include "selftest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "plan/quarantine.h"
#include "plan/variant.h"
#include "selftest_problems.h"
#include "wrap.h"

/* What is under test. */
typedef struct subject {
    const char *name;
    const problem_set *problems;
    bool has_fallback; /* the library has another variant to take */
} subject;

enum { MOST_SUBJECTS = 32 };

static size_t add_variants(subject *subjects, size_t count, plan_kind operation, const problem_set *problems) {
    for (size_t i = 0; count < MOST_SUBJECTS && variant_name(operation, i); i++) {
        const bool is_last = variant_name(operation, i + 1) == NULL;
        subjects[count++] = (subject){variant_name(operation, i), problems, !is_last};
    }
    return count;
}

static size_t list_subjects(subject *subjects) {
    static const subject single[] = {{"attention_scores", &scores_problems, false},
                                     {"attention_combine", &combine_problems, false},
                                     {"split", &split_problems, false},
                                     {"merge", &merge_problems, false},
                                     {"merge_states", &states_problems, false},
                                     {"mha", &mha_problems, false}};
    size_t count = add_variants(subjects, 0, PLAN_ATTENTION, &attention_problems);
    count = add_variants(subjects, count, PLAN_PROJECTION, &projection_problems);
    for (size_t i = 0; i < sizeof single / sizeof single[0] && count < MOST_SUBJECTS; i++) {
        subjects[count++] = single[i];
    }
    return count;
}

/* ---- in the child ----------------------------------------------------------------------------------------------- */

typedef struct child_task {
    int platform_index, device_index;
    const subject *what;
    int64_t problem;
} child_task;

static const char *verdict_name(verdict v) {
    return v == VERDICT_PASS ? "PASS" : v == VERDICT_FAIL ? "FAIL" : "SKIP";
}

static void print_line(json_t *line, FILE *to) {
    json_dumpf(line, to, JSON_COMPACT);
    fputc('\n', to);
    fflush(to);
    json_decref(line);
}

static json_t *text_json(const char *words) {
    json_t *value = words[0] != '\0' ? json_string(words) : json_null();
    return value ? value : json_string("?");
}

static void run_one(session *s, const child_task *task, size_t index, FILE *to) {
    char what[160];
    outcome result = {.worst = -1};
    task->what->problems->describe(index, what, sizeof what);
    print_line(json_pack("{s:i, s:s}", "starts", (int)index, "what", what), to);
    task->what->problems->run(s, task->what->name, index, &result);
    session_drop_buffers(s);
    print_line(json_pack("{s:i, s:s, s:s, s:o, s:o}", "problem", (int)index, "what", what, "result",
                         verdict_name(result.verdict), "reason", text_json(result.reason), "error_of_tolerance",
                         result.worst >= 0 && result.worst < 1e300 ? json_real(result.worst) : json_null()),
               to);
}

static void test_in_child(FILE *to, void *data) {
    const child_task *task = data;
    session s;
    if (!session_open(&s, task->platform_index, task->device_index)) {
        print_line(json_pack("{s:o}", "cannot_open", text_json(s.problem)), to);
        return;
    }
    print_line(json_pack("{s:b}", "opened", 1), to);
    for (size_t i = 0; i < task->what->problems->count; i++) {
        if (task->problem < 0 || (size_t)task->problem == i) {
            run_one(&s, task, i, to);
        }
    }
}

/* ---- in the parent ---------------------------------------------------------------------------------------------- */

/* What is known of one variant's test. */
typedef struct test_record {
    const machine *machine;
    const selftest_wish *wish;
    const subject *what;
    json_t *results;
    size_t passed, failed, skipped;
    bool opened;
    int64_t running; /* the problem that began last and has not ended; -1: none */
    char running_what[160], cannot_open[512], first_reason[512];
} test_record;

static json_t *repeat_command(const test_record *t, int64_t problem) {
    const device_record *device = &t->machine->list.items[t->machine->chosen];
    return json_sprintf("oclattn-probe --selftest --device %d:%d --variant %s --problem %lld", device->platform_index,
                        device->device_index, t->what->name, (long long)problem);
}

static void show_result(const test_record *t, const json_t *entry) {
    const char *reason = json_string_value(json_object_get(entry, "reason"));
    const char *result = json_string_value(json_object_get(entry, "result"));
    char label[16];
    if (t->wish->quiet) {
        return;
    }
    snprintf(label, sizeof label, "%s", result);
    show_wrapped(label, 6, "%s, problem %lld: %s%s%s", t->what->name,
                 (long long)json_integer_value(json_object_get(entry, "problem")),
                 json_string_value(json_object_get(entry, "what")), reason ? ": " : "", reason ? reason : "");
    if (strcmp(result, "FAIL") == 0) {
        show_wrapped("", 6, "again: %s", json_string_value(json_object_get(entry, "repeat")));
    }
    fflush(stdout);
}

static void take_result(test_record *t, json_t *entry) {
    const char *result = json_string_value(json_object_get(entry, "result"));
    const char *reason = json_string_value(json_object_get(entry, "reason"));
    const bool failed = strcmp(result, "FAIL") == 0;
    t->passed += strcmp(result, "PASS") == 0;
    t->skipped += strcmp(result, "SKIP") == 0;
    t->running = -1;
    if (failed && t->failed++ == 0) {
        snprintf(t->first_reason, sizeof t->first_reason, "%.300s: %.190s",
                 json_string_value(json_object_get(entry, "what")), reason ? reason : "no reason");
    }
    json_object_set_new(entry, "variant", json_string(t->what->name));
    json_object_set_new(entry, "repeat", repeat_command(t, json_integer_value(json_object_get(entry, "problem"))));
    show_result(t, entry);
    json_array_append(t->results, entry);
}

static void hear(const char *answer, void *user) {
    test_record *t = user;
    json_t *line = json_loads(answer, 0, NULL);
    if (json_is_string(json_object_get(line, "result")) && json_is_string(json_object_get(line, "what"))) {
        take_result(t, line);
    } else if (json_is_integer(json_object_get(line, "starts"))) {
        t->running = json_integer_value(json_object_get(line, "starts"));
        snprintf(t->running_what, sizeof t->running_what, "%s", json_string_value(json_object_get(line, "what")));
    } else if (json_is_true(json_object_get(line, "opened"))) {
        t->opened = true;
    } else if (json_is_string(json_object_get(line, "cannot_open"))) {
        snprintf(t->cannot_open, sizeof t->cannot_open, "%s", json_string_value(json_object_get(line, "cannot_open")));
    }
    json_decref(line);
}

static void take_unrun(test_record *t, int64_t index) {
    char what[160];
    t->what->problems->describe((size_t)index, what, sizeof what);
    json_t *entry = json_pack("{s:I, s:s, s:s, s:s, s:n}", "problem", (json_int_t)index, "what", what, "result", "SKIP",
                              "reason", "not run, since the driver broke down before", "error_of_tolerance");
    take_result(t, entry);
    json_decref(entry);
}

/* The driver broke down in the middle of a problem; those after it were not run. */
static void take_breakdown(test_record *t, const child_result *child) {
    const int64_t broken = t->running, count = (int64_t)t->what->problems->count;
    const char *between = child->said[0] != '\0' ? ", saying " : "";
    json_t *reason = json_sprintf("the driver %s%s%s", child->trouble, between, child->said);
    json_t *entry = json_pack("{s:I, s:s, s:s, s:o, s:n}", "problem", (json_int_t)t->running, "what", t->running_what,
                              "result", "FAIL", "reason", reason, "error_of_tolerance");
    if (entry) {
        take_result(t, entry);
    }
    json_decref(entry);
    for (int64_t i = broken + 1; t->wish->problem < 0 && i < count; i++) {
        take_unrun(t, i);
    }
}

static void say(const test_record *t, const char *format, const char *a, const char *b) {
    if (!t->wish->quiet) {
        show_wrapped("", 6, format, a, b);
    }
}

/* Only a whole test lifts a quarantine. */
static void settle_quarantine(const test_record *t, const char *cache_dir) {
    const device_caps *caps = &t->machine->list.items[t->machine->chosen].caps;
    if (!t->what->has_fallback) {
        return;
    }
    if (t->failed > 0 && !cache_dir) {
        say(t, "%s is not put in quarantine: there is no cache folder%s", t->what->name, "");
    } else if (t->failed > 0) {
        const bool written = quarantine_set(cache_dir, caps, t->what->name, t->first_reason, NULL);
        say(t,
            written ? "%s is put in quarantine: the library takes another variant%s"
                    : "%s cannot be put in quarantine: %s",
            t->what->name, written ? "" : strerror(errno));
    } else if (t->passed > 0 && t->wish->problem < 0) {
        quarantine_set(cache_dir, caps, t->what->name, NULL, NULL);
    }
}

/* False: the device could not even be opened. */
static bool test_subject(test_record *t, const char *cache_dir, failure *f) {
    const device_record *device = &t->machine->list.items[t->machine->chosen];
    child_task task = {device->platform_index, device->device_index, t->what, t->wish->problem};
    child_result child;
    t->running = -1;
    const bool ended = child_run(test_in_child, &task, t->wish->limit_s, hear, t, &child);
    if (!t->opened) {
        fail_with(f, EXIT_RUNTIME, "device %d:%d cannot be tested: %s%s", task.platform_index, task.device_index,
                  ended ? "" : "the driver ", ended ? t->cannot_open : child.trouble);
    } else if (!ended && t->running >= 0) {
        take_breakdown(t, &child);
    }
    child_clear(&child);
    if (t->opened) {
        settle_quarantine(t, cache_dir);
    }
    return t->opened;
}

static bool check_wish(const selftest_wish *wish, const subject *subjects, size_t count, failure *f) {
    char names[512] = "";
    for (size_t i = 0; i < count; i++) {
        if (!wish->variant || strcmp(wish->variant, subjects[i].name) == 0) {
            const size_t problems = subjects[i].problems->count;
            return !wish->variant || wish->problem < (int64_t)problems ||
                   fail_with(f, EXIT_BAD_INPUT, "--problem %lld: %s has problems 0 to %zu", (long long)wish->problem,
                             wish->variant, problems - 1);
        }
        const size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i > 0 ? ", " : "", subjects[i].name);
    }
    return fail_with(f, EXIT_BAD_INPUT, "--variant %s: there is no such variant; known: %s", wish->variant, names);
}

static void add_summary(json_t *document, json_t *results, const size_t totals[3], const char *cache_dir) {
    json_object_set_new(document, "selftest",
                        json_pack("{s:I, s:I, s:I, s:o, s:o}", "passed", (json_int_t)totals[0], "failed",
                                  (json_int_t)totals[1], "skipped", (json_int_t)totals[2], "quarantine_folder",
                                  cache_dir ? text_json(cache_dir) : json_null(), "results", results));
}

exit_code selftest_run(const machine *m, json_t *document, const selftest_wish *wish, const char *cache_dir,
                       failure *f) {
    subject subjects[MOST_SUBJECTS];
    size_t totals[3] = {0, 0, 0};
    json_t *results = json_array();
    const size_t count = list_subjects(subjects);
    bool good = check_wish(wish, subjects, count, f);
    for (size_t i = 0; good && i < count; i++) {
        if (wish->variant && strcmp(wish->variant, subjects[i].name) != 0) {
            continue;
        }
        test_record t = {.machine = m, .wish = wish, .what = &subjects[i], .results = results};
        good = test_subject(&t, cache_dir, f);
        totals[0] += t.passed;
        totals[1] += t.failed;
        totals[2] += t.skipped;
    }
    add_summary(document, results, totals, cache_dir);
    if (!good) {
        return f->code;
    }
    if (!wish->quiet) {
        printf("%zu passed, %zu failed, %zu skipped\n", totals[0], totals[1], totals[2]);
    }
    return totals[1] == 0 ? EXIT_DONE : EXIT_WRONG_RESULT;
}
