/* The hints of oclattn-probe, on folders that stand for machines. As root, which may use every file, it becomes another
 * user first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "oclattn-probe/hints.h"

enum { NOBODY = 65534 };

static char root[] = "/tmp/oclattn-hints.XXXXXX";

static void path_of(const char *file, char *path, size_t size) {
    snprintf(path, size, "%s%s", root, file);
}

static void add_file(const char *file, mode_t mode) {
    char path[256];
    path_of(file, path, sizeof path);
    FILE *made = fopen(path, "w");
    assert_non_null(made);
    fclose(made);
    assert_int_equal(chmod(path, mode), 0);
}

static void remove_file(const char *file) {
    char path[256];
    path_of(file, path, sizeof path);
    assert_int_equal(remove(path), 0);
}

static void add_folder(const char *folder) {
    char path[256];
    path_of(folder, path, sizeof path);
    assert_int_equal(mkdir(path, 0755), 0);
}

static int make_root(void **state) {
    (void)state;
    if (!mkdtemp(root)) {
        return -1;
    }
    add_folder("/dev");
    add_folder("/dev/dri");
    add_folder("/run");
    return 0;
}

static int remove_root(void **state) {
    static const char *const folders[] = {"/dev/dri", "/dev", "/run", ""};
    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        remove_file(folders[i]);
    }
    return 0;
}

/* A document with as many drivers, and a device of the type (NULL: none). */
static json_t *make_document(int drivers, const char *type) {
    json_t *vendors = json_array(), *platforms = json_array();
    for (int i = 0; i < drivers; i++) {
        json_array_append_new(vendors, json_pack("{s:s, s:s, s:n}", "file", "x.icd", "path", "/v/x.icd", "problem"));
    }
    if (type) {
        json_array_append_new(platforms, json_pack("{s:[{s:{s:s}}]}", "devices", "facts", "type", type));
    }
    return json_pack("{s:{s:n, s:o}, s:o}", "loader", "hint", "vendors", vendors, "platforms", platforms);
}

/* What the hint for it holds; NULL: there is none. */
static void expect_hint(json_t *document, const char *part) {
    machine_signs signs;
    hints_read_signs(root, &signs);
    hints_add(document, &signs, "/v");
    const char *hint = json_string_value(json_object_get(json_object_get(document, "loader"), "hint"));
    if (!part) {
        assert_null(hint);
    } else {
        assert_non_null(hint);
        if (!strstr(hint, part)) {
            fail_msg("\"%s\" lacks \"%s\"", hint, part);
        }
    }
    json_decref(document);
}

static void test_no_driver(void **state) {
    (void)state;
    expect_hint(make_document(0, NULL), "no driver is registered in /v");
    add_file("/run/.containerenv", 0644);
    expect_hint(make_document(0, NULL), "this is a container");
    remove_file("/run/.containerenv");
    expect_hint(make_document(0, "cpu"), NULL);
}

static void test_node_without_permission(void **state) {
    (void)state;
    add_file("/dev/dri/renderD129", 0);
    expect_hint(make_document(1, NULL), "permission to use /dev/dri/renderD129, which is not open to a group");
    expect_hint(make_document(1, "cpu"), "permission");
    expect_hint(make_document(0, NULL), "permission");
    expect_hint(make_document(1, "gpu"), NULL);
    remove_file("/dev/dri/renderD129");
    /* Its group could, but the owner may not: access() asks the first rule that applies. */
    add_file("/dev/kfd", 0060);
    expect_hint(make_document(1, NULL), "usermod -a -G");
    remove_file("/dev/kfd");
}

static void test_gpu_without_driver(void **state) {
    (void)state;
    add_file("/dev/dri/renderD128", 0600);
    expect_hint(make_document(1, "cpu"), "there is a GPU (/dev/dri/renderD128)");
    expect_hint(make_document(1, NULL), "there is a GPU");
    expect_hint(make_document(0, NULL), "no driver is registered");
    expect_hint(make_document(1, "gpu"), NULL);
    remove_file("/dev/dri/renderD128");
}

static void test_container_without_device(void **state) {
    (void)state;
    add_file("/.dockerenv", 0644);
    expect_hint(make_document(1, NULL), "container without a GPU's device files");
    expect_hint(make_document(1, "cpu"), NULL);
    add_file("/dev/nvidiactl", 0600);
    expect_hint(make_document(1, NULL), "there is a GPU (/dev/nvidiactl)");
    remove_file("/dev/nvidiactl");
    remove_file("/.dockerenv");
    expect_hint(make_document(1, NULL), "drivers are registered, but none offers a device");
}

static void test_driver_that_breaks_down(void **state) {
    (void)state;
    json_t *document = make_document(1, "gpu");
    json_t *vendor = json_array_get(json_object_get(json_object_get(document, "loader"), "vendors"), 0);
    json_object_set_new(vendor, "culprit", json_true());
    expect_hint(document, "move /v/x.icd away");
}

int main(void) {
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) {
        puts("SKIP: root cannot become another user here, and may use every file");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_driver),
        cmocka_unit_test(test_node_without_permission),
        cmocka_unit_test(test_gpu_without_driver),
        cmocka_unit_test(test_container_without_device),
        cmocka_unit_test(test_driver_that_breaks_down),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
