#include "tune.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "class_search.h"
#include "measure/clock.h"
#include "program/file.h"

enum { PATH_SIZE = 512, MOST_FILE_BYTES = 1 << 20 };

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

/* Candidates run with what was found for the other classes so far. */
static bool begin_candidate_file(const tune_machine *m, failure *f) {
    text found = {0};
    const bool has_found = file_load(m->file.data, MOST_FILE_BYTES, &found);
    const bool done = has_found ? file_replace(candidate_file, &found) : unlink(candidate_file) == 0 || errno == ENOENT;
    text_clear(&found);
    return done ? true : fail_with(f, EXIT_RUNTIME, "cannot write %s: %s", candidate_file, strerror(errno));
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
        printf("%s: %.0f %% faster with %s (%zu candidate%s, %s)\n", class_name(s->what), 100 * (s->gain - 1), words,
               s->decided_count, s->decided_count == 1 ? "" : "s", s->end);
    } else {
        printf("%s: nothing is %.0f %% faster among %zu candidate%s (%s)\n", class_name(s->what),
               100 * (NEEDED_GAIN - 1), s->decided_count, s->decided_count == 1 ? "" : "s", s->end);
    }
    printf("    %s\n", measured);
    fflush(stdout);
}

static json_t *result_json(const class_search *s) {
    return json_pack("{s:s, s:s, s:o, s:f, s:I, s:O, s:O}", "class", class_name(s->what), "search", s->end, "values",
                     class_values_json(s->what->group, &s->best), "gain", s->gain, "skipped", (json_int_t)s->skipped,
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
    class_search s;
    if (!begin_candidate_file(m, f)) {
        return f->code;
    }
    tune_task task = {.what = what,
                      .platform_index = m->played.platform_index,
                      .device_index = m->played.device_index,
                      .candidate_file = candidate_file,
                      .start = *start,
                      .quick = wish->quick,
                      .deadline_s = deadline_s};
    class_search_init(&s, what, start, b);
    bar_show(b, class_name(what));
    if (what->alone) {
        class_try_list(&s, &task);
    } else {
        class_descend(&s, &task);
    }
    const exit_code code = finish_class(m, wish, &s, start, results, f);
    class_search_clear(&s);
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
                                             "values", class_values_json(c->group, &record->values)));
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
