/* Tuning files: which one is read, what they hold, and that nothing in one does harm. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/tuning_file.h"
#include "plan/tuning_kernels.h"
#include "plan/tuning_lines.h"
#include "plan/tuning_parameters.h"
#include "support/log_capture.h"
#include "support/temp_folder.h"

enum { LANES = 16 };

typedef struct fixture {
    char folder[TEMP_PATH_SIZE], path[TEMP_PATH_SIZE];
    log_capture log;
    oclattn_context context; /* of a device that is not there */
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    temp_folder_make(f->folder);
    temp_path(f->path, f->folder, "tuning");
    log_capture_start(&f->log, &options, OCLATTN_LOG_DEBUG);
    f->context.log = (logger){options.log, options.log_user, options.log_level};
    f->context.caps = (device_caps){
        .name = "A = B [C]", .driver_version = "1.2", .type = CL_DEVICE_TYPE_CPU, .native_float_width = 16};
    f->context.cache_dir = f->folder;
    unsetenv("OCLATTN_TUNING");
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    unsetenv("OCLATTN_TUNING");
    temp_folder_remove(f->folder);
    log_capture_stop(&f->log);
    free(f);
    return 0;
}

/* ---- writing files ---------------------------------------------------------------------------------------------- */

static text text_of(const char *string) {
    text made = {0};
    text_add_string(&made, string);
    return made;
}

static void write_text(const char *path, const text *content) {
    assert_false(content->failed);
    file_write(path, content->data, content->length);
}

static text head_of(const char *name, const char *driver) {
    text made = {0};
    text_format(&made, "oclattn tuning 1\n[device]\nname = %s\ndriver = %s\n", name, driver);
    return made;
}

static void add_group(text *to, tuning_group group, const char *lines) {
    tuning_kernels kernels = {{NULL}, {0}};
    text_format(to, "[%s]\nkernel = %016llx\n%s", tuning_groups[group].name,
                (unsigned long long)tuning_kernels_version(&kernels, group), lines);
}

/* A file for the fixture's device with one group. */
static void write_group(const fixture *f, const char *lines) {
    text content = head_of(f->context.caps.name, f->context.caps.driver_version);
    add_group(&content, TUNING_ATTENTION_64, lines);
    write_text(f->path, &content);
    text_clear(&content);
}

/* ---- looking at them -------------------------------------------------------------------------------------------- */

static bool holds_row(const tuning *tuned, tuning_group group, const device_caps *caps) {
    const tuning row = tuning_find(caps);
    bool same = !tuned->from_file[group];
    for (size_t i = 0; i < tuning_parameter_count; i++) {
        const tuning_parameter *p = &tuning_parameters[i];
        same = same && (p->group != group || tuning_value(tuned, p) == tuning_value(&row, p));
    }
    return same;
}

static void assert_nothing_taken(const fixture *f) {
    const tuning tuned = tuning_for(&f->context);
    for (int group = 0; group < TUNING_GROUPS; group++) {
        assert_true(holds_row(&tuned, (tuning_group)group, &f->context.caps));
    }
}

static void assert_logged(const fixture *f, const char *part) {
    if (!log_capture_has(&f->log, part)) {
        fail_msg("the log lacks \"%s\"; it holds:\n%s", part, f->log.text);
    }
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static void test_no_file_is_nothing_to_speak_of(void **state) {
    fixture *f = *state;
    assert_nothing_taken(f);
    f->context.cache_dir = NULL;
    assert_nothing_taken(f);
    assert_int_equal(f->log.length, 0);
}

static void test_values_and_their_origin(void **state) {
    fixture *f = *state;
    write_group(f, "groups = 3\n  key_block=16 \r\nkey_step = 2\nscore_vectors = 4\n# a comment\nmeasured = 5 = "
                   "good\nsearch = finished\n");
    const tuning tuned = tuning_for(&f->context);
    const tuning row = tuning_find(&f->context.caps);
    assert_int_equal(tuned.attention[0].groups, 3);
    assert_int_equal(tuned.attention[0].key_block, 16);
    assert_int_equal(tuned.attention[0].out_rows, row.attention[0].out_rows);
    assert_true(tuned.from_file[TUNING_ATTENTION_64]);
    for (int group = 0; group < TUNING_GROUPS; group++) {
        assert_true(group == TUNING_ATTENTION_64 || holds_row(&tuned, (tuning_group)group, &f->context.caps));
    }
    char expected[TEMP_PATH_SIZE + 32];
    text origin = {0};
    snprintf(expected, sizeof expected, "tuning file %s", f->path);
    tuning_add_origin(&tuned, TUNING_ATTENTION_64, &origin);
    assert_string_equal(origin.data, expected);
    text_clear(&origin);
    tuning_add_origin(&tuned, TUNING_ATTENTION_128, &origin);
    assert_string_equal(origin.data, row.row);
    text_clear(&origin);
    assert_int_equal(f->log.length, 0);
}

static void test_which_file_is_read(void **state) {
    fixture *f = *state;
    char named[TEMP_PATH_SIZE];
    write_group(f, "groups = 3\n");
    temp_path(named, f->folder, "named");
    setenv("OCLATTN_TUNING", named, 1);
    assert_nothing_taken(f);
    assert_logged(f, "named cannot be read");
    text content = head_of("A = B [C]", "1.2");
    add_group(&content, TUNING_ATTENTION_64, "groups = 5\n");
    write_text(named, &content);
    text_clear(&content);
    assert_int_equal(tuning_for(&f->context).attention[0].groups, 5);
    setenv("OCLATTN_TUNING", "off", 1);
    assert_nothing_taken(f);
    setenv("OCLATTN_TUNING", "", 1);
    assert_int_equal(tuning_for(&f->context).attention[0].groups, 3);
    setenv("OCLATTN_TUNING", f->folder, 1);
    assert_nothing_taken(f);
}

static void test_other_devices_are_ignored(void **state) {
    fixture *f = *state;
    write_group(f, "groups = 3\n");
    snprintf(f->context.caps.driver_version, sizeof f->context.caps.driver_version, "1.3");
    assert_nothing_taken(f);
    assert_logged(f, "holds nothing for A = B [C] with driver 1.3");
    snprintf(f->context.caps.driver_version, sizeof f->context.caps.driver_version, "1.2");
    snprintf(f->context.caps.name, sizeof f->context.caps.name, "A = B [D]");
    assert_nothing_taken(f);
    assert_int_equal(f->log.lines[OCLATTN_LOG_WARNING], 0);
}

static void test_other_kernels_are_ignored(void **state) {
    fixture *f = *state;
    text content = head_of("A = B [C]", "1.2");
    text_add_string(&content, "[attention_tiled_cpu.64]\nkernel = 0123456789abcdef\ngroups = 3\nold_parameter = 7\n");
    write_text(f->path, &content);
    assert_nothing_taken(f);
    assert_logged(f, "another version of the kernel");
    assert_int_equal(f->log.lines[OCLATTN_LOG_WARNING], 0);
    text_clear(&content);
    content = head_of("A = B [C]", "1.2");
    text_add_string(&content, "[attention_tiled_cpu.64]\ngroups = 3\n");
    write_text(f->path, &content);
    assert_nothing_taken(f);
    assert_logged(f, "does not say which kernel");
    text_clear(&content);
    /* The kernel's source is what counts, not where it is from. */
    write_group(f, "groups = 3\n");
    setenv("OCLATTN_KERNEL_DIR", f->folder, 1);
    assert_nothing_taken(f);
    unsetenv("OCLATTN_KERNEL_DIR");
    assert_int_equal(tuning_for(&f->context).attention[0].groups, 3);
}

/* What is wrong with one group leaves the others alone. */
static void test_damaged_groups(void **state) {
    fixture *f = *state;
    const struct {
        const char *lines, *logged;
    } cases[] = {
        {"groups = 99\n", "[attention_tiled_cpu.64] is ignored: groups is 99: allowed are 1 to 16"},
        {"groups = 0\n", "groups is 0"},
        {"groups = -1\n", "groups is not a number"},
        {"groups = 4x\n", "groups is not a number"},
        {"groups =\n", "groups is not a number"},
        {"groups = 99999999999999999999\n", "groups is not a number"},
        {"gruops = 4\n", "it has no parameter \"gruops\""},
        {"key_step = 4\nscore_vectors = 4\nkey_block = 28\n",
         "key_block, 28, is not a multiple of key_step x score_vectors, 16"},
        {"group_vectors = 2\nout_vectors = 2\nout_rows = 5\n", "is not a multiple of out_rows x out_vectors, 10"},
        {"groups = 3\nthis is no value\n", "is damaged"},
        {"groups = 3\n[\n", "is damaged"},
        {"kernel = 12\n", "kernel is not a version"},
        {"groups = 16\nout_vectors = 3\n", "is not a multiple of out_rows x out_vectors"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text content = head_of("A = B [C]", "1.2");
        add_group(&content, TUNING_PROJECTION, "rows = 2\n");
        add_group(&content, TUNING_ATTENTION_64, cases[i].lines);
        add_group(&content, TUNING_ATTENTION_128, "groups = 2\n");
        write_text(f->path, &content);
        text_clear(&content);
        log_capture_clear(&f->log);
        const tuning tuned = tuning_for(&f->context);
        assert_true(holds_row(&tuned, TUNING_ATTENTION_64, &f->context.caps));
        assert_int_equal(tuned.projection.rows, 2);
        assert_int_equal(tuned.attention[1].groups, 2);
        assert_logged(f, cases[i].logged);
        assert_int_equal(f->log.lines[OCLATTN_LOG_WARNING], 1);
    }
}

static void test_unknown_groups_and_orphans(void **state) {
    fixture *f = *state;
    text content = text_of("oclattn tuning 1\ngroups = 1\n[attention_tiled_cpu.64]\ngroups = 3\n"
                           "[device]\nname = A = B [C]\nnonsense\ndriver = 1.2\n");
    add_group(&content, TUNING_ATTENTION_64, "groups = 3\n");
    write_text(f->path, &content);
    assert_nothing_taken(f);
    assert_logged(f, "line 7 is damaged");
    text_clear(&content);
    content = head_of("A = B [C]", "1.2");
    text_add_string(&content, "[attention_of_tomorrow]\ngroups = 7\n");
    add_group(&content, TUNING_ATTENTION_64, "groups = 3\n");
    write_text(f->path, &content);
    text_clear(&content);
    assert_int_equal(tuning_for(&f->context).attention[0].groups, 3);
    assert_logged(f, "[attention_of_tomorrow] is unknown");
}

static void test_files_that_are_none(void **state) {
    fixture *f = *state;
    text large = text_of("oclattn tuning 1\n");
    while (large.length <= TUNING_FILE_MOST_BYTES) {
        text_add_string(&large, "# as large as it gets\n");
    }
    const struct {
        const char *bytes;
        size_t length;
        const char *logged;
    } cases[] = {
        {"", 0, "does not begin with"},
        {"oclattn tuning 1", 16, "does not begin with"},
        {"oclattn tuning 2\n[device]\n", 26, "does not begin with"},
        {"\177ELF\2\1\1\0\0\0", 10, "does not begin with"},
        {"oclattn tuning 1\n[dev\0ice]\n", 27, "bytes of 0"},
        {large.data, large.length, "too large"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        log_capture_clear(&f->log);
        file_write(f->path, cases[i].bytes, cases[i].length);
        assert_nothing_taken(f);
        assert_logged(f, cases[i].logged);
    }
    text_clear(&large);
}

/* Whatever is read obeys the rules. */
static void assert_harmless(fixture *f) {
    tuning_record records[TUNING_GROUPS];
    log_capture_clear(&f->log);
    tuning_file_load(&f->context, f->path, records);
    for (int group = 0; group < TUNING_GROUPS; group++) {
        text why = {0};
        assert_true(tuning_check(&records[group].values, (tuning_group)group, LANES, &why));
        text_clear(&why);
    }
    assert_false(f->log.saw_newline);
}

static text whole_file(void) {
    text content = head_of("A = B [C]", "1.2");
    for (int group = 0; group < TUNING_GROUPS; group++) {
        add_group(&content, (tuning_group)group, "");
    }
    add_group(&content, TUNING_ATTENTION_64, "groups = 2\nkey_block = 48\nmeasured = 1\nsearch = finished\n");
    add_group(&content, TUNING_PROJECTION, "rows = 8\nrow_tiles = 16\n");
    return content;
}

static void test_noise_does_no_harm(void **state) {
    fixture *f = *state;
    uint64_t random = 1;
    for (int round = 0; round < 3000; round++) {
        text content = whole_file();
        for (int change = 0; change < 1 + round % 5; change++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            content.data[17 + (random >> 33) % (content.length - 17)] = (char)(random >> 24);
        }
        write_text(f->path, &content);
        assert_harmless(f);
        text_clear(&content);
    }
}

static void test_cut_files_do_no_harm(void **state) {
    fixture *f = *state;
    text content = whole_file();
    for (const size_t whole = content.length; content.length-- > 0 && whole > 0;) {
        write_text(f->path, &content);
        assert_harmless(f);
    }
    text_clear(&content);
}

/* ---- storing ---------------------------------------------------------------------------------------------------- */

static tuning_record record_with(const fixture *f, int groups, const char *search) {
    tuning_record record = {.found = true, .values = tuning_find(&f->context.caps)};
    snprintf(record.search, sizeof record.search, "%s", search);
    record.values.attention[0].groups = record.values.attention[1].groups = groups;
    snprintf(record.measured, sizeof record.measured, "%d GFLOP/s", 10 * groups);
    return record;
}

static void test_what_is_stored_is_read(void **state) {
    fixture *f = *state;
    char deep[TEMP_PATH_SIZE];
    temp_path(deep, f->folder, "a/b/tuning");
    const tuning_record stored = record_with(f, 5, "finished");
    assert_true(tuning_file_store(&f->context, deep, TUNING_ATTENTION_64, &stored));
    tuning_record records[TUNING_GROUPS];
    tuning_file_load(&f->context, deep, records);
    assert_true(records[TUNING_ATTENTION_64].found);
    assert_string_equal(records[TUNING_ATTENTION_64].search, "finished");
    assert_string_equal(records[TUNING_ATTENTION_64].measured, "50 GFLOP/s");
    assert_int_equal(records[TUNING_ATTENTION_64].values.attention[0].groups, 5);
    assert_false(records[TUNING_ATTENTION_128].found);
    assert_int_equal(f->log.length, 0);
}

static void test_storing_keeps_the_rest(void **state) {
    fixture *f = *state;
    fixture other = *f;
    tuning_record records[TUNING_GROUPS];
    snprintf(other.context.caps.name, sizeof other.context.caps.name, "another device");
    const tuning_record first = record_with(f, 2, "finished"), second = record_with(f, 3, "stopped");
    assert_true(tuning_file_store(&f->context, f->path, TUNING_ATTENTION_64, &first));
    assert_true(tuning_file_store(&other.context, f->path, TUNING_ATTENTION_64, &second));
    assert_true(tuning_file_store(&f->context, f->path, TUNING_ATTENTION_128, &first));
    assert_true(tuning_file_store(&f->context, f->path, TUNING_ATTENTION_64, &second));
    tuning_file_load(&f->context, f->path, records);
    assert_int_equal(records[TUNING_ATTENTION_64].values.attention[0].groups, 3);
    assert_string_equal(records[TUNING_ATTENTION_64].search, "stopped");
    assert_int_equal(records[TUNING_ATTENTION_128].values.attention[1].groups, 2);
    tuning_file_load(&other.context, f->path, records);
    assert_int_equal(records[TUNING_ATTENTION_64].values.attention[0].groups, 3);
    assert_int_equal(folder_count(f->folder, NULL), 1);
}

static void test_storing_replaces_what_is_damaged(void **state) {
    fixture *f = *state;
    const tuning_record record = record_with(f, 2, "");
    file_write(f->path, "garbage", 7);
    assert_true(tuning_file_store(&f->context, f->path, TUNING_ATTENTION_64, &record));
    assert_int_equal(tuning_for(&f->context).attention[0].groups, 2);
    char below[TEMP_PATH_SIZE];
    temp_path(below, f->path, "tuning");
    assert_false(tuning_file_store(&f->context, below, TUNING_ATTENTION_64, &record));
    assert_int_equal(folder_count(f->folder, NULL), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_file_is_nothing_to_speak_of, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_and_their_origin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_which_file_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_devices_are_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_kernels_are_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unknown_groups_and_orphans, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_that_are_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_noise_does_no_harm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut_files_do_no_harm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_stored_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_storing_keeps_the_rest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_storing_replaces_what_is_damaged, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("tuning file", tests, NULL, NULL);
}
