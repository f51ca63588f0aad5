/* Compiled programs on disk: found again, never trusted, never in the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/cache.h"
#include "program/entry.h"
#include "program/program.h"
#include "support/answer.h"
#include "support/log_capture.h"
#include "support/temp_folder.h"

#define THREADS 8
#define BUILT "built from source"
#define TAKEN "taken from the cache on disk"

typedef struct fixture {
    char folder[TEMP_PATH_SIZE], kernels[TEMP_PATH_SIZE], cache[TEMP_PATH_SIZE];
    log_capture log;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    temp_folder_make(f->folder);
    temp_path(f->cache, f->folder, "cache");
    temp_path(f->kernels, f->folder, "kernels");
    assert_int_equal(mkdir(f->kernels, 0700), 0);
    char path[TEMP_PATH_SIZE];
    temp_path(path, f->kernels, "answer.cl");
    file_write(path, ANSWER_SOURCE, strlen(ANSWER_SOURCE));
    setenv("OCLATTN_KERNEL_DIR", f->kernels, 1);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    unsetenv("OCLATTN_KERNEL_DIR");
    temp_folder_remove(f->folder);
    free(f);
    return 0;
}

static oclattn_context *open_context(fixture *f, const char *cache_dir) {
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    options.cache_dir = cache_dir;
    log_capture_start(&f->log, &options, OCLATTN_LOG_DEBUG);
    oclattn_context *context;
    oclattn_error error;
    assert_int_equal(oclattn_context_create(&options, &context, &error), OCLATTN_OK);
    return context;
}

static void close_context(fixture *f, oclattn_context *context) {
    oclattn_context_destroy(context);
    log_capture_stop(&f->log);
}

static void assert_answer(oclattn_context *context, int expected) {
    char options[32];
    snprintf(options, sizeof options, "-DVALUE=%d", expected);
    cl_kernel kernel;
    assert_int_equal(program_kernel(context, "answer.cl", options, "answer", &kernel, NULL), OCLATTN_OK);
    const int value = answer_of(context, kernel);
    clReleaseKernel(kernel);
    assert_int_equal(value, expected);
}

/* A new context gives the answer, and its log holds `how` and no warning. */
static void assert_run(fixture *f, const char *how) {
    oclattn_context *context = open_context(f, f->cache);
    assert_answer(context, 42);
    if (!log_capture_has(&f->log, how)) {
        fail_msg("the log lacks \"%s\":\n%s", how, f->log.text);
    }
    assert_int_equal(f->log.lines[OCLATTN_LOG_WARNING], 0);
    close_context(f, context);
}

static void only_entry(const fixture *f, char path[TEMP_PATH_SIZE]) {
    assert_int_equal(folder_count(f->cache, path), 1);
}

/* Puts `bytes` where the entry is: it is rebuilt in silence, and the entry is good again. */
static void assert_replaced(fixture *f, const void *bytes, size_t size) {
    char path[TEMP_PATH_SIZE];
    only_entry(f, path);
    file_write(path, bytes, size);
    assert_run(f, BUILT);
    assert_run(f, TAKEN);
}

/* ---- entries on disk -------------------------------------------------------------------------------------------- */

static void test_a_program_is_found_again(void **state) {
    fixture *f = *state;
    assert_run(f, BUILT);
    assert_run(f, TAKEN);
    char path[TEMP_PATH_SIZE];
    only_entry(f, path);
    struct stat status;
    assert_int_equal(stat(f->cache, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    /* Another source is another entry. */
    temp_path(path, f->kernels, "answer.cl");
    file_write(path, ANSWER_SOURCE "\n", strlen(ANSWER_SOURCE) + 1);
    assert_run(f, BUILT);
    assert_int_equal(folder_count(f->cache, NULL), 2);
}

/* At the latest when the context goes: some drivers take long to hand out a binary. */
static void test_entries_are_there_when_the_context_is_gone(void **state) {
    fixture *f = *state;
    oclattn_context *context = open_context(f, f->cache);
    assert_answer(context, 42);
    assert_answer(context, 43);
    const bool waits = cache_waits_for_binaries(context);
    assert_int_equal(folder_count(f->cache, NULL), waits ? 0 : 2);
    close_context(f, context);
    assert_int_equal(folder_count(f->cache, NULL), 2);
}

static void test_damaged_entries_are_replaced(void **state) {
    fixture *f = *state;
    assert_run(f, BUILT);
    char path[TEMP_PATH_SIZE];
    only_entry(f, path);
    size_t size;
    unsigned char *good = file_read(path, &size);
    const size_t cuts[] = {0, 100, size - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        assert_replaced(f, good, cuts[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        const size_t at = i * (size - 1) / 3;
        good[at] ^= 0x40;
        assert_replaced(f, good, size);
        good[at] ^= 0x40;
    }
    assert_replaced(f, "#!/bin/sh\necho a file of someone else, and long enough to be an entry\n", 68);
    free(good);
}

static void describe(text *key, const oclattn_context *context) {
    text source = {0};
    text_add_string(&source, "source");
    cache_describe(key, context, &source, "options");
    text_clear(&source);
}

static void test_a_key_names_all_that_matters(void **state) {
    fixture *f = *state;
    oclattn_context *context = open_context(f, f->cache);
    text key = {0}, changed = {0};
    describe(&key, context);
    char *const fields[] = {context->caps.name, context->caps.device_version, context->caps.driver_version,
                            context->caps.platform_name, context->caps.platform_version};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        fields[i][0]++;
        describe(&changed, context);
        fields[i][0]--;
        assert_string_not_equal(changed.data, key.data);
        text_clear(&changed);
    }
    const char *arch = getenv("CL_CONFIG_CPU_TARGET_ARCH");
    assert_null(arch);
    setenv("CL_CONFIG_CPU_TARGET_ARCH", "corei7", 1);
    describe(&changed, context);
    unsetenv("CL_CONFIG_CPU_TARGET_ARCH");
    assert_string_not_equal(changed.data, key.data);
    text_clear(&changed);
    text_clear(&key);
    close_context(f, context);
}

/* An entry of another driver under the right name, and a binary that the driver refuses under the right key. */
static void test_foreign_entries_are_replaced(void **state) {
    fixture *f = *state;
    assert_run(f, BUILT);
    char path[TEMP_PATH_SIZE];
    only_entry(f, path);
    size_t size;
    unsigned char *good = file_read(path, &size);
    const size_t key_length = good[16] + ((size_t)good[17] << 8);
    text key = {0}, entry = {0};
    text_add(&key, (const char *)good + 32, key_length);
    char *driver = strstr(key.data, "\ndriver: ");
    assert_non_null(driver);
    driver[9]++;
    entry_encode(&entry, &key, good + 32 + key_length, size - 32 - key_length);
    assert_replaced(f, entry.data, entry.length);
    text_clear(&entry);
    driver[9]--;
    entry_encode(&entry, &key, (const unsigned char *)"no binary of any driver", 23);
    assert_replaced(f, entry.data, entry.length);
    text_clear(&entry);
    text_clear(&key);
    free(good);
}

static void test_a_pipe_is_not_waited_for(void **state) {
    fixture *f = *state;
    assert_run(f, BUILT);
    char path[TEMP_PATH_SIZE];
    only_entry(f, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_run(f, BUILT);
    assert_run(f, TAKEN);
}

/* ---- folders ---------------------------------------------------------------------------------------------------- */

/* Two programs are built and run, nothing is kept, and one warning says `part`. */
static void assert_uncached(fixture *f, const char *cache_dir, const char *part) {
    oclattn_context *context = open_context(f, cache_dir);
    for (int i = 0; i < 2; i++) {
        assert_answer(context, i);
    }
    oclattn_context_destroy(context);
    assert_int_equal(f->log.lines[OCLATTN_LOG_WARNING], 1);
    assert_true(log_capture_has(&f->log, "compiled kernels are not kept: "));
    assert_true(log_capture_has(&f->log, part));
    log_capture_stop(&f->log);
}

static void test_an_unusable_folder_costs_one_line(void **state) {
    fixture *f = *state;
    file_write(f->cache, "", 0);
    assert_uncached(f, f->cache, "Not a directory");
    char below[TEMP_PATH_SIZE];
    temp_path(below, f->cache, "deeper/still");
    assert_uncached(f, below, "Not a directory");
}

/* The superuser writes in any folder, but not in this one. */
static void test_a_read_only_folder_costs_one_line(void **state) {
    fixture *f = *state;
    assert_uncached(f, "/proc/oclattn", "/proc/oclattn: ");
    char path[TEMP_PATH_SIZE];
    temp_path(path, f->folder, "read-only");
    assert_int_equal(mkdir(path, 0500), 0);
    if (geteuid() != 0) {
        assert_uncached(f, path, "Permission denied");
    }
}

static void test_an_entry_that_cannot_be_replaced_costs_one_line(void **state) {
    fixture *f = *state;
    assert_run(f, BUILT);
    char path[TEMP_PATH_SIZE];
    only_entry(f, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    oclattn_context *context = open_context(f, f->cache);
    assert_answer(context, 42);
    oclattn_context_destroy(context);
    assert_int_equal(f->log.lines[OCLATTN_LOG_WARNING], 1);
    log_capture_stop(&f->log);
    assert_int_equal(folder_count(f->cache, NULL), 1);
}

static void test_a_full_disk_costs_one_line(void **state) {
    fixture *f = *state;
    oclattn_context *context = open_context(f, f->cache);
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 4096;
    void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    static const unsigned char binary[100000];
    for (int i = 0; i < 3; i++) {
        text key = {0};
        text_format(&key, "key %d", i);
        cache_store(context, &key, binary, sizeof binary);
        text_clear(&key);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, old_handler);
    assert_int_equal(f->log.lines[OCLATTN_LOG_WARNING], 1);
    assert_int_equal(folder_count(f->cache, NULL), 0);
    close_context(f, context);
}

static void set_or_unset(const char *name, const char *value) {
    if (value) {
        setenv(name, value, 1);
    } else {
        unsetenv(name);
    }
}

static void test_the_folder_follows_wish_and_environment(void **state) {
    (void)state;
    static const struct {
        const char *wish, *own, *xdg, *home, *expected;
    } cases[] = {
        {"/w", "/o", "/x", "/h", "/w"},
        {"relative", "/o", "/x", "/h", "relative"},
        {"", "/o", "/x", "/h", NULL},
        {NULL, "/o", "/x", "/h", "/o"},
        {NULL, "", "/x", "/h", NULL},
        {NULL, NULL, "/x", "/h", "/x/oclattn"},
        {NULL, NULL, "relative", "/h", "/h/.cache/oclattn"},
        {NULL, NULL, "", "/h", "/h/.cache/oclattn"},
        {NULL, NULL, NULL, "/h", "/h/.cache/oclattn"},
        {NULL, NULL, "relative", "", NULL},
        {NULL, NULL, NULL, "relative", NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    const char *home = getenv("HOME");
    char *kept_home = home ? strdup(home) : NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_or_unset("OCLATTN_CACHE_DIR", cases[i].own);
        set_or_unset("XDG_CACHE_HOME", cases[i].xdg);
        set_or_unset("HOME", cases[i].home);
        char *folder;
        assert_int_equal(cache_choose_folder(cases[i].wish, NULL, &folder, NULL), OCLATTN_OK);
        if (cases[i].expected) {
            assert_string_equal(folder, cases[i].expected);
        } else {
            assert_null(folder);
        }
        free(folder);
    }
    set_or_unset("HOME", kept_home);
    free(kept_home);
}

static void test_without_any_folder_one_line_says_so(void **state) {
    fixture *f = *state;
    const char *home = getenv("HOME");
    char *kept_home = home ? strdup(home) : NULL;
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("OCLATTN_CACHE_DIR");
    assert_uncached(f, NULL, "none of OCLATTN_CACHE_DIR, XDG_CACHE_HOME and HOME names a folder");
    set_or_unset("HOME", kept_home);
    free(kept_home);
}

static void test_a_cache_turned_off_leaves_no_trace(void **state) {
    fixture *f = *state;
    setenv("OCLATTN_CACHE_DIR", f->cache, 1);
    oclattn_context *context = open_context(f, "");
    assert_answer(context, 1);
    assert_int_equal(f->log.lines[OCLATTN_LOG_WARNING], 0);
    close_context(f, context);
    unsetenv("OCLATTN_CACHE_DIR");
    assert_int_equal(folder_count(f->folder, NULL), 1);
}

/* ---- many at once ----------------------------------------------------------------------------------------------- */

static int use_own_context(void *argument) {
    const char *cache = argument;
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    options.cache_dir = cache;
    for (int i = 0; i < 3; i++) {
        oclattn_context *context;
        cl_program program;
        if (oclattn_context_create(&options, &context, NULL) != OCLATTN_OK) {
            return 1;
        }
        const oclattn_status status = program_get(context, "answer.cl", "-DVALUE=42", &program, NULL);
        oclattn_context_destroy(context);
        if (status != OCLATTN_OK) {
            return 2;
        }
    }
    return 0;
}

static void test_many_writers_leave_one_good_entry(void **state) {
    fixture *f = *state;
    thrd_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(thrd_create(&threads[i], use_own_context, f->cache), thrd_success);
    }
    for (int i = 0; i < THREADS; i++) {
        int result;
        thrd_join(threads[i], &result);
        assert_int_equal(result, 0);
    }
    assert_int_equal(folder_count(f->cache, NULL), 1);
    assert_run(f, TAKEN);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_a_program_is_found_again),
        WITH_FOLDER(test_entries_are_there_when_the_context_is_gone),
        WITH_FOLDER(test_damaged_entries_are_replaced),
        WITH_FOLDER(test_a_key_names_all_that_matters),
        WITH_FOLDER(test_foreign_entries_are_replaced),
        WITH_FOLDER(test_a_pipe_is_not_waited_for),
        WITH_FOLDER(test_an_unusable_folder_costs_one_line),
        WITH_FOLDER(test_a_read_only_folder_costs_one_line),
        WITH_FOLDER(test_an_entry_that_cannot_be_replaced_costs_one_line),
        WITH_FOLDER(test_a_full_disk_costs_one_line),
        WITH_FOLDER(test_the_folder_follows_wish_and_environment),
        WITH_FOLDER(test_without_any_folder_one_line_says_so),
        WITH_FOLDER(test_a_cache_turned_off_leaves_no_trace),
        WITH_FOLDER(test_many_writers_leave_one_good_entry),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
