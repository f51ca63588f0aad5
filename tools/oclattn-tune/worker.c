#include "worker.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "contest.h"
#include "measure/clock.h"
#include "program/context.h"

enum { MOST_QUICK_CANDIDATES = 3 };

typedef struct worker {
    const tune_task *task;
    FILE *to;
    contest contest;
    tuning best; /* by what was decided; the contest's champion once that is open */
    int asked;
    bool ran_out, broken;
    failure trouble;
} worker;

static void say(const worker *w, json_t *line) {
    json_dumpf(line, w->to, JSON_COMPACT);
    fputc('\n', w->to);
    fflush(w->to);
    json_decref(line);
}

static json_t *values_json(const worker *w, const tuning *values) {
    int numbers[MOST_GROUP_VALUES];
    const size_t count = search_values(w->task->what->group, values, numbers);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_integer(numbers[i]));
    }
    return list;
}

static void say_failure(const worker *w, const failure *f) {
    const exit_code code = f->code == EXIT_WRONG_RESULT ? EXIT_WRONG_RESULT : EXIT_RUNTIME;
    json_t *why = json_string(f->text);
    say(w, json_pack("{s:o, s:i}", "cannot", why ? why : json_string("?"), "code", (int)code));
}

static void say_decision(const worker *w, const tuning *candidate, const contest_result *result) {
    const char *reason = result->reason.text;
    json_t *why = reason[0] != '\0' ? json_string(reason) : json_null();
    say(w,
        json_pack("{s:o, s:b, s:o, s:o}", "decided", values_json(w, candidate), "better", result->better, "gain",
                  result->gain > 0 ? json_real(result->gain) : json_null(), "skipped", why ? why : json_string("?")));
}

static const tune_decision *find_decision(const worker *w, const tuning *candidate) {
    int numbers[MOST_GROUP_VALUES];
    const size_t count = search_values(w->task->what->group, candidate, numbers);
    for (size_t i = 0; i < w->task->decided_count; i++) {
        if (memcmp(w->task->decided[i].values, numbers, count * sizeof *numbers) == 0) {
            return &w->task->decided[i];
        }
    }
    return NULL;
}

static bool open_contest(worker *w) {
    return w->contest.is_open || contest_open(&w->contest, w->task, &w->best, w->task->what->variant, &w->trouble);
}

static search_answer judge(worker *w, const tuning *candidate) {
    contest_result result;
    if (!open_contest(w)) {
        return SEARCH_STOP;
    }
    say(w, json_pack("{s:o}", "starts", values_json(w, candidate)));
    if (!contest_judge(&w->contest, candidate, &result, &w->trouble)) {
        return SEARCH_STOP;
    }
    say_decision(w, candidate, &result);
    w->broken = result.broken;
    return result.broken ? SEARCH_STOP : result.better ? SEARCH_BETTER : SEARCH_NO_BETTER;
}

static bool is_out_of_time(const worker *w) {
    return w->asked > 0 && (now_s() > w->task->deadline_s || (w->task->quick && w->asked >= MOST_QUICK_CANDIDATES));
}

static search_answer ask(const tuning *candidate, void *user) {
    worker *w = user;
    const tune_decision *known = find_decision(w, candidate);
    if (is_out_of_time(w)) {
        w->ran_out = true;
        return SEARCH_STOP;
    }
    w->asked++;
    const search_answer answer = known ? (known->better ? SEARCH_BETTER : SEARCH_NO_BETTER) : judge(w, candidate);
    if (answer == SEARCH_BETTER) {
        w->best = *candidate;
    }
    return answer;
}

static json_t *rate_json(const tune_problem *problem, double seconds) {
    return json_real(problem_operations(problem) / seconds / 1e9);
}

/* gains: the champion is taken. */
static json_t *times_json(const worker *w, double least_s[][2], bool gains) {
    json_t *list = json_array();
    for (int i = 0; i < CONTEST_PROBLEMS; i++) {
        const tune_problem *problem = &w->contest.works[i].problem;
        char words[128];
        if (least_s[i][0] > 0) {
            problem_describe(problem, words, sizeof words);
            json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "problem", words, "before_gflops",
                                                  rate_json(problem, least_s[i][0]), "after_gflops",
                                                  rate_json(problem, least_s[i][gains ? 1 : 0])));
        }
    }
    return list;
}

/* What looked better step by step is not always better in all: then nothing changes. */
static void end(worker *w, search_end how) {
    contest_times times = {.gain = 0};
    if (!open_contest(w) || !contest_compare(&w->contest, &w->task->start, &times, &w->trouble)) {
        say_failure(w, &w->trouble);
        return;
    }
    char difference[512];
    search_difference(w->task->what->group, &w->task->start, &w->best, difference, sizeof difference);
    const bool gains = difference[0] != '\0' && times.gain >= NEEDED_GAIN;
    const char *word = w->task->quick ? "quick" : how == SEARCH_FINISHED ? "finished" : "stopped";
    say(w, json_pack("{s:s, s:o, s:f, s:o}", "end", word, "best", values_json(w, gains ? &w->best : &w->task->start),
                     "gain", gains ? times.gain : 1.0, "problems", times_json(w, times.least_s, gains)));
}

static void search_class(worker *w) {
    const int lanes = tuning_lanes(&w->contest.device.context->caps);
    tuning best = w->task->start;
    const search_end how = search_descend(w->task->what->group, lanes, &best, ask, w);
    if (w->broken) {
        say(w, json_pack("{s:b}", "again", 1));
    } else if (w->trouble.text[0] != '\0') {
        say_failure(w, &w->trouble);
    } else if (how == SEARCH_NO_MEMORY) {
        fail_memory(&w->trouble, "the search");
        say_failure(w, &w->trouble);
    } else {
        end(w, how);
    }
}

/* Against the library's own kernel, which is the same in all processes. */
static void measure_alone(worker *w) {
    const bool is_cpu = (w->contest.device.context->caps.type & CL_DEVICE_TYPE_CPU) != 0;
    const char *yardstick = is_cpu ? "projection_tiled_cpu" : "projection_portable";
    double least_s[CONTEST_PROBLEMS][2] = {{0}}, gain = 0;
    failure reason = {.code = EXIT_DONE};
    if (!contest_open(&w->contest, w->task, &w->task->start, yardstick, &w->trouble)) {
        say_failure(w, &w->trouble);
        return;
    }
    say(w, json_pack("{s:o}", "starts", values_json(w, &w->task->start)));
    const bool good = contest_measure(&w->contest, &w->task->start, least_s, &gain, &reason);
    json_t *why = good ? json_null() : json_string(reason.text);
    say(w, json_pack("{s:o, s:o, s:o, s:o}", "measured", values_json(w, &w->task->start), "gain",
                     good ? json_real(gain) : json_null(), "skipped", why ? why : json_string("?"), "problems",
                     times_json(w, least_s, true)));
}

/* No cache: nobody will want all the candidates' kernels again. Those of a quick search are few. */
static bool open_device(worker *w) {
    char spec[32];
    oclattn_context_options options;
    oclattn_error error = {0};
    cl_int code = CL_SUCCESS;
    oclattn_context_options_init(&options);
    snprintf(spec, sizeof spec, "%d:%d", w->task->platform_index, w->task->device_index);
    options.device = spec;
    options.cache_dir = w->task->quick ? NULL : "";
    if (oclattn_context_create(&options, &w->contest.device.context, &error) != OCLATTN_OK) {
        return fail_with(&w->trouble, EXIT_RUNTIME, "%s", error.message);
    }
    oclattn_context *context = w->contest.device.context;
    w->contest.device.queue =
        clCreateCommandQueue(oclattn_context_cl(context), oclattn_context_device(context), 0, &code);
    return w->contest.device.queue
               ? true
               : fail_with(&w->trouble, EXIT_RUNTIME, "cannot make a command queue (OpenCL error %d)", (int)code);
}

void worker_run(FILE *to, void *task) {
    worker w = {.task = task, .to = to, .best = ((const tune_task *)task)->start};
    setenv("OCLATTN_TUNING", w.task->candidate_file, 1);
    if (open_device(&w)) {
        if (w.task->what->alone) {
            measure_alone(&w);
        } else {
            search_class(&w);
        }
    } else {
        say_failure(&w, &w.trouble);
    }
    contest_close(&w.contest);
    if (w.contest.device.queue) {
        clReleaseCommandQueue(w.contest.device.queue);
    }
    oclattn_context_destroy(w.contest.device.context);
}
