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
#include "program/hash.h"
#include "program/program.h"
#include "support/log_capture.h"
#include "support/temp_folder.h"

#define THREADS 8
#define KERNEL "kernel void answer(global int *out) { out[get_global_id(0)] = VALUE; }\n"
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
    file_write(path, KERNEL, strlen(KERNEL));
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
    cl_int code, value = -1;
    cl_command_queue queue = clCreateCommandQueue(context->cl, context->device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_mem buffer = clCreateBuffer(context->cl, CL_MEM_READ_WRITE, sizeof value, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    const size_t one = 1;
    assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
    assert_int_equal(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL), CL_SUCCESS);
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
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

/* ---- the format ------------------------------------------------------------------------------------------------- */

static void make_entry(text *entry, text *key) {
    text_add_string(key, "key of this entry\n");
    entry_encode(entry, key, (const unsigned char *)"\0binary\377", 8);
    assert_false(entry->failed);
}

static bool decodes(const text *entry, const text *key) {
    unsigned char *binary;
    size_t size = 0;
    const char *why = entry_decode(entry, key, &binary, &size);
    if (!why) {
        assert_int_equal(size, 8);
        assert_memory_equal(binary, "\0binary\377", 8);
    } else {
        assert_null(binary);
    }
    free(binary);
    return !why;
}

static void test_every_flip_and_cut_is_noticed(void **state) {
    (void)state;
    text entry = {0}, key = {0};
    make_entry(&entry, &key);
    assert_true(decodes(&entry, &key));
    for (size_t i = 0; i < entry.length; i++) {
        for (int bit = 0; bit < 8; bit++) {
            entry.data[i] = (char)(entry.data[i] ^ (1 << bit));
            assert_false(decodes(&entry, &key));
            entry.data[i] = (char)(entry.data[i] ^ (1 << bit));
        }
    }
    const size_t whole = entry.length;
    for (entry.length = 0; entry.length < whole; entry.length++) {
        /* A copy of the exact size, so that a sanitizer sees reads past its end. */
        text cut = {0};
        cut.data = malloc(entry.length + 1);
        assert_non_null(cut.data);
        memcpy(cut.data, entry.data, entry.length);
        cut.data = realloc(cut.data, entry.length > 0 ? entry.length : 1);
        cut.length = entry.length;
        assert_false(decodes(&cut, &key));
        free(cut.data);
    }
    text_add(&entry, "\0", 1);
    assert_false(decodes(&entry, &key));
    text_clear(&entry);
    text_clear(&key);
}

static void sign(text *entry) {
    const uint64_t hash = hash_bytes(HASH_START, entry->data + 16, entry->length - 16);
    for (int i = 0; i < 8; i++) {
        entry->data[8 + i] = (char)(unsigned char)(hash >> (8 * i));
    }
}

static void set_number(text *entry, size_t at, uint64_t number) {
    for (size_t i = 0; i < 8; i++) {
        entry->data[at + i] = (char)(unsigned char)(number >> (8 * i));
    }
}

/* Damage under a checksum that is right. */
static void test_sizes_in_an_entry_are_not_trusted(void **state) {
    (void)state;
    const uint64_t sizes[] = {0, 1, 7, 9, 17, 19, 26, 1 << 20, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX - 31, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t at = 16; at <= 24; at += 8) {
            text entry = {0}, key = {0};
            make_entry(&entry, &key);
            set_number(&entry, at, sizes[i]);
            sign(&entry);
            assert_false(decodes(&entry, &key));
            text_clear(&entry);
            text_clear(&key);
        }
    }
}

static void test_noise_is_not_an_entry(void **state) {
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 20000; round++) {
        text entry = {0}, key = {0};
        make_entry(&entry, &key);
        for (int change = 0; change < 1 + round % 4; change++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            entry.data[16 + (random >> 33) % (entry.length - 16)] ^= (char)(1 + (random >> 24) % 255);
        }
        entry.length -= (random >> 40) % 3 == 0 ? (random >> 50) % 20 : 0;
        sign(&entry);
        unsigned char *binary;
        size_t size;
        entry_decode(&entry, &key, &binary, &size);
        free(binary);
        text_clear(&entry);
        text_clear(&key);
    }
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
    file_write(path, KERNEL "\n", strlen(KERNEL) + 1);
    assert_run(f, BUILT);
    assert_int_equal(folder_count(f->cache, NULL), 2);
}

static void test_damaged_entries_are_replaced(void **state) {
    fixture *f = *state;
    assert_run(f, BUILT);
    char path[TEMP_PATH_SIZE];
    only_entry(f, path);
    size_t size;
    unsigned char *good = file_read(path, &size);
    const size_t cuts[] = {0, 1, 31, 32, 100, size / 2, size - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        assert_replaced(f, good, cuts[i]);
    }
    for (size_t i = 0; i < 12; i++) {
        const size_t at = i * (size - 1) / 11;
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

/* Three programs are built and run, nothing is kept, and one warning says `part`. */
static void assert_uncached(fixture *f, const char *cache_dir, const char *part) {
    oclattn_context *context = open_context(f, cache_dir);
    for (int i = 0; i < 3; i++) {
        assert_answer(context, i);
    }
    assert_int_equal(f->log.lines[OCLATTN_LOG_WARNING], 1);
    assert_true(log_capture_has(&f->log, "compiled kernels are not kept: "));
    assert_true(log_capture_has(&f->log, part));
    close_context(f, context);
}

static void test_an_unusable_folder_costs_one_line(void **state) {
    fixture *f = *state;
    file_write(f->cache, "", 0);
    assert_uncached(f, f->cache, "Not a directory");
    char below[TEMP_PATH_SIZE];
    temp_path(below, f->cache, "deeper/still");
    assert_uncached(f, below, "Not a directory");
    assert_uncached(f, "/proc/oclattn", "/proc/oclattn: ");
    assert_int_equal(unlink(f->cache), 0);
    temp_path(below, f->folder, "read-only");
    assert_int_equal(mkdir(below, 0500), 0);
    if (geteuid() != 0) {
        assert_uncached(f, below, "Permission denied");
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
    assert_int_equal(f->log.lines[OCLATTN_LOG_WARNING], 1);
    close_context(f, context);
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
        cmocka_unit_test(test_every_flip_and_cut_is_noticed),
        cmocka_unit_test(test_sizes_in_an_entry_are_not_trusted),
        cmocka_unit_test(test_noise_is_not_an_entry),
        WITH_FOLDER(test_a_program_is_found_again),
        WITH_FOLDER(test_damaged_entries_are_replaced),
        WITH_FOLDER(test_a_key_names_all_that_matters),
        WITH_FOLDER(test_foreign_entries_are_replaced),
        WITH_FOLDER(test_a_pipe_is_not_waited_for),
        WITH_FOLDER(test_an_unusable_folder_costs_one_line),
        WITH_FOLDER(test_an_entry_that_cannot_be_replaced_costs_one_line),
        WITH_FOLDER(test_a_full_disk_costs_one_line),
        WITH_FOLDER(test_the_folder_follows_wish_and_environment),
        WITH_FOLDER(test_without_any_folder_one_line_says_so),
        WITH_FOLDER(test_a_cache_turned_off_leaves_no_trace),
        WITH_FOLDER(test_many_writers_leave_one_good_entry),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
