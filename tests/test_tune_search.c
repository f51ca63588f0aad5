/* The search of oclattn-tune, on made-up speeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oclattn-tune/classes.h"
#include "oclattn-tune/search.h"

enum { LANES = 16, MOST_ASKED = 1000 };

typedef struct game {
    tuning_group group;
    double (*speed)(const tuning *values);
    double best;
    int asked, stop_after; /* 0: never */
    int seen[MOST_ASKED][MOST_GROUP_VALUES];
} game;

static search_answer ask(const tuning *candidate, void *user) {
    game *g = user;
    text why = {0};
    assert_true(tuning_check(candidate, g->group, LANES, &why));
    assert_true(g->asked < MOST_ASKED);
    search_values(g->group, candidate, g->seen[g->asked]);
    for (int i = 0; i < g->asked; i++) {
        assert_memory_not_equal(g->seen[i], g->seen[g->asked], sizeof g->seen[i]);
    }
    g->asked++;
    if (g->asked == g->stop_after) {
        return SEARCH_STOP;
    }
    const double speed = g->speed(candidate);
    if (speed <= g->best) {
        return SEARCH_NO_BETTER;
    }
    g->best = speed;
    return SEARCH_BETTER;
}

/* Not the table's values, which change with what is measured. */
static tuning cpu_values(void) {
    const device_caps caps = {.type = CL_DEVICE_TYPE_CPU, .native_float_width = LANES};
    tuning values = tuning_find(&caps);
    for (int i = 0; i < WIDTH_CLASSES; i++) {
        values.attention[i] = (attention_tiles){.group_vectors = 2,
                                                .groups = 4,
                                                .key_block = 32,
                                                .key_step = 4,
                                                .score_vectors = 2,
                                                .out_rows = 4,
                                                .out_vectors = 2};
    }
    values.projection = (projection_tiles){.rows = 6, .row_tiles = 8, .panel_vectors = 2, .panels = 2, .k_block = 256};
    return values;
}

static search_end play(game *g, tuning *best) {
    memset(g->seen, 0, sizeof g->seen);
    g->asked = 0;
    g->best = g->speed(best);
    return search_descend(g->group, LANES, best, ask, g);
}

static double distance(int value, int wanted) {
    return (double)abs(value - wanted);
}

/* The rules tie key_block to key_step, and out_vectors to out_rows. */
static double attention_speed(const tuning *values) {
    const attention_tiles *t = &values->attention[1];
    return -distance(t->group_vectors, 2) - distance(t->groups, 2) - distance(t->key_block, 48) / 8 -
           3 * distance(t->key_step, 6) - distance(t->out_rows, 8) - distance(t->out_vectors, 4);
}

static void test_it_finds_what_is_best(void **state) {
    (void)state;
    game *g = calloc(1, sizeof *g);
    tuning best = cpu_values();
    *g = (game){.group = TUNING_ATTENTION_128, .speed = attention_speed};
    assert_int_equal(play(g, &best), SEARCH_FINISHED);
    const attention_tiles *t = &best.attention[1];
    assert_int_equal(t->group_vectors, 2);
    assert_int_equal(t->groups, 2);
    assert_int_equal(t->key_block, 48);
    assert_int_equal(t->key_step, 6);
    assert_int_equal(t->out_rows, 8);
    assert_int_equal(t->out_vectors, 4);
    assert_true(g->asked < 100);
    free(g);
}

static double no_speed(const tuning *values) {
    (void)values;
    return 0;
}

static void test_every_group_ends(void **state) {
    (void)state;
    game *g = calloc(1, sizeof *g);
    for (int group = 0; group < TUNING_GROUPS; group++) {
        const tuning start = cpu_values();
        tuning best = start;
        *g = (game){.group = (tuning_group)group, .speed = no_speed};
        assert_int_equal(play(g, &best), SEARCH_FINISHED);
        assert_true(g->asked > 0 && g->asked < 150);
        assert_memory_equal(&best, &start, sizeof best);
    }
    free(g);
}

static void test_it_stops_when_told(void **state) {
    (void)state;
    game *g = calloc(1, sizeof *g);
    for (int after = 1; after < 12; after++) {
        tuning best = cpu_values();
        *g = (game){.group = TUNING_PROJECTION, .speed = no_speed, .stop_after = after};
        assert_int_equal(play(g, &best), SEARCH_STOPPED);
        assert_int_equal(g->asked, after);
    }
    free(g);
}

static double general_speed(const tuning *values) {
    return -distance(values->local_size, 48) - distance(values->few_rows_chunk, 256);
}

/* A search may begin at a value that it would not step to. */
static void test_sizes_of_work_groups_double(void **state) {
    (void)state;
    game *g = calloc(1, sizeof *g);
    tuning best = cpu_values();
    *g = (game){.group = TUNING_GENERAL, .speed = general_speed};
    best.local_size = 7;
    play(g, &best);
    assert_true(best.local_size == 32 || best.local_size == 64);
    assert_int_equal(best.few_rows_chunk, 256);
    free(g);
}

static void test_differences(void **state) {
    (void)state;
    char words[128];
    const tuning from = cpu_values();
    tuning to = from;
    search_difference(TUNING_PROJECTION, &from, &to, words, sizeof words);
    assert_string_equal(words, "");
    to.projection.rows = from.projection.rows + 1;
    to.attention[0].groups = 9;
    search_difference(TUNING_ATTENTION_64, &from, &to, words, sizeof words);
    assert_string_equal(words, "groups 4 -> 9");
}

/* The library would take no other. */
static void test_listed_candidates_obey_the_rules(void **state) {
    (void)state;
    int found = 0;
    for (size_t i = 0; i < tune_class_count; i++) {
        tuning values = cpu_values();
        for (size_t index = 0; class_candidate(&tune_classes[i], index, &values); index++) {
            text why = {0};
            if (!tuning_check(&values, tune_classes[i].group, LANES, &why)) {
                fail_msg("candidate %zu: %s", index, why.data);
            }
            found++;
        }
    }
    assert_true(found > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_finds_what_is_best), cmocka_unit_test(test_every_group_ends),
        cmocka_unit_test(test_it_stops_when_told),    cmocka_unit_test(test_sizes_of_work_groups_double),
        cmocka_unit_test(test_differences),           cmocka_unit_test(test_listed_candidates_obey_the_rules),
    };
    return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
