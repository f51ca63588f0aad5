#include "tune.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bar.h"
#include "measure/clock.h"
#include "oclattn-probe/child.h"
#include "worker.h"

/* A class's child is given up this long after its time is over: for a compiler that does not end. */
#define PATIENCE_S 120
enum { MOST_RESTARTS = 8, PATH_SIZE = 512 };

/* ---- candidates' file ------------------------------------------------------------------------------------------- */

static char folder[PATH_SIZE], candidate_file[PATH_SIZE + 16];

static void remove_candidate_file(void) {
    unlink(candidate_file);
    rmdir(folder);
}

static void stop_on_signal(int number) {
    remove_candidate_file();
    _exit(128 + number);
}

static bool make_candidate_file(failure *f) {
    const char *root = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/oclattn-tune-XXXXXX", root && root[0] != '\0' ? root : "/tmp");
    if (!mkdtemp(folder)) {
        return fail_with(f, EXIT_RUNTIME, "cannot make a temporary folder %s: %s", folder, strerror(errno));
    }
    snprintf(candidate_file, sizeof candidate_file, "%s/tuning", folder);
    signal(SIGINT, stop_on_signal);
    signal(SIGTERM, stop_on_signal);
    return true;
}

/* ---- one class -------------------------------------------------------------------------------------------------- */

/* What is known of a class's search. */
typedef struct class_search {
    const tune_class *what;
    const bar *bar;
    tuning row; /* what values that are not of the group are taken from */
    int values; /* of the group */
    tune_decision *decided;
    size_t decided_count, decided_capacity, skipped;
    bool is_running; /* a candidate that has not been decided */
    int running[MOST_GROUP_VALUES];
    json_t *candidates;
    /* The end. */
    bool has_ended, again;
    tuning best;
    double gain;
    char end[16];
    json_t *problems;
    failure trouble;
} class_search;

static tuning values_of(const class_search *s, const int numbers[MOST_GROUP_VALUES]) {
    tuning values = s->row;
    int next = 0;
    for (size_t i = 0; i < tuning_parameter_count; i++) {
        if (tuning_parameters[i].group == s->what->group) {
            tuning_set_value(&values, &tuning_parameters[i], numbers[next++]);
        }
    }
    return values;
}

static bool read_numbers(const class_search *s, const json_t *list, int numbers[MOST_GROUP_VALUES]) {
    memset(numbers, 0, MOST_GROUP_VALUES * sizeof *numbers);
    if (json_array_size(list) != (size_t)s->values) {
        return false;
    }
    for (int i = 0; i < s->values; i++) {
        numbers[i] = (int)json_integer_value(json_array_get(list, (size_t)i));
    }
    return true;
}

static json_t *named_values(tuning_group group, const tuning *values) {
    json_t *named = json_object();
    for (size_t i = 0; i < tuning_parameter_count; i++) {
        if (tuning_parameters[i].group == group) {
            json_object_set_new(named, tuning_parameters[i].name,
                                json_integer(tuning_value(values, &tuning_parameters[i])));
        }
    }
    return named;
}

static void tell_skipped(class_search *s, const int numbers[MOST_GROUP_VALUES], const char *why) {
    char words[512];
    const tuning candidate = values_of(s, numbers);
    search_difference(s->what->group, &s->row, &candidate, words, sizeof words);
    s->skipped++;
    bar_hide(s->bar);
    fprintf(stderr, "oclattn-tune: %s: %s is skipped: %s\n", class_name(s->what), words, why);
}

static void decide(class_search *s, const int numbers[MOST_GROUP_VALUES], bool better, const json_t *gain,
                   const char *why) {
    const tuning candidate = values_of(s, numbers);
    if (s->decided_count == s->decided_capacity) {
        const size_t capacity = 2 * s->decided_capacity + 64;
        tune_decision *decided = realloc(s->decided, capacity * sizeof *decided);
        if (!decided) {
            fail_memory(&s->trouble, "the search");
            return;
        }
        s->decided = decided;
        s->decided_capacity = capacity;
    }
    tune_decision *made = &s->decided[s->decided_count++];
    memcpy(made->values, numbers, sizeof made->values);
    made->better = better;
    json_array_append_new(s->candidates,
                          json_pack("{s:o, s:b, s:O?, s:s?}", "values", named_values(s->what->group, &candidate),
                                    "better", better, "gain", gain, "skipped", why));
    if (why) {
        tell_skipped(s, numbers, why);
    }
}

static void hear_end(class_search *s, const json_t *line) {
    int numbers[MOST_GROUP_VALUES];
    if (!read_numbers(s, json_object_get(line, "best"), numbers)) {
        return;
    }
    s->has_ended = true;
    s->best = values_of(s, numbers);
    s->gain = json_real_value(json_object_get(line, "gain"));
    s->problems = json_incref(json_object_get(line, "problems"));
    snprintf(s->end, sizeof s->end, "%.15s", json_string_value(json_object_get(line, "end")));
}

static void hear(const char *heard, void *user) {
    class_search *s = user;
    json_t *line = json_loads(heard, 0, NULL);
    const json_t *decided = json_object_get(line, "decided");
    int numbers[MOST_GROUP_VALUES];
    if (read_numbers(s, json_object_get(line, "starts"), s->running)) {
        char words[96];
        s->is_running = true;
        snprintf(words, sizeof words, "%s, candidate %zu", class_name(s->what), s->decided_count + 1);
        bar_show(s->bar, words);
    } else if (read_numbers(s, decided, numbers)) {
        s->is_running = false;
        decide(s, numbers, json_is_true(json_object_get(line, "better")), json_object_get(line, "gain"),
               json_string_value(json_object_get(line, "skipped")));
    } else if (json_is_string(json_object_get(line, "end"))) {
        hear_end(s, line);
    } else if (json_is_true(json_object_get(line, "again"))) {
        s->again = true;
    } else if (json_is_string(json_object_get(line, "cannot"))) {
        fail_with(&s->trouble, (exit_code)json_integer_value(json_object_get(line, "code")), "%s",
                  json_string_value(json_object_get(line, "cannot")));
    }
    json_decref(line);
}

/* Whether another child should go on. */
static bool settle_trouble(class_search *s, bool ended, const child_result *child) {
    if (ended) {
        return s->again;
    }
    if (!s->is_running) {
        return fail_with(&s->trouble, EXIT_RUNTIME, "the driver %s%s%s", child->trouble,
                         child->said[0] != '\0' ? ", saying " : "", child->said);
    }
    char why[160];
    snprintf(why, sizeof why, "the driver %s", child->trouble);
    s->is_running = false;
    decide(s, s->running, false, NULL, why);
    return true;
}

static void run_children(class_search *s, tune_task *task) {
    bool again = true;
    for (int i = 0; again && s->trouble.text[0] == '\0'; i++) {
        child_result child;
        if (i > MOST_RESTARTS) {
            fail_with(&s->trouble, EXIT_RUNTIME, "the driver broke down %d times", i);
            return;
        }
        s->again = false;
        task->decided = s->decided;
        task->decided_count = s->decided_count;
        const double left = task->deadline_s - now_s();
        const bool ended = child_run(worker_run, task, (left > 0 ? left : 0) + PATIENCE_S, hear, s, &child);
        again = settle_trouble(s, ended, &child);
        child_clear(&child);
    }
    if (!s->has_ended && s->trouble.text[0] == '\0') {
        fail_with(&s->trouble, EXIT_RUNTIME, "the search ended without a result");
    }
}

/* ---- what comes of it ------------------------------------------------------------------------------------------- */

static void sum_up(const class_search *s, char *words, size_t size) {
    size_t index, length = 0;
    const json_t *problem;
    words[0] = '\0';
    json_array_foreach(s->problems, index, problem) {
        if (length < size) {
            length += (size_t)snprintf(words + length, size - length, "%s%s: %.1f -> %.1f GFLOP/s",
                                       index > 0 ? "; " : "", json_string_value(json_object_get(problem, "problem")),
                                       json_real_value(json_object_get(problem, "before_gflops")),
                                       json_real_value(json_object_get(problem, "after_gflops")));
        }
    }
}

static bool store(const tune_machine *m, const class_search *s, failure *f) {
    tuning_record record = {.found = true, .values = s->best};
    sum_up(s, record.measured, sizeof record.measured);
    memcpy(record.search, s->end, sizeof record.search);
    return tuning_file_store(&m->played, m->file.data, s->what->group, &record)
               ? true
               : fail_with(f, EXIT_RUNTIME, "cannot write %s: %s", m->file.data, strerror(errno));
}

static void show(const class_search *s, const tuning *start) {
    char words[512], measured[512];
    search_difference(s->what->group, start, &s->best, words, sizeof words);
    sum_up(s, measured, sizeof measured);
    if (words[0] != '\0') {
        printf("%s: %.0f %% faster with %s (%zu candidates, %s)\n", class_name(s->what), 100 * (s->gain - 1), words,
               s->decided_count, s->end);
    } else {
        printf("%s: nothing is %.0f %% faster among %zu candidates (%s)\n", class_name(s->what),
               100 * (NEEDED_GAIN - 1), s->decided_count, s->end);
    }
    printf("    %s\n", measured);
    fflush(stdout);
}

static json_t *result_json(const class_search *s) {
    return json_pack("{s:s, s:s, s:o, s:f, s:I, s:O, s:O}", "class", class_name(s->what), "search", s->end, "values",
                     named_values(s->what->group, &s->best), "gain", s->gain, "skipped", (json_int_t)s->skipped,
                     "problems", s->problems, "candidates", s->candidates);
}

static exit_code finish_class(const tune_machine *m, const tune_wish *wish, const class_search *s, const tuning *start,
                              json_t *results, failure *f) {
    bar_hide(s->bar);
    if (!s->has_ended) {
        return fail_with(f, s->trouble.code, "%s: %s", class_name(s->what), s->trouble.text), f->code;
    }
    if (!store(m, s, f)) {
        return f->code;
    }
    if (!wish->json) {
        show(s, start);
    }
    json_array_append_new(results, result_json(s));
    return EXIT_DONE;
}

static exit_code tune_class_for(const tune_machine *m, const tune_wish *wish, const tune_class *what,
                                const tuning *start, const bar *b, double deadline_s, json_t *results, failure *f) {
    int ignored[MOST_GROUP_VALUES];
    class_search s = {.what = what, .bar = b, .row = *start, .candidates = json_array()};
    tune_task task = {.what = what,
                      .platform_index = m->played.platform_index,
                      .device_index = m->played.device_index,
                      .candidate_file = candidate_file,
                      .start = *start,
                      .quick = wish->quick,
                      .deadline_s = deadline_s};
    s.values = (int)search_values(what->group, start, ignored);
    bar_show(b, class_name(what));
    run_children(&s, &task);
    const exit_code code = finish_class(m, wish, &s, start, results, f);
    json_decref(s.candidates);
    json_decref(s.problems);
    free(s.decided);
    return code;
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

bool class_is_wanted(const tune_class *c, const tune_machine *m, const tune_wish *wish) {
    return wish->class_name ? strcmp(wish->class_name, class_name(c)) == 0 : (c->types & m->played.caps.type) != 0;
}

/* A quick search is good enough for the next quick one. */
static bool is_done(const tuning_record *record, const tune_wish *wish) {
    return record->found && !wish->restart &&
           (strcmp(record->search, "finished") == 0 || (wish->quick && strcmp(record->search, "quick") == 0));
}

static void tell_done(const tune_class *c, const tuning_record *record, const tune_wish *wish, json_t *results) {
    if (!wish->json) {
        printf("%s: measured before (--restart measures again)\n    %s\n", class_name(c), record->measured);
        fflush(stdout);
    }
    json_array_append_new(results, json_pack("{s:s, s:s, s:o}", "class", class_name(c), "search", "measured before",
                                             "values", named_values(c->group, &record->values)));
}

static int count_to_do(const tune_machine *m, const tune_wish *wish, const tuning_record *records) {
    int count = 0;
    for (size_t i = 0; i < tune_class_count; i++) {
        const tune_class *c = &tune_classes[i];
        count += class_is_wanted(c, m, wish) && !is_done(&records[c->group], wish);
    }
    return count;
}

/* A class that fails does not keep the others from being measured; the first failure is reported. */
static exit_code tune_classes_of(const tune_machine *m, const tune_wish *wish, const tuning_record *records,
                                 json_t *results, failure *f) {
    const bar b = bar_start(wish->budget_s);
    int left = count_to_do(m, wish, records);
    exit_code code = EXIT_DONE;
    for (size_t i = 0; i < tune_class_count; i++) {
        const tune_class *c = &tune_classes[i];
        failure own = {.code = EXIT_DONE};
        if (!class_is_wanted(c, m, wish)) {
            continue;
        }
        if (is_done(&records[c->group], wish)) {
            tell_done(c, &records[c->group], wish, results);
            continue;
        }
        const double now = now_s(), end = b.start_s + wish->budget_s;
        const double deadline = now + (end > now ? (end - now) / left : 0);
        left--;
        const tuning start =
            records[c->group].found && !wish->restart ? records[c->group].values : tuning_find(&m->played.caps);
        if (tune_class_for(m, wish, c, &start, &b, deadline, results, &own) != EXIT_DONE) {
            fprintf(stderr, "oclattn-tune: %s\n", own.text);
            code = code == EXIT_DONE ? own.code : code;
        }
    }
    if (code != EXIT_DONE) {
        fail_with(f, code, "not all classes could be measured");
    }
    return code;
}

exit_code tune_all(const tune_machine *m, const tune_wish *wish, json_t *document, failure *f) {
    tuning_record records[TUNING_GROUPS];
    json_t *results = json_array();
    if (m->file.length == 0) {
        json_decref(results);
        fail_with(f, EXIT_BAD_INPUT,
                  "there is no file to write: name one with --out, since neither OCLATTN_TUNING nor "
                  "OCLATTN_CACHE_DIR does");
        return f->code;
    }
    json_object_set_new(document, "results", results);
    if (!tuning_file_may_be_stored(m->file.data)) {
        fail_with(f, EXIT_RUNTIME, "cannot write %s: %s", m->file.data, strerror(errno));
        return f->code;
    }
    tuning_file_load(&m->played, m->file.data, records);
    if (!make_candidate_file(f)) {
        return f->code;
    }
    const exit_code code = tune_classes_of(m, wish, records, results, f);
    remove_candidate_file();
    return code;
}
