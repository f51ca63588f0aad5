#define _XOPEN_SOURCE 700 /* nftw */
#include "latency.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/clock.h"
#include "prepared.h"

enum { ENQUEUES = 200, ENQUEUES_AT_ONCE = 10 };

static int compare_numbers(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static tries sum_up(double *seconds, size_t count) {
    qsort(seconds, count, sizeof *seconds, compare_numbers);
    return (tries){seconds[0], (seconds[(count - 1) / 2] + seconds[count / 2]) / 2};
}

/* ---- processes -------------------------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status;
    (void)kind;
    (void)walk;
    remove(path);
    return 0;
}

static bool make_folder(char *path, size_t size, failure *f) {
    const char *parent = getenv("TMPDIR");
    snprintf(path, size, "%s/oclattn-bench-XXXXXX", parent && parent[0] != '\0' ? parent : "/tmp");
    return mkdtemp(path) ? true : fail_with(f, EXIT_RUNTIME, "cannot make a folder %s: %s", path, strerror(errno));
}

/* A process in a folder that holds nothing, then one that finds what it left. */
static bool start_twice(const char *program, const char *spec, first_result_times *cold, first_result_times *warm,
                        failure *f) {
    char folder[4096];
    if (!make_folder(folder, sizeof folder, f)) {
        return false;
    }
    const bool good =
        first_result_spawn(program, spec, folder, cold, f) && first_result_spawn(program, spec, folder, warm, f);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return good;
}

static start_latency sum_up_starts(const first_result_times *times, size_t count) {
    double whole[MOST_LATENCY_TRIES], context[MOST_LATENCY_TRIES], plan[MOST_LATENCY_TRIES];
    for (size_t i = 0; i < count; i++) {
        whole[i] = times[i].whole_s;
        context[i] = times[i].context_s;
        plan[i] = times[i].plan_s;
    }
    return (start_latency){sum_up(whole, count), sum_up(context, count), sum_up(plan, count)};
}

static bool measure_starts(const char *program, const char *spec, size_t count, latency *l, failure *f) {
    first_result_times cold[MOST_LATENCY_TRIES], warm[MOST_LATENCY_TRIES];
    for (size_t i = 0; i < count; i++) {
        if (!start_twice(program, spec, &cold[i], &warm[i], f)) {
            return false;
        }
    }
    l->cold = sum_up_starts(cold, count);
    l->warm = sum_up_starts(warm, count);
    return true;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static bool time_enqueues(prepared *r, double *seconds, failure *f) {
    for (int i = 0; i < ENQUEUES; i++) {
        cl_event event = NULL;
        const double start = now_s();
        if (!prepared_run(r, r->device->queue, &event, f)) {
            return false;
        }
        seconds[i] = now_s() - start;
        clReleaseEvent(event);
        if (i % ENQUEUES_AT_ONCE == ENQUEUES_AT_ONCE - 1 && !device_finish(r->device, f)) {
            return false;
        }
    }
    return true;
}

/* The first one brings the compiled kernels into the context. */
static bool measure_plans(const bench_device *device, const bench_problem *problem, size_t count, latency *l,
                          failure *f) {
    double seconds[1 + MOST_LATENCY_TRIES];
    for (size_t i = 0; i <= count; i++) {
        prepared r;
        const bool good = prepare(&r, problem, device, f);
        seconds[i] = r.plan_s;
        prepared_release(&r);
        if (!good) {
            return false;
        }
    }
    l->plan_again = sum_up(seconds + 1, count);
    return true;
}

static bool measure_enqueues(const bench_device *device, const bench_problem *problem, latency *l, failure *f) {
    double seconds[ENQUEUES];
    prepared r;
    const bool good = prepare(&r, problem, device, f) && time_enqueues(&r, seconds, f);
    prepared_release(&r);
    if (good) {
        l->enqueue = sum_up(seconds, ENQUEUES);
    }
    return good;
}

bool latency_measure(const char *program, const bench_device *device, size_t count, latency *l, failure *f) {
    char spec[32];
    const bench_problem problem = first_result_problem();
    snprintf(spec, sizeof spec, "%d:%d", (int)device->info.platform_index, (int)device->info.device_index);
    return measure_starts(program, spec, count, l, f) && measure_plans(device, &problem, count, l, f) &&
           measure_enqueues(device, &problem, l, f);
}

/* ---- the report ------------------------------------------------------------------------------------------------- */

static void print_starts(const char *what, const tries *cold, const tries *warm) {
    printf("  %-42s %10.4g %10.4g %10.4g %10.4g ms\n", what, cold->least * 1e3, cold->median * 1e3, warm->least * 1e3,
           warm->median * 1e3);
}

void latency_print(const latency *l) {
    char title[TITLE_SIZE];
    const bench_problem problem = first_result_problem();
    printf("\nlatency of F(H), %s (%s), f32\n", problem_title(&problem, title), group_legend(problem.group));
    printf("  %-42s %10s %10s %10s %10s\n", "", "cold: min", "median", "warm: min", "median");
    print_starts("from process start to the first result", &l->cold.whole, &l->warm.whole);
    print_starts("  of that, choosing a device", &l->cold.context, &l->warm.context);
    print_starts("  of that, planning", &l->cold.plan, &l->warm.plan);
    printf("  %-42s %32.4g %10.4g ms\n", "planning again, with the same context", l->plan_again.least * 1e3,
           l->plan_again.median * 1e3);
    printf("  %-42s %32.4g %10.4g us\n", "an enqueue, on the host", l->enqueue.least * 1e6, l->enqueue.median * 1e6);
    printf("  Cold: no compiled kernels on disk, neither the library's nor those of drivers that can be told.\n");
}

static void add_tries(json_t *json, const char *name, const tries *t, double scale, const char *unit) {
    char key[96];
    snprintf(key, sizeof key, "%s_min_%s", name, unit);
    json_object_set_new(json, key, json_real(t->least * scale));
    snprintf(key, sizeof key, "%s_median_%s", name, unit);
    json_object_set_new(json, key, json_real(t->median * scale));
}

json_t *latency_json(const latency *l, const bench_device *device) {
    const bench_problem problem = first_result_problem();
    json_t *json = problem_json(&problem);
    json_object_set_new(json, "device", device_spec_json(device));
    add_tries(json, "cold_first_result", &l->cold.whole, 1e3, "ms");
    add_tries(json, "cold_context", &l->cold.context, 1e3, "ms");
    add_tries(json, "cold_plan", &l->cold.plan, 1e3, "ms");
    add_tries(json, "warm_first_result", &l->warm.whole, 1e3, "ms");
    add_tries(json, "warm_context", &l->warm.context, 1e3, "ms");
    add_tries(json, "warm_plan", &l->warm.plan, 1e3, "ms");
    add_tries(json, "plan_again", &l->plan_again, 1e3, "ms");
    add_tries(json, "enqueue", &l->enqueue, 1e6, "us");
    return json;
}
