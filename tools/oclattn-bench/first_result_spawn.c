#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "first_result.h"
#include "measure/clock.h"

extern char **environ;

/* What names the folder of compiled kernels: ours, PoCL's, CUDA's, Mesa's, Intel's for GPUs, and where others look. */
static const char *const cache_variables[] = {"OCLATTN_CACHE_DIR",     "POCL_CACHE_DIR", "CUDA_CACHE_PATH",
                                              "MESA_SHADER_CACHE_DIR", "NEO_CACHE_DIR",  "XDG_CACHE_HOME"};
enum { CACHE_VARIABLES = sizeof cache_variables / sizeof cache_variables[0] };

static bool is_cache_variable(const char *entry) {
    for (int i = 0; i < CACHE_VARIABLES; i++) {
        const size_t length = strlen(cache_variables[i]);
        if (strncmp(entry, cache_variables[i], length) == 0 && entry[length] == '=') {
            return true;
        }
    }
    return false;
}

typedef struct environment {
    char **entries; /* ends with NULL; the first `own` are allocated */
    size_t own;
} environment;

static void environment_free(environment *e) {
    for (size_t i = 0; i < e->own; i++) {
        free(e->entries[i]);
    }
    free(e->entries);
}

static bool environment_make(const char *folder, environment *e, failure *f) {
    size_t count = 0, used = CACHE_VARIABLES;
    while (environ[count]) {
        count++;
    }
    *e = (environment){calloc(count + CACHE_VARIABLES + 1, sizeof *e->entries), CACHE_VARIABLES};
    if (!e->entries) {
        e->own = 0;
        return fail_memory(f, "an environment");
    }
    for (size_t i = 0; i < CACHE_VARIABLES; i++) {
        const size_t size = strlen(cache_variables[i]) + strlen(folder) + 2;
        e->entries[i] = malloc(size);
        if (!e->entries[i]) {
            return fail_memory(f, "an environment");
        }
        snprintf(e->entries[i], size, "%s=%s", cache_variables[i], folder);
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_cache_variable(environ[i])) {
            e->entries[used++] = environ[i];
        }
    }
    return true;
}

/* The child's stdout is the pipe. */
static bool start(const char *program, const char *spec, char **variables, int pipe_ends[2], pid_t *pid, failure *f) {
    char *const words[] = {(char *)program, FIRST_RESULT_COMMAND, spec ? "--device" : NULL, (char *)spec, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[1]);
    const int code = posix_spawn(pid, program, &actions, NULL, words, variables);
    posix_spawn_file_actions_destroy(&actions);
    return code == 0 ? true : fail_with(f, EXIT_RUNTIME, "cannot start %s: %s", program, strerror(code));
}

static bool read_answer(int from, double start_s, first_result_times *times) {
    char text[512] = "";
    size_t used = 0;
    ssize_t got = 0;
    while (used + 1 < sizeof text && !strchr(text, '\n')) {
        got = read(from, text + used, sizeof text - 1 - used);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            break;
        }
        used += got > 0 ? (size_t)got : 0;
        text[used] = '\0';
    }
    times->whole_s = now_s() - start_s;
    json_t *answer = json_loads(text, 0, NULL);
    times->context_s = json_number_value(json_object_get(answer, "context_ms")) / 1e3;
    times->plan_s = json_number_value(json_object_get(answer, "plan_ms")) / 1e3;
    json_decref(answer);
    return times->plan_s > 0;
}

static bool wait_for(pid_t pid, bool answered, failure *f) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (answered) {
        return true;
    }
    return WIFSIGNALED(status) ? fail_with(f, EXIT_RUNTIME, "the process ended with signal %d", WTERMSIG(status))
                               : fail_with(f, (exit_code)WEXITSTATUS(status), "there was no first result");
}

bool first_result_spawn(const char *program, const char *spec, const char *folder, first_result_times *times,
                        failure *f) {
    environment e;
    int ends[2];
    pid_t pid = -1;
    if (!environment_make(folder, &e, f)) {
        environment_free(&e);
        return false;
    }
    if (pipe(ends) != 0) {
        environment_free(&e);
        return fail_with(f, EXIT_RUNTIME, "cannot make a pipe: %s", strerror(errno));
    }
    const double start_s = now_s();
    const bool started = start(program, spec, e.entries, ends, &pid, f);
    close(ends[1]);
    const bool answered = started && read_answer(ends[0], start_s, times);
    close(ends[0]);
    environment_free(&e);
    return started && wait_for(pid, answered, f);
}
