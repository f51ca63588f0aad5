/* The tuning table and the rules that its values obey. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/clblast_tiles.h"
#include "plan/tuning.h"
#include "plan/tuning_parameters.h"

static tuning find(cl_device_type type, cl_uint native_float_width) {
    const device_caps caps = {.name = "some device", .type = type, .native_float_width = native_float_width};
    return tuning_find(&caps);
}

static void test_rows_go_by_type_and_vectors(void **state) {
    (void)state;
    assert_string_equal(find(CL_DEVICE_TYPE_CPU, 16).row, "CPUs with 512-bit vectors");
    assert_string_equal(find(CL_DEVICE_TYPE_CPU, 8).row, "CPUs with 256-bit vectors");
    assert_string_equal(find(CL_DEVICE_TYPE_CPU, 1).row, "CPUs with 256-bit vectors");
    assert_string_equal(find(CL_DEVICE_TYPE_GPU, 16).row, "defaults");
    assert_string_equal(find(CL_DEVICE_TYPE_ACCELERATOR, 1).row, "defaults");
}

static void test_rows_obey_the_rules(void **state) {
    (void)state;
    const cl_device_type types[] = {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR};
    for (int i = 0; i < 6; i++) {
        const int lanes = i % 2 == 0 ? 8 : 16;
        const tuning tuned = find(types[i / 2], (cl_uint)lanes);
        for (int group = 0; group < TUNING_GROUPS; group++) {
            text why = {0};
            if (!tuning_check(&tuned, (tuning_group)group, lanes, &why)) {
                fail_msg("%s, %s: %s", tuned.row, tuning_groups[group].name, why.data);
            }
            assert_int_equal(why.length, 0);
        }
    }
}

static void test_width_classes(void **state) {
    (void)state;
    const int64_t widths[][2] = {{1, 0}, {64, 0}, {65, 1}, {128, 1}, {129, 2}, {256, 2}, {257, 2}};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        assert_int_equal(width_class_of(widths[i][0]), widths[i][1]);
    }
    assert_int_equal(width_class_columns(0), 64);
    assert_int_equal(width_class_columns(2), 256);
}

static const tuning_parameter *find_parameter(tuning_group group, const char *name) {
    for (size_t i = 0; i < tuning_parameter_count; i++) {
        if (tuning_parameters[i].group == group && strcmp(tuning_parameters[i].name, name) == 0) {
            return &tuning_parameters[i];
        }
    }
    fail_msg("no parameter %s", name);
    return NULL;
}

/* Every int of struct tuning is described exactly once. */
static void test_parameters_cover_the_struct(void **state) {
    (void)state;
    unsigned char seen[sizeof(tuning)] = {0};
    for (size_t i = 0; i < tuning_parameter_count; i++) {
        const tuning_parameter *p = &tuning_parameters[i];
        assert_true(p->least <= p->most && p->step > 0 && p->meaning[0] != '\0');
        for (size_t at = 0; at < sizeof(int); at++) {
            assert_int_equal(seen[p->offset + at]++, 0);
        }
    }
    for (size_t at = offsetof(tuning, local_size); at < offsetof(tuning, clblast) + sizeof(clblast_tiles); at++) {
        assert_int_equal(seen[at], 1);
    }
}

/* Not the table's values, which change with what is measured. */
static tuning known_values(int lanes) {
    static const attention_tiles tiles[2] = {{.group_vectors = 6,
                                              .groups = 2,
                                              .key_block = 60,
                                              .key_step = 6,
                                              .score_vectors = 2,
                                              .out_rows = 6,
                                              .out_vectors = 2},
                                             {.group_vectors = 4,
                                              .groups = 2,
                                              .key_block = 64,
                                              .key_step = 4,
                                              .score_vectors = 4,
                                              .out_rows = 4,
                                              .out_vectors = 4}};
    tuning values = find(CL_DEVICE_TYPE_CPU, (cl_uint)lanes);
    for (int i = 0; i < WIDTH_CLASSES; i++) {
        values.attention[i] = tiles[lanes == 16];
    }
    values.projection = (projection_tiles){.rows = 6, .row_tiles = 8, .panel_vectors = 2, .panels = 2, .k_block = 256};
    return values;
}

/* Sets one value and returns what is wrong with its group, "" if nothing. */
static const char *trouble(tuning_group group, const char *name, int value, int lanes) {
    static char message[256];
    tuning tuned = known_values(lanes);
    text why = {0};
    const tuning_parameter *parameter = find_parameter(group, name);
    tuning_set_value(&tuned, parameter, value);
    assert_int_equal(tuning_value(&tuned, parameter), value);
    const bool allowed = tuning_check(&tuned, group, lanes, &why);
    snprintf(message, sizeof message, "%s", why.length > 0 ? why.data : "");
    assert_int_equal(allowed, message[0] == '\0');
    text_clear(&why);
    return message;
}

static void test_single_values(void **state) {
    (void)state;
    for (size_t i = 0; i < tuning_parameter_count; i++) {
        const tuning_parameter *p = &tuning_parameters[i];
        assert_true(tuning_allows(p, p->least));
        assert_false(tuning_allows(p, p->least - 1));
        assert_false(tuning_allows(p, p->most + 1));
        assert_false(tuning_allows(p, INT32_MIN));
        assert_false(tuning_allows(p, INT32_MAX));
        assert_non_null(strstr(trouble(p->group, p->name, p->most + 1, 8), "allowed are"));
        assert_non_null(strstr(trouble(p->group, p->name, p->most + 1, 8), p->name));
    }
    assert_string_equal(trouble(TUNING_GENERAL, "few_rows_chunk", 128, 8), "");
    assert_non_null(strstr(trouble(TUNING_GENERAL, "few_rows_chunk", 100, 8), "in steps of 64"));
    assert_non_null(strstr(trouble(TUNING_PROJECTION, "k_block", 24, 8), "in steps of 16"));
}

static void test_relations(void **state) {
    (void)state;
    /* A group has 6 x 8 or 4 x 16 rows; the register tiles are 6 x 2 and 4 x 4. */
    assert_non_null(strstr(trouble(TUNING_ATTENTION_64, "group_vectors", 1, 8), "multiple of 16"));
    assert_non_null(strstr(trouble(TUNING_ATTENTION_64, "out_rows", 5, 8), "out_rows"));
    assert_string_equal(trouble(TUNING_ATTENTION_64, "out_rows", 8, 8), "");
    assert_string_equal(trouble(TUNING_ATTENTION_64, "out_vectors", 4, 8), "");
    assert_non_null(strstr(trouble(TUNING_ATTENTION_64, "out_vectors", 5, 8), "out_rows x out_vectors"));
    assert_non_null(strstr(trouble(TUNING_ATTENTION_64, "out_vectors", 8, 16), "width"));
    assert_string_equal(trouble(TUNING_ATTENTION_128, "out_vectors", 8, 16), "");
    assert_non_null(strstr(trouble(TUNING_ATTENTION_128, "score_vectors", 4, 8), "group_vectors"));
    assert_non_null(strstr(trouble(TUNING_ATTENTION_128, "key_step", 7, 8), "key_block"));
    assert_non_null(strstr(trouble(TUNING_ATTENTION_128, "key_block", 28, 8), "key_step"));
    assert_non_null(strstr(trouble(TUNING_ATTENTION_128, "key_block", 30, 8), "in steps of 4"));
    assert_non_null(strstr(trouble(TUNING_ATTENTION_256, "groups", 16, 16), "bytes"));
    assert_non_null(strstr(trouble(TUNING_PROJECTION, "panel_vectors", 1, 8), "multiple of 16"));
    assert_string_equal(trouble(TUNING_PROJECTION, "panel_vectors", 1, 16), "");
    assert_non_null(strstr(trouble(TUNING_PROJECTION, "panel_vectors", 8, 16), "more than 64"));
    assert_string_equal(trouble(TUNING_PROJECTION, "panel_vectors", 8, 8), "");
    assert_string_equal(trouble(TUNING_PROJECTION, "row_tiles", 64, 16), "");
}

static clblast_tiles known_clblast_tiles(void) {
    return (clblast_tiles){.overrides = 1,
                           .mwg = 64,
                           .nwg = 64,
                           .kwg = 32,
                           .mdimc = 16,
                           .ndimc = 8,
                           .mdima = 16,
                           .ndimb = 8,
                           .kwi = 2,
                           .vwm = 4,
                           .vwn = 4,
                           .wgd = 32,
                           .mdimcd = 8,
                           .ndimcd = 8,
                           .mdimad = 8,
                           .ndimbd = 8,
                           .kwid = 2,
                           .vwmd = 4,
                           .vwnd = 4,
                           .pada = 1,
                           .padb = 1,
                           .min_indirect_size = 576};
}

static void assert_clblast_refuses(const clblast_tiles *tiles, const char *part) {
    text why = {0};
    assert_false(clblast_tiles_check(tiles, &why));
    assert_non_null(strstr(why.data, part));
    text_clear(&why);
}

static void test_clblast_rules(void **state) {
    (void)state;
    text why = {0};
    clblast_tiles tiles = known_clblast_tiles();
    assert_true(clblast_tiles_check(&tiles, &why));
    tiles.vwm = 3;
    assert_clblast_refuses(&tiles, "power of two");
    tiles = known_clblast_tiles();
    tiles.mwg = 72;
    assert_clblast_refuses(&tiles, "mdimc x vwm");
    tiles = known_clblast_tiles();
    tiles.kwg = 12;
    assert_clblast_refuses(&tiles, "kwg");
    tiles = known_clblast_tiles();
    tiles.mdima = 3;
    assert_clblast_refuses(&tiles, "mdima");
    tiles = known_clblast_tiles();
    tiles.wgd = 24;
    assert_clblast_refuses(&tiles, "wgd");
    /* What is not used may be anything. */
    tuning tuned = find(CL_DEVICE_TYPE_GPU, 1);
    tuned.clblast.vwm = 3;
    assert_true(tuning_check(&tuned, TUNING_CLBLAST, 8, &why));
    tuned.clblast.overrides = 1;
    assert_false(tuning_check(&tuned, TUNING_CLBLAST, 8, &why));
    text_clear(&why);
}

static void test_clblast_needs(void **state) {
    (void)state;
    clblast_tiles tiles = known_clblast_tiles();
    tiles.overrides = 0;
    assert_int_equal(clblast_tiles_need(&tiles).work_group, 256);
    assert_int_equal(clblast_tiles_need(&tiles).local_bytes, 16384);
    tiles.overrides = 1;
    tiles.mdimc = 16;
    tiles.ndimc = 8;
    tiles.sa = tiles.sb = 0;
    tiles.wgd = 32;
    tiles.pada = tiles.padb = 1;
    assert_int_equal(clblast_tiles_need(&tiles).work_group, 128);
    assert_int_equal(clblast_tiles_need(&tiles).local_bytes, 4 * (32 * 33 + 32 * 33));
    tiles.sa = 1;
    tiles.kwg = 32;
    tiles.mwg = 128;
    assert_int_equal(clblast_tiles_need(&tiles).local_bytes, 4 * 32 * 128);
    tiles.mdimc = tiles.ndimc = tiles.mdimcd = tiles.ndimcd = 1;
    assert_int_equal(clblast_tiles_need(&tiles).work_group, 64);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_go_by_type_and_vectors),
        cmocka_unit_test(test_rows_obey_the_rules),
        cmocka_unit_test(test_width_classes),
        cmocka_unit_test(test_parameters_cover_the_struct),
        cmocka_unit_test(test_single_values),
        cmocka_unit_test(test_relations),
        cmocka_unit_test(test_clblast_rules),
        cmocka_unit_test(test_clblast_needs),
    };
    return cmocka_run_group_tests_name("tuning", tests, NULL, NULL);
}
