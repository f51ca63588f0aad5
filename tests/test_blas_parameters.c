/* CLBlast's parameters: set once for a device, whoever asks and from whatever thread. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <guarded.h>
#include <mha_problem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "ops/blas_parameters.h"
#include "plan/clblast_tiles.h"
#include "plan/tuning_file.h"
#include "plan/tuning_parameters.h"
#include "support/temp_folder.h"

/* Unlike anything in the table or in CLBlast's database. */
static clblast_tiles some_tiles(void) {
    return (clblast_tiles){.overrides = 1,
                           .mwg = 32,
                           .nwg = 8,
                           .kwg = 16,
                           .mdimc = 4,
                           .ndimc = 2,
                           .mdima = 4,
                           .ndimb = 2,
                           .kwi = 2,
                           .vwm = 4,
                           .vwn = 2,
                           .sa = 1,
                           .wgd = 8,
                           .mdimcd = 2,
                           .ndimcd = 4,
                           .mdimad = 2,
                           .ndimbd = 4,
                           .kwid = 2,
                           .vwmd = 2,
                           .vwnd = 1,
                           .padb = 1,
                           .min_indirect_size = 40};
}

enum { THREADS = 8 };

typedef struct asker {
    clblast_tiles tiles;
    oclattn_status status;
} asker;

static int ask(void *data) {
    asker *a = data;
    a->status = blas_use_parameters(device.context, &a->tiles, NULL);
    return 0;
}

/* First of all tests: the device has no parameters yet. */
static void test_one_set_wins(void **state) {
    (void)state;
    thrd_t threads[THREADS];
    asker askers[THREADS];
    int taken[2] = {0, 0};
    for (int i = 0; i < THREADS; i++) {
        askers[i].tiles = some_tiles();
        askers[i].tiles.kwi = i % 2 == 0 ? 2 : 4;
        assert_int_equal(thrd_create(&threads[i], ask, &askers[i]), thrd_success);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(thrd_join(threads[i], NULL), thrd_success);
        assert_true(askers[i].status == OCLATTN_OK || askers[i].status == OCLATTN_UNSUPPORTED);
        taken[i % 2] += askers[i].status == OCLATTN_OK;
    }
    assert_true((taken[0] == THREADS / 2 && taken[1] == 0) || (taken[0] == 0 && taken[1] == THREADS / 2));
}

/* The set that has won. */
static clblast_tiles tiles_in_force(void) {
    clblast_tiles tiles = some_tiles();
    for (tiles.kwi = 2; blas_use_parameters(device.context, &tiles, NULL) != OCLATTN_OK; tiles.kwi *= 2) {
        assert_true(tiles.kwi < 8);
    }
    return tiles;
}

static void test_others_are_refused(void **state) {
    (void)state;
    oclattn_error error;
    clblast_tiles tiles = tiles_in_force();
    tiles.preferred = 1;
    assert_ok(blas_use_parameters(device.context, &tiles, &error), &error);
    tiles.nwg = 16;
    assert_refused(blas_use_parameters(device.context, &tiles, &error), OCLATTN_UNSUPPORTED, &error, "set once");
    tiles.overrides = 0;
    assert_refused(blas_use_parameters(device.context, &tiles, &error), OCLATTN_UNSUPPORTED, &error, "set once");
}

static void store(const char *path, const clblast_tiles *tiles) {
    const tuning_record record = {.found = true, .values = {.clblast = *tiles}};
    text why = {0};
    assert_true(tuning_check(&record.values, TUNING_CLBLAST, 8, &why));
    assert_true(tuning_file_store(device.context, path, TUNING_CLBLAST, &record));
    setenv("OCLATTN_TUNING", path, 1);
}

static mha_problem some_layer(void) {
    random_source source = random_start(options.seed, 3);
    mha_problem p = mha_new(2, 45, 96, 3);
    p.desc.flags |= OCLATTN_MHA_B_Q | OCLATTN_MHA_B_HEAD;
    mha_allocate(&p, &source);
    mha_fill(&p, &source);
    return p;
}

static void assert_plan_says(const mha_problem *p, const char *expected) {
    char described[8192];
    oclattn_error error;
    oclattn_plan *plan = NULL;
    assert_ok(oclattn_mha_plan(device.context, &p->desc, &plan, &error), &error);
    assert_true(oclattn_plan_describe(plan, described, sizeof described) < sizeof described);
    if (!strstr(described, expected)) {
        fail_msg("the plan lacks \"%s\":\n%s", expected, described);
    }
    oclattn_plan_destroy(plan);
}

/* Sizes on both sides of min_indirect_size, that fill no tile. */
static void test_plans_use_them(void **state) {
    (void)state;
    char folder[TEMP_PATH_SIZE], path[TEMP_PATH_SIZE], refused[TEMP_PATH_SIZE];
    oclattn_error error;
    clblast_tiles tiles = tiles_in_force();
    mha_problem p = some_layer();
    temp_folder_make(folder);
    temp_path(path, folder, "taken");
    temp_path(refused, folder, "refused");
    p.desc.projection_variant = "projection_clblast";
    store(path, &tiles);
    if (oclattn_mha_check(device.context, &p.desc, &error) == OCLATTN_OK) {
        assert_plan_says(&p, "mwg 32, nwg 8, kwg 16, mdimc 4, ndimc 2");
        mha_run(&p);
        assert_mha(&p);
        tiles.mwg = 64;
        tiles.preferred = 1;
        store(refused, &tiles);
        assert_refused(oclattn_mha_check(device.context, &p.desc, &error), OCLATTN_UNSUPPORTED, &error, "set once");
        p.desc.projection_variant = NULL;
        assert_plan_says(&p, "not taken: projection_clblast: this process has set other parameters");
    } else {
        assert_int_equal(error.status, OCLATTN_UNSUPPORTED);
        print_message("CLBlast cannot run here: %s\n", error.message);
    }
    unsetenv("OCLATTN_TUNING");
    temp_folder_remove(folder);
    mha_free(&p);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_set_wins),
        cmocka_unit_test(test_others_are_refused),
        cmocka_unit_test(test_plans_use_them),
    };
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
