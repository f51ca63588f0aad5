/* Listing devices, what they say of themselves, and choosing one: on made-up records and on the devices of this
 * machine. Stranger machines are in test_layer.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/list.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define UNKNOWN_DEVICE "no such device"

/* ---- made-up machines ------------------------------------------------------------------------------------------- */

static device_record device(int platform_index, int device_index, const char *name, cl_device_type type) {
    device_record record = {.platform_index = platform_index, .device_index = device_index, .alias_of = -1};
    record.platform = (cl_platform_id)(uintptr_t)(platform_index + 1);
    snprintf(record.caps.name, sizeof(record.caps.name), "%s", name);
    snprintf(record.caps.platform_name, sizeof(record.caps.platform_name), "Platform %d", platform_index);
    record.caps.type = type;
    record.caps.version_major = 3;
    record.caps.available = true;
    record.caps.compiler_available = true;
    record.caps.global_memory_bytes = (cl_ulong)8 << 30;
    record.caps.compute_units = 8;
    return record;
}

static void rename_platform(device_record *record, const char *name) {
    snprintf(record->caps.platform_name, sizeof(record->caps.platform_name), "%s", name);
}

static void assert_alias(const device_list *list, const int *alias_of) {
    for (size_t i = 0; i < list->count; i++) {
        assert_int_equal(list->items[i].alias_of, alias_of[i]);
    }
}

static void test_a_platform_listed_twice_is_an_alias(void **state) {
    device_record records[] = {device(0, 0, "A", CL_DEVICE_TYPE_GPU), device(0, 1, "A", CL_DEVICE_TYPE_GPU),
                               device(1, 0, "B", CL_DEVICE_TYPE_CPU), device(3, 0, "A", CL_DEVICE_TYPE_GPU),
                               device(3, 1, "A", CL_DEVICE_TYPE_GPU), device(4, 0, "B", CL_DEVICE_TYPE_CPU),
                               device(5, 0, "B", CL_DEVICE_TYPE_CPU)};
    device_list list = {.items = records, .count = LENGTH(records)};
    (void)state;
    records[3].platform = records[4].platform = records[0].platform;
    rename_platform(&records[5], "Platform 1");
    rename_platform(&records[6], "Platform 1");
    device_list_mark_aliases(&list);
    assert_alias(&list, (int[]){-1, -1, -1, 0, 1, 2, 2});
}

static void test_platforms_that_differ_are_no_aliases(void **state) {
    device_record records[] = {device(0, 0, "A", CL_DEVICE_TYPE_GPU), device(0, 1, "B", CL_DEVICE_TYPE_GPU),
                               device(1, 0, "B", CL_DEVICE_TYPE_GPU), device(1, 1, "A", CL_DEVICE_TYPE_GPU),
                               device(2, 0, "A", CL_DEVICE_TYPE_GPU), device(2, 1, "B", CL_DEVICE_TYPE_GPU),
                               device(3, 0, "A", CL_DEVICE_TYPE_GPU), device(4, 0, "", CL_DEVICE_TYPE_GPU),
                               device(5, 0, "", CL_DEVICE_TYPE_GPU)};
    device_list list = {.items = records, .count = LENGTH(records)};
    (void)state;
    for (size_t i = 0; i < LENGTH(records); i++) {
        rename_platform(&records[i], "the same");
    }
    snprintf(records[4].caps.platform_version, sizeof(records[4].caps.platform_version), "newer");
    snprintf(records[5].caps.platform_version, sizeof(records[5].caps.platform_version), "newer");
    device_list_mark_aliases(&list);
    assert_alias(&list, (int[]){-1, -1, -1, -1, -1, -1, -1, -1, -1});
}

static size_t chosen(device_record *records, size_t count, const char *spec) {
    const device_list list = {.items = records, .count = count, .platform_count = count};
    oclattn_error error;
    size_t index = SIZE_MAX;
    const oclattn_status status = device_choose(&list, spec, NULL, &index, &error);
    return status == OCLATTN_OK ? index : SIZE_MAX;
}

static void test_best_device_is_chosen(void **state) {
    device_record records[] = {
        device(0, 0, "first CPU", CL_DEVICE_TYPE_CPU),     device(1, 0, "big CPU", CL_DEVICE_TYPE_CPU),
        device(2, 0, "card", CL_DEVICE_TYPE_ACCELERATOR),  device(3, 0, "integrated", CL_DEVICE_TYPE_GPU),
        device(3, 1, "small", CL_DEVICE_TYPE_GPU),         device(3, 2, "large", CL_DEVICE_TYPE_GPU),
        device(3, 3, "large, twice", CL_DEVICE_TYPE_GPU),  device(4, 0, "wide", CL_DEVICE_TYPE_GPU)};
    (void)state;
    records[1].caps.global_memory_bytes *= 4;
    records[3].caps.host_unified_memory = true;
    records[3].caps.global_memory_bytes *= 16;
    records[5].caps.global_memory_bytes *= 2;
    records[6].caps.global_memory_bytes *= 2;
    records[7].caps.global_memory_bytes *= 2;
    records[7].caps.compute_units *= 2;
    unsetenv("OCLATTN_DEVICE");
    static const size_t best[] = {SIZE_MAX, 0, 0, 2, 3, 4, 5, 5, 7};
    for (size_t count = 1; count <= LENGTH(records); count++) {
        assert_int_equal(chosen(records, count, NULL), best[count]);
        assert_int_equal(chosen(records, count, ""), best[count]);
    }
    records[7].alias_of = 5;
    assert_int_equal(chosen(records, 8, NULL), 5);
    records[5].caps.available = false;
    assert_int_equal(chosen(records, 8, NULL), 6);
    records[6].caps.compiler_available = false;
    assert_int_equal(chosen(records, 8, NULL), 4);
    records[4].caps.version_major = records[4].caps.version_minor = 1;
    assert_int_equal(chosen(records, 8, NULL), 3);
}

static void test_a_device_is_asked_for(void **state) {
    device_record records[] = {
        device(0, 0, "EPYC", CL_DEVICE_TYPE_CPU),    device(1, 0, "RTX 4070 Ti", CL_DEVICE_TYPE_GPU),
        device(1, 1, "RTX 4070", CL_DEVICE_TYPE_GPU), device(12, 0, "EPYC", CL_DEVICE_TYPE_CPU),
        device(13, 0, "DSP", CL_DEVICE_TYPE_ACCELERATOR)};
    static const struct {
        const char *spec;
        size_t index;
    } cases[] = {
        {"0:0", 0},          {"1:1", 2},       {"12:0", 0},       {"13:0", 4},       {"2:0", SIZE_MAX},
        {"1:2", SIZE_MAX},   {"gpu", 1},       {"CPU", 0},        {"Accelerator", 4}, {"rtx 4070", 2},
        {"4070", 1},         {"ti", 1},        {"platform 13", 4}, {"dsp", 4},       {"1:", SIZE_MAX},
        {":1", SIZE_MAX},    {"1:1x", SIZE_MAX}, {"-1:0", SIZE_MAX}, {"4294967297:1", SIZE_MAX},
        {UNKNOWN_DEVICE, SIZE_MAX},
    };
    (void)state;
    records[1].caps.compute_units = 60;
    records[3].alias_of = 0;
    setenv("OCLATTN_DEVICE", UNKNOWN_DEVICE, 1);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        assert_int_equal(chosen(records, LENGTH(records), cases[i].spec), cases[i].index);
    }
    for (size_t i = 0; i < LENGTH(cases); i++) {
        setenv("OCLATTN_DEVICE", cases[i].spec, 1);
        assert_int_equal(chosen(records, LENGTH(records), NULL), cases[i].index);
    }
    setenv("OCLATTN_DEVICE", "", 1);
    assert_int_equal(chosen(records, LENGTH(records), NULL), 1);
    unsetenv("OCLATTN_DEVICE");
}

static void test_refusals_help(void **state) {
    device_record records[40];
    oclattn_error error;
    size_t index = 77;
    (void)state;
    unsetenv("OCLATTN_DEVICE");
    assert_int_equal(device_choose(&(device_list){0}, NULL, NULL, &index, &error), OCLATTN_NO_DEVICE);
    assert_non_null(strstr(error.message, "install pocl-opencl-icd"));
    assert_int_equal(device_choose(&(device_list){0}, "gpu", NULL, &index, NULL), OCLATTN_NO_DEVICE);

    for (size_t i = 0; i < LENGTH(records); i++) {
        records[i] = device((int)i, 0, i < 2 ? "EPYC" : "a processor with a name of some length, to fill the message",
                            CL_DEVICE_TYPE_CPU);
    }
    records[1].caps.available = false;
    device_list list = {.items = records, .count = 2, .platform_count = 2};
    assert_int_equal(device_choose(&list, "gpu", NULL, &index, &error), OCLATTN_NO_DEVICE);
    assert_string_equal(error.message, "no usable OpenCL device fits \"gpu\"; there are: 0:0 EPYC (Platform 0); "
                                       "1:0 EPYC (Platform 1), not available");
    records[0].caps.compiler_available = false;
    assert_int_equal(device_choose(&list, NULL, NULL, &index, &error), OCLATTN_NO_DEVICE);
    assert_string_equal(error.message, "no OpenCL device can be used; there are: 0:0 EPYC (Platform 0), without a "
                                       "compiler; 1:0 EPYC (Platform 1), not available");
    setenv("OCLATTN_DEVICE", "3:7", 1);
    list.count = LENGTH(records);
    assert_int_equal(device_choose(&list, NULL, NULL, &index, &error), OCLATTN_NO_DEVICE);
    unsetenv("OCLATTN_DEVICE");
    assert_non_null(strstr(error.message, "fits \"3:7\" (from OCLATTN_DEVICE); there are: 0:0 EPYC"));
    assert_string_equal(error.message + strlen(error.message) - 5, "; ...");
    assert_int_equal(index, 77);
}

/* ---- the devices of this machine -------------------------------------------------------------------------------- */

static void test_devices_say_what_they_are(void **state) {
    device_list list;
    oclattn_error error;
    (void)state;
    assert_int_equal(device_list_read(&list, NULL, &error), OCLATTN_OK);
    assert_true(list.count > 0);
    for (size_t i = 0; i < list.count; i++) {
        const device_caps *caps = &list.items[i].caps;
        assert_string_not_equal(caps->name, "");
        assert_string_not_equal(caps->platform_name, "");
        assert_string_not_equal(caps->platform_version, "");
        assert_string_not_equal(caps->driver_version, "");
        assert_true(caps->type != 0 && caps->compute_units > 0 && caps->version_major > 0);
        assert_true(caps->global_memory_bytes >= caps->max_allocation_bytes && caps->max_allocation_bytes > 0);
        assert_true(caps->max_work_group_size > 0 && caps->max_work_item_sizes[2] > 0);
        assert_true(caps->max_parameter_bytes >= 256 && caps->memory_base_align_bits > 0);
        assert_true(caps->address_bits == 32 || caps->address_bits == 64);
        assert_true(caps->available && caps->compiler_available);
    }
    device_list_clear(&list);
    assert_null(list.items);
}

static void test_public_list_agrees(void **state) {
    device_list list;
    size_t count = 99;
    oclattn_device_info infos[64];
    (void)state;
    assert_int_equal(device_list_read(&list, NULL, NULL), OCLATTN_OK);
    assert_int_equal(oclattn_devices_list(NULL, 0, &count, NULL), OCLATTN_OK);
    assert_int_equal(count, list.count);
    assert_in_range(count, 1, LENGTH(infos));
    for (size_t i = 0; i < LENGTH(infos); i++) {
        oclattn_device_info_init(&infos[i]);
    }
    assert_int_equal(oclattn_devices_list(infos, count - 1, &count, NULL), OCLATTN_OK);
    assert_int_equal(count, list.count);
    assert_int_equal(infos[count - 1].platform_index, -1);
    assert_int_equal(oclattn_devices_list(infos, LENGTH(infos), &count, NULL), OCLATTN_OK);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(infos[i].name, list.items[i].caps.name);
        assert_string_equal(infos[i].platform, list.items[i].caps.platform_name);
        assert_int_equal(infos[i].platform_index, list.items[i].platform_index);
        assert_int_equal(infos[i].device_index, list.items[i].device_index);
        assert_int_equal(infos[i].alias_of, list.items[i].alias_of);
        assert_int_equal(infos[i].max_work_group_size, list.items[i].caps.max_work_group_size);
        assert_int_equal(infos[i].has_subgroups, list.items[i].caps.has_subgroups);
    }
    device_list_clear(&list);
}

static void test_public_list_checks_its_arguments(void **state) {
    oclattn_device_info info = {0};
    oclattn_error error;
    size_t count = 0;
    (void)state;
    assert_int_equal(oclattn_devices_list(NULL, 0, NULL, &error), OCLATTN_INVALID_ARGUMENT);
    assert_int_equal(oclattn_devices_list(NULL, 1, &count, &error), OCLATTN_INVALID_ARGUMENT);
    assert_int_equal(oclattn_devices_list(&info, 1, &count, &error), OCLATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "oclattn_device_info_init"));
    oclattn_device_info_init(&info);
    info.struct_size++;
    assert_int_equal(oclattn_devices_list(&info, 1, &count, NULL), OCLATTN_INVALID_ARGUMENT);
    assert_int_equal(oclattn_context_device_info(NULL, &info, &error), OCLATTN_INVALID_ARGUMENT);
    oclattn_device_info_init(NULL);
}

static void test_context_tells_its_device(void **state) {
    oclattn_context *context = NULL;
    oclattn_device_info info;
    oclattn_error error;
    char spec[32];
    (void)state;
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    options.cache_dir = "";
    assert_int_equal(oclattn_context_create(&options, &context, &error), OCLATTN_OK);
    oclattn_device_info_init(&info);
    assert_int_equal(oclattn_context_device_info(context, NULL, &error), OCLATTN_INVALID_ARGUMENT);
    assert_int_equal(oclattn_context_device_info(context, &info, &error), OCLATTN_OK);
    oclattn_context_destroy(context);
    assert_string_not_equal(info.name, "");
    snprintf(spec, sizeof(spec), "%d:%d", info.platform_index, info.device_index);
    options.device = spec;
    assert_int_equal(oclattn_context_create(&options, &context, &error), OCLATTN_OK);
    oclattn_context_destroy(context);
    options.device = UNKNOWN_DEVICE;
    assert_int_equal(oclattn_context_create(&options, &context, &error), OCLATTN_NO_DEVICE);
    assert_non_null(strstr(error.message, info.name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_platform_listed_twice_is_an_alias),
        cmocka_unit_test(test_platforms_that_differ_are_no_aliases),
        cmocka_unit_test(test_devices_say_what_they_are),
        cmocka_unit_test(test_public_list_agrees),
        cmocka_unit_test(test_public_list_checks_its_arguments),
        cmocka_unit_test(test_context_tells_its_device),
        /* These change OCLATTN_DEVICE, so they come last. */
        cmocka_unit_test(test_best_device_is_chosen),
        cmocka_unit_test(test_a_device_is_asked_for),
        cmocka_unit_test(test_refusals_help),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
