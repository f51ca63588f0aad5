/* Loads the library by dlopen, as plugins are, and lives through what processes do: run by test_process.
 *     process_loader LIBRARY MODE
 * Exit code 0: everything was as it should be. */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <oclattn/oclattn.h>

#define CHILD_SECONDS 5

#define FUNCTIONS(each)                 \
    each(oclattn_context_create)        \
    each(oclattn_context_destroy)       \
    each(oclattn_devices_list)          \
    each(oclattn_attention_desc_init)   \
    each(oclattn_attention_host_args_init) \
    each(oclattn_attention_host)        \
    each(oclattn_attention_plan)        \
    each(oclattn_plan_destroy)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
} lib;

static void *handle;
static oclattn_context *context; /* static: what is not destroyed is still no leak */
static oclattn_error last_error;

static bool load(const char *path) {
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
#define LOOK_UP(name) *(void **)&lib.name = dlsym(handle, #name);
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
#define IS_THERE(name) && lib.name
    return true FUNCTIONS(IS_THERE);
#undef IS_THERE
}

static bool complain(const char *what) {
    fprintf(stderr, "%s: %s\n", what, last_error.message);
    return false;
}

static oclattn_status attend(float *out) {
    oclattn_attention_desc desc;
    lib.oclattn_attention_desc_init(&desc);
    desc.batch = desc.q_heads = desc.kv_heads = desc.q_len = 1;
    desc.kv_len = 2;
    desc.head_dim = desc.v_dim = 1;
    const float q = 0, k[2] = {1, 2}, v[2] = {1, 3};
    oclattn_attention_host_args args;
    lib.oclattn_attention_host_args_init(&args);
    args.q = &q;
    args.k = k;
    args.v = v;
    args.o = out;
    return lib.oclattn_attention_host(context, &desc, &args, &last_error);
}

static bool attend_rightly(void) {
    float out = -1;
    if (attend(&out) != OCLATTN_OK) {
        return complain("attention");
    }
    return out == 2 || complain("the result is wrong");
}

static bool start(void) {
    if (lib.oclattn_context_create(NULL, &context, &last_error) != OCLATTN_OK) {
        return complain("context");
    }
    return attend_rightly();
}

static bool stop(void) {
    lib.oclattn_context_destroy(context);
    context = NULL;
    return true;
}

/* Nothing is destroyed before exit(). */
static bool run_and_exit(const char *path) {
    return load(path) && start();
}

static bool run_and_close(const char *path) {
    return load(path) && start() && stop() && dlclose(handle) == 0;
}

static bool close_with_a_context(const char *path) {
    return load(path) && start() && dlclose(handle) == 0;
}

static bool load_again_and_again(const char *path) {
    return run_and_close(path) && run_and_close(path) && run_and_close(path);
}

static bool child_succeeds(bool (*child)(void)) {
    const pid_t id = fork();
    if (id == 0) {
        alarm(CHILD_SECONDS);
        _exit(child() ? 0 : 1);
    }
    int status = -1;
    if (id < 0 || waitpid(id, &status, 0) != id) {
        return complain("fork");
    }
    if (WIFSIGNALED(status)) {
        const int number = WTERMSIG(status);
        fprintf(stderr, "the child got signal %d%s\n", number, number == SIGALRM ? ": it hung" : "");
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is_refused(const char *what, oclattn_status status) {
    const bool refused = status == OCLATTN_OPENCL_ERROR && last_error.status == status &&
                         strstr(last_error.message, "fork") != NULL;
    if (!refused) {
        fprintf(stderr, "%s in the child: status %d, \"%s\"\n", what, (int)status, last_error.message);
    }
    return refused;
}

/* Every call of a child answers with an error, and destroying does not wait for anything. */
static bool child_is_refused(void) {
    float out;
    oclattn_context *other;
    oclattn_plan *plan;
    size_t count;
    oclattn_attention_desc desc;
    lib.oclattn_attention_desc_init(&desc);
    desc.batch = desc.q_heads = desc.kv_heads = desc.q_len = desc.kv_len = desc.head_dim = desc.v_dim = 1;
    return is_refused("oclattn_attention_host", attend(&out)) &&
           is_refused("oclattn_attention_plan", lib.oclattn_attention_plan(context, &desc, &plan, &last_error)) &&
           is_refused("oclattn_context_create", lib.oclattn_context_create(NULL, &other, &last_error)) &&
           is_refused("oclattn_devices_list", lib.oclattn_devices_list(NULL, 0, &count, &last_error)) && stop();
}

static bool fork_after_use(const char *path) {
    return load(path) && start() && child_succeeds(child_is_refused) && attend_rightly() && stop();
}

static bool start_and_stop(void) {
    return start() && stop();
}

static bool fork_before_use(const char *path) {
    return load(path) && child_succeeds(start_and_stop) && start() && attend_rightly() && stop();
}

static const struct {
    const char *name;
    bool (*run)(const char *path);
} modes[] = {
    {"exit", run_and_exit},
    {"close", run_and_close},
    {"close-with-context", close_with_a_context},
    {"again", load_again_and_again},
    {"fork-after", fork_after_use},
    {"fork-before", fork_before_use},
};

int main(int count, char **words) {
    for (size_t i = 0; count == 3 && i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(modes[i].name, words[2]) == 0) {
            exit(modes[i].run(words[1]) ? 0 : 1);
        }
    }
    fprintf(stderr, "usage: process_loader LIBRARY MODE\n");
    return 2;
}
