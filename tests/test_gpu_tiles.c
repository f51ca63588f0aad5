/* attention_tiled_gpu: how a family of GPUs is recognised, what its tiles ask of it, and that they are right on
 * whatever device is here, with sub-groups and without. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <problem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/gpu_tiles.h"
#include "plan/tuning_file.h"
#include "plan/tuning_parameters.h"
#include "support/temp_folder.h"

static const device_family families[] = {FAMILY_OTHER, FAMILY_NVIDIA, FAMILY_AMD_WAVE32, FAMILY_AMD_WAVE64,
                                         FAMILY_INTEL, FAMILY_ADRENO, FAMILY_MALI};
enum { FAMILIES = sizeof families / sizeof *families };

/* ---- families --------------------------------------------------------------------------------------------------- */

static device_family family_of(cl_device_type type, cl_uint vendor_id, const char *extensions, unsigned width) {
    device_caps caps = {.type = type, .vendor_id = vendor_id, .name = "a name that says nothing"};
    device_caps_parse_extensions(&caps, extensions, width);
    return caps.family;
}

static void test_families(void **state) {
    (void)state;
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    assert_int_equal(family_of(gpu, 0x10de, "", 0), FAMILY_NVIDIA);
    assert_int_equal(family_of(gpu, 1, "cl_khr_icd cl_nv_device_attribute_query", 0), FAMILY_NVIDIA);
    assert_int_equal(family_of(gpu, 0x1002, "", 32), FAMILY_AMD_WAVE32);
    assert_int_equal(family_of(gpu, 0x1002, "", 64), FAMILY_AMD_WAVE64);
    assert_int_equal(family_of(gpu, 0x1002, "", 0), FAMILY_AMD_WAVE64);
    assert_int_equal(family_of(gpu, 0x8086, "cl_intel_subgroups", 0), FAMILY_INTEL);
    assert_int_equal(family_of(gpu, 0x5143, "", 0), FAMILY_ADRENO);
    assert_int_equal(family_of(gpu, 0, "cl_qcom_ext_host_ptr", 0), FAMILY_ADRENO);
    assert_int_equal(family_of(gpu, 0x72120000, "cl_arm_core_id", 0), FAMILY_MALI);
    assert_int_equal(family_of(gpu, 0x1010, "cl_khr_fp16", 0), FAMILY_OTHER);
    assert_int_equal(family_of(CL_DEVICE_TYPE_CPU, 0x8086, "cl_intel_subgroups", 0), FAMILY_OTHER);
    assert_int_equal(family_of(CL_DEVICE_TYPE_CPU, 0x1002, "", 64), FAMILY_OTHER);
}

static void test_extensions(void **state) {
    (void)state;
    device_caps caps = {.type = CL_DEVICE_TYPE_GPU};
    device_caps_parse_extensions(&caps, "cl_khr_fp16 cl_intel_subgroups cl_intel_required_subgroup_size", 0);
    assert_true(caps.has_fp16 && caps.has_subgroups && caps.has_intel_subgroups && caps.has_required_subgroup_size);
    assert_false(caps.has_fp64);
    device_caps_parse_extensions(&caps, "cl_khr_fp64 cl_khr_subgroups", 0);
    assert_true(caps.has_fp64 && caps.has_subgroups);
    assert_false(caps.has_fp16 || caps.has_intel_subgroups || caps.has_required_subgroup_size);
}

/* ---- what tiles need -------------------------------------------------------------------------------------------- */

static tuning tuning_of(device_family family) {
    const device_caps caps = {.type = CL_DEVICE_TYPE_GPU, .family = family};
    return tuning_find(&caps);
}

static void assert_fits(const tuning *tuned, const gpu_request *request) {
    enum { MOST_LOCAL_BYTES = 32768, MOST_ITEMS = 256 };
    const gpu_tiles tiles = gpu_tiles_for(tuned, request);
    text why = {0};
    if (!gpu_tiles_check(&tiles, width_class_columns(request->width_class), &why)) {
        fail_msg("%s, class %d: %s", tuned->gpu_row, request->width_class, why.data);
    }
    assert_in_range(gpu_tile_items(&tiles), 32, MOST_ITEMS);
    const int64_t bytes = gpu_tile_local_bytes(&tiles, request);
    if (bytes > MOST_LOCAL_BYTES) {
        fail_msg("%s, class %d, elements of %d and %d bytes, %lld rows: %lld bytes of local memory", tuned->gpu_row,
                 request->width_class, request->q_bytes, request->kv_bytes, (long long)request->rows, (long long)bytes);
    }
}

/* No group takes more than every family has for it, whatever the types and however many rows. */
static void test_every_tile_fits(void **state) {
    (void)state;
    const int64_t rows[] = {1, 3, 7, 8, 16, 100, INT64_MAX};
    const int bytes[][2] = {{2, 2}, {4, 2}, {4, 4}};
    for (int f = 0; f < FAMILIES; f++) {
        const tuning tuned = tuning_of(families[f]);
        for (int n = 0; n < WIDTH_CLASSES * 3 * 7; n++) {
            const gpu_request request = {n / 21, bytes[n / 7 % 3][0], bytes[n / 7 % 3][1], rows[n % 7]};
            assert_fits(&tuned, &request);
        }
    }
}

static void test_few_rows_take_lower_tiles(void **state) {
    (void)state;
    const tuning tuned = tuning_of(FAMILY_NVIDIA);
    const gpu_request many = {0, 2, 2, INT64_MAX}, few = {0, 2, 2, 1}, some = {0, 2, 2, 7};
    const gpu_tiles high = gpu_tiles_for(&tuned, &many);
    const gpu_tiles low = gpu_tiles_for(&tuned, &few);
    const gpu_tiles middle = gpu_tiles_for(&tuned, &some);
    assert_true(gpu_tile_rows(&low) < gpu_tile_rows(&middle) && gpu_tile_rows(&middle) < gpu_tile_rows(&high));
    assert_true(gpu_tile_keys(&low) > gpu_tile_keys(&high));
    assert_true(gpu_tile_rows(&middle) >= 7);
}

static void test_rules(void **state) {
    (void)state;
    const gpu_tiles good = {.rows = 4, .keys = 2, .row_items = 8, .column_items = 16, .unroll = 2, .staged = 1};
    text why = {0};
    assert_true(gpu_tiles_check(&good, 64, &why));
    gpu_tiles bad = good;
    bad.rows = 3;
    assert_false(gpu_tiles_check(&bad, 64, &why));
    bad = good;
    bad.column_items = 24;
    assert_false(gpu_tiles_check(&bad, 64, &why));
    bad = good;
    bad.unroll = 3;
    assert_false(gpu_tiles_check(&bad, 64, &why));
    bad = good;
    bad.column_items = 2;
    bad.rows = bad.keys = 1;
    assert_false(gpu_tiles_check(&bad, 64, &why));
    text_clear(&why);
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

static char folder[TEMP_PATH_SIZE], path[TEMP_PATH_SIZE];

static int set_up(void **state) {
    (void)state;
    temp_folder_make(folder);
    temp_path(path, folder, "tiles");
    setenv("OCLATTN_TUNING", path, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unsetenv("OCLATTN_TUNING");
    temp_folder_remove(folder);
    return 0;
}

static void store(const gpu_tiles *tiles, int width_class, int element_size) {
    tuning_record record = {.found = true, .values = tuning_find(&device.context->caps)};
    record.values.attention_gpu[width_class][element_size] = *tiles;
    assert_true(tuning_file_store(device.context, path, gpu_group(width_class, element_size), &record));
}

/* Keys hidden in the middle of blocks, more rows than a tile has, rows that are not quads, and keys in parts. */
static void assert_right(int width_class, oclattn_type type, int64_t q_len, int64_t kv_chunk) {
    const uint64_t features = 1 << FEATURE_CAUSAL | 1 << FEATURE_WINDOW_LEFT | 1 << FEATURE_LSE;
    random_source source = random_start(options.seed, (uint64_t)q_len);
    const int64_t width = width_class_columns(width_class);
    problem p = problem_new(1, 2, 1, q_len, 211, width, width - 5);
    p.desc.variant = "attention_tiled_gpu";
    p.desc.q_type = p.desc.k_type = p.desc.v_type = type;
    p.desc.kv_chunk = kv_chunk;
    p.desc.want_lse = 1;
    p.desc.score.flags |= OCLATTN_CAUSAL;
    p.desc.score.align = OCLATTN_ALIGN_BOTTOM_RIGHT;
    p.desc.score.window_left = 70;
    problem_allocate(&p, &source);
    problem_fill(&p, &source, features);
    assert_problem(&p);
    problem_free(&p);
}

static void assert_tiles_are_right(const gpu_tiles *tiles, int width_class, int element_size) {
    store(tiles, width_class, element_size);
    assert_right(width_class, element_size == 0 ? OCLATTN_F16 : OCLATTN_F32, 70, 0);
    assert_right(width_class, element_size == 0 ? OCLATTN_F16 : OCLATTN_F32, 2, 100);
}

static bool had_before(int family, int width_class, int element_size) {
    const gpu_tiles tiles = tuning_of(families[family]).attention_gpu[width_class][element_size];
    for (int f = 0; f < family; f++) {
        const gpu_tiles earlier = tuning_of(families[f]).attention_gpu[width_class][element_size];
        if (memcmp(&tiles, &earlier, sizeof tiles) == 0) {
            return true;
        }
    }
    return false;
}

/* The narrowest class; --long: every one. */
static void test_every_familys_tiles_are_right(void **state) {
    (void)state;
    const int classes = options.is_long ? WIDTH_CLASSES : 1;
    for (int f = 0; f < FAMILIES; f++) {
        const tuning tuned = tuning_of(families[f]);
        for (int n = 0; n < classes * GPU_ELEMENT_SIZES; n++) {
            if (!had_before(f, n / GPU_ELEMENT_SIZES, n % GPU_ELEMENT_SIZES)) {
                assert_tiles_are_right(&tuned.attention_gpu[n / GPU_ELEMENT_SIZES][n % GPU_ELEMENT_SIZES],
                                       n / GPU_ELEMENT_SIZES, n % GPU_ELEMENT_SIZES);
            }
        }
    }
}

static bool plan_says(const char *words) {
    char described[4096];
    oclattn_plan *plan = NULL;
    oclattn_error error;
    problem p = problem_new(1, 1, 1, 70, 70, 64, 64);
    p.desc.variant = "attention_tiled_gpu";
    assert_ok(oclattn_attention_plan(device.context, &p.desc, &plan, &error), &error);
    assert_true(oclattn_plan_describe(plan, described, sizeof described) < sizeof described);
    oclattn_plan_destroy(plan);
    problem_free(&p);
    return strstr(described, words) != NULL;
}

/* Sub-groups that do not divide the group, or are larger than a block of keys, are not used; the table may refuse them.
 */
static void test_sub_groups_are_a_choice(void **state) {
    (void)state;
    gpu_tiles tiles = {.rows = 2, .keys = 2, .row_items = 8, .column_items = 16, .unroll = 1, .staged = 1};
    store(&tiles, 0, 1);
    assert_false(plan_says("softmax by sub-groups"));
    assert_right(0, OCLATTN_F32, 70, 0);
    tiles.sub_groups = 1;
    store(&tiles, 0, 1);
    if (!plan_says("softmax by sub-groups")) {
        printf("SKIP: no sub-groups here that fit\n");
        skip();
    }
    assert_right(0, OCLATTN_F32, 70, 0);
    const gpu_tiles odd = {.rows = 1, .keys = 1, .row_items = 3, .column_items = 4, .unroll = 1, .sub_groups = 1};
    store(&odd, 0, 1);
    assert_right(0, OCLATTN_F32, 70, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_every_tile_fits),
        cmocka_unit_test(test_few_rows_take_lower_tiles),
        cmocka_unit_test(test_rules),
        cmocka_unit_test_setup_teardown(test_every_familys_tiles_are_right, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sub_groups_are_a_choice, set_up, tear_down),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
