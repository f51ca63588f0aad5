#include "class_search.h"

#include <stdlib.h>
#include <string.h>

#include "measure/clock.h"
#include "oclattn-probe/child.h"

/* A class's child is given up this long after its time is over: for a compiler that does not end. */
#define PATIENCE_S 120
enum { MOST_RESTARTS = 8 };

void class_search_init(class_search *s, const tune_class *what, const tuning *start, const bar *b) {
    int ignored[MOST_GROUP_VALUES];
    *s = (class_search){.what = what, .bar = b, .start = *start, .candidates = json_array()};
    s->values = (int)search_values(what->group, start, ignored);
}

void class_search_clear(class_search *s) {
    json_decref(s->candidates);
    json_decref(s->problems);
    json_decref(s->measured_problems);
    free(s->decided);
}

/* ---- what children say ------------------------------------------------------------------------------------------ */

static tuning values_of(const class_search *s, const int numbers[MOST_GROUP_VALUES]) {
    tuning values = s->start;
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

json_t *class_values_json(tuning_group group, const tuning *values) {
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
    search_difference(s->what->group, &s->start, &candidate, words, sizeof words);
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
                          json_pack("{s:o, s:b, s:O?, s:s?}", "values", class_values_json(s->what->group, &candidate),
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

/* Of a class whose values are set once. */
static void hear_measured(class_search *s, const json_t *line, const int numbers[MOST_GROUP_VALUES]) {
    const json_t *gain = json_object_get(line, "gain");
    json_decref(s->measured_problems);
    s->measured_gain = json_real_value(gain);
    s->measured_problems = json_incref(json_object_get(line, "problems"));
    decide(s, numbers, false, gain, json_string_value(json_object_get(line, "skipped")));
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
    } else if (read_numbers(s, json_object_get(line, "measured"), numbers)) {
        s->is_running = false;
        hear_measured(s, line, numbers);
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

/* Whether another one should go on. */
static bool run_child(class_search *s, tune_task *task) {
    child_result child;
    const double left = task->deadline_s - now_s();
    s->again = false;
    task->decided = s->decided;
    task->decided_count = s->decided_count;
    const bool ended = child_run(worker_run, task, (left > 0 ? left : 0) + PATIENCE_S, hear, s, &child);
    const bool again = settle_trouble(s, ended, &child);
    child_clear(&child);
    return again;
}

void class_descend(class_search *s, tune_task *task) {
    bool again = true;
    for (int i = 0; again && s->trouble.text[0] == '\0'; i++) {
        if (i > MOST_RESTARTS) {
            fail_with(&s->trouble, EXIT_RUNTIME, "the driver broke down %d times", i);
            return;
        }
        again = run_child(s, task);
    }
    if (!s->has_ended && s->trouble.text[0] == '\0') {
        fail_with(&s->trouble, EXIT_RUNTIME, "the search ended without a result");
    }
}

/* ---- one candidate a process ------------------------------------------------------------------------------------ */

typedef struct list_result {
    tuning values;
    double gain; /* over the library's own kernel; 0: it is out of the question */
    json_t *problems;
} list_result;

/* Nothing but the values is used of `result`. */
static void measure_alone(class_search *s, tune_task *task, list_result *result) {
    task->start = result->values;
    s->measured_gain = 0;
    run_child(s, task);
    json_decref(result->problems);
    result->gain = s->measured_gain;
    result->problems = json_incref(s->measured_problems);
}

static void take_if_better(list_result *best, list_result *candidate) {
    if (candidate->gain > best->gain) {
        const list_result other = *best;
        *best = *candidate;
        *candidate = other;
    }
}

/* What was reached with the first values, and with the second. */
static json_t *join_problems(const list_result *before, const list_result *after) {
    json_t *joined = json_array();
    for (size_t i = 0; i < json_array_size(after->problems); i++) {
        const json_t *first = json_array_get(before->problems, i), *second = json_array_get(after->problems, i);
        json_array_append_new(joined, json_pack("{s:O, s:O?, s:O}", "problem", json_object_get(second, "problem"),
                                                "before_gflops", json_object_get(first, "after_gflops"), "after_gflops",
                                                json_object_get(second, "after_gflops")));
    }
    return joined;
}

/* Both once more: the best of many is easily the luckiest. */
static void settle_best(class_search *s, tune_task *task, list_result *first, list_result *best, bool stopped) {
    if (best->gain >= NEEDED_GAIN * first->gain) {
        measure_alone(s, task, first);
        measure_alone(s, task, best);
    }
    const bool better = best->gain >= NEEDED_GAIN * first->gain;
    const list_result *taken = better ? best : first;
    s->has_ended = taken->gain > 0;
    s->best = taken->values;
    s->best.clblast.preferred = taken->gain >= NEEDED_GAIN;
    s->gain = better && first->gain > 0 ? best->gain / first->gain : 1;
    s->problems = join_problems(first, taken);
    snprintf(s->end, sizeof s->end, "%s", task->quick ? "quick" : stopped ? "stopped" : "finished");
}

static bool is_same(const class_search *s, const tuning *values) {
    char difference[512];
    search_difference(s->what->group, &s->start, values, difference, sizeof difference);
    return difference[0] == '\0';
}

void class_try_list(class_search *s, tune_task *task) {
    list_result first = {.values = s->start}, best = {.values = s->start};
    bool stopped = false;
    measure_alone(s, task, &first);
    tuning values = s->start;
    for (size_t i = 0; s->trouble.text[0] == '\0' && class_candidate(s->what, i, &values); i++) {
        stopped = i > 0 && (now_s() > task->deadline_s || task->quick);
        if (stopped) {
            break;
        }
        list_result candidate = {.values = values};
        if (!is_same(s, &values)) {
            measure_alone(s, task, &candidate);
        }
        take_if_better(&best, &candidate);
        json_decref(candidate.problems);
    }
    if (s->trouble.text[0] == '\0') {
        settle_best(s, task, &first, &best, stopped);
    }
    if (!s->has_ended && s->trouble.text[0] == '\0') {
        fail_with(&s->trouble, EXIT_RUNTIME, "no candidate can be used");
    }
    json_decref(first.problems);
    json_decref(best.problems);
}
