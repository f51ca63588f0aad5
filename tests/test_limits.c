/* Devices with limits and extensions drawn at random, played by the layer of tests/layer: whatever runs is right, and
 * what does not run is refused with a reason. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <fault_sweep.h>
#include <mha_problem.h>
#include <problem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROFILES = 4, LONG_PROFILES = 400, PROBLEMS = 5, MOST_VALUES = 12, MOST_FAILURES = 5 };

/* Of each setting one value is drawn; NULL leaves it alone. */
typedef struct played_setting {
    const char *name;
    const char *values[MOST_VALUES];
} played_setting;

/* Values that follow from each other stand beside each other: see play_identity. */
static const played_setting settings[] = {
    {"MAX_WORK_GROUP", {NULL, NULL, NULL, "1", "2", "8", "12", "64", "100", "256", "384", "1024"}},
    {"KERNEL_WORK_GROUP", {NULL, NULL, NULL, NULL, "1", "7", "16", "24", "64", "128", "attention=32", "tiled=32,256"}},
    {"MAX_WORK_ITEMS", {NULL, NULL, NULL, "1,1,1", "16,1,1", "64,64,64", "256,256,64", "1024,1,1"}},
    {"LOCAL_MEMORY", {NULL, NULL, NULL, "0", "1", "1024", "4096", "16384", "32768", "49152", "65536"}},
    {"LOCAL_MEMORY_TYPE", {NULL, "1", "2"}},
    {"MAX_ALLOCATION", {NULL, NULL, "33554432", "134217728"}},
    {"GLOBAL_MEMORY", {NULL, NULL, "134217728"}},
    {"ADDRESS_ALIGN", {NULL, "8", "1024", "32768"}},
    {"PARAMETER_BYTES", {NULL, NULL, NULL, NULL, NULL, NULL, "1024", "256", "0"}},
    {"HIDE_EXTENSIONS",
     {NULL, NULL, "cl_khr_fp16", "cl_khr_fp64", "cl_khr_subgroups,cl_intel_subgroups",
      "cl_khr_fp16,cl_khr_subgroups,cl_intel_subgroups,cl_intel_required_subgroup_size",
      "cl_intel_required_subgroup_size", "cl_khr_byte_addressable_store,cl_khr_fp16"}},
    {"SUB_GROUP_SIZE", {NULL, NULL, NULL, "0", "1", "3", "7", "8", "16", "64", "128"}},
    {"SUB_GROUP_QUERIES_FAIL", {NULL, NULL, NULL, "1"}},
    {"MAX_SUB_GROUPS", {NULL, NULL, "0", "1", "64"}},
    {"PREFERRED_MULTIPLE", {NULL, NULL, "1", "32", "64"}},
    {"UNIFIED_MEMORY", {NULL, "0", "1"}},
    {"IN_ORDER", {NULL, NULL, "1"}},
    {"COMPUTE_UNITS", {NULL, "1", "108"}},
    {"FAIL_QUERIES", {NULL, NULL, NULL, NULL, "1001-1026,1029-1049", "1023", "1004", "105C,105B", "1050-107F"}},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* Devices, that the table of tuned parameters knows or does not. */
static const char *const identities[][4] = {
    {"2", NULL, NULL, NULL},
    {"4", NULL, NULL, NULL},
    {"8", NULL, NULL, "OpenCL 1.2 random"},
    {"4", "QUALCOMM Adreno(TM)", "QUALCOMM", "OpenCL 2.0 Adreno(TM) 650"},
    {"4", "Mali-G52", "ARM", "OpenCL 2.0 random"},
    {"4", "NVIDIA GeForce RTX 3050", "NVIDIA Corporation", "OpenCL 3.0 CUDA"},
    {"4", "gfx1030", "Advanced Micro Devices, Inc.", "OpenCL 2.0 AMD-APP"},
    {"4", "Intel(R) Iris(R) Xe Graphics", "Intel(R) Corporation", "OpenCL 3.0 NEO"},
};
enum { IDENTITIES = sizeof identities / sizeof *identities };
static const char *const identity_names[4] = {"DEVICE_TYPE", "DEVICE_NAME", "VENDOR", "DEVICE_VERSION"};

static void play(const char *name, const char *value) {
    char variable[64];
    snprintf(variable, sizeof variable, "OCLATTN_LAYER_%s", name);
    if (value) {
        setenv(variable, value, 1);
    } else {
        unsetenv(variable);
    }
}

static const char *draw(const played_setting *setting, random_source *source) {
    int count = MOST_VALUES;
    while (!setting->values[count - 1]) {
        count--;
    }
    return setting->values[random_between(source, 0, count - 1)];
}

static void play_random(random_source *source) {
    const char *const *identity = identities[random_between(source, 0, IDENTITIES - 1)];
    for (int i = 0; i < 4; i++) {
        play(identity_names[i], identity[i]);
    }
    for (int i = 0; i < SETTINGS; i++) {
        play(settings[i].name, random_one_in(source, 2) ? draw(&settings[i], source) : NULL);
    }
}

static int play_nothing(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        play(identity_names[i], NULL);
    }
    for (int i = 0; i < SETTINGS; i++) {
        play(settings[i].name, NULL);
    }
    return 0;
}

/* As a shell would take it. */
static void print_played(void) {
    for (int i = 0; i < 4 + SETTINGS; i++) {
        char variable[64];
        snprintf(variable, sizeof variable, "OCLATTN_LAYER_%s", i < 4 ? identity_names[i] : settings[i - 4].name);
        if (getenv(variable)) {
            printf("  %s='%s'\n", variable, getenv(variable));
        }
    }
    fflush(stdout);
}

/* ---- problems --------------------------------------------------------------------------------------------------- */

static const char *const variants[] = {NULL, NULL, "attention_portable", "attention_tiled_gpu"};

static uint64_t random_features(random_source *source) {
    uint64_t features = 0;
    for (int f = 0; f < FEATURE_COUNT; f++) {
        features |= random_one_in(source, 5) ? 1ull << f : 0;
    }
    return features & ~(1ull << FEATURE_PACKED_QKV);
}

/* A device that takes no more than the 256 bytes of arguments played above can run nothing. */
static bool may_be_refused(const problem *p, oclattn_status status, const oclattn_error *error) {
    const char *bytes = getenv("OCLATTN_LAYER_PARAMETER_BYTES");
    const bool named = p->desc.variant && strcmp(p->desc.variant, "attention_portable") != 0;
    return status == OCLATTN_UNSUPPORTED && strlen(error->message) > 10 &&
           (named || (bytes && strcmp(bytes, "256") == 0));
}

static bool is_right(problem *p, bool on_host, char message[PROBLEM_MESSAGE_SIZE]) {
    oclattn_error error;
    const oclattn_status status = on_host ? problem_run_host(p, &error) : problem_run(p, &error);
    if (status == OCLATTN_OK) {
        return problem_check(p, message);
    }
    snprintf(message, PROBLEM_MESSAGE_SIZE, "%s: %.300s", oclattn_status_string(status), error.message);
    return may_be_refused(p, status, &error);
}

static bool run_problem(uint64_t profile, int number) {
    random_source source = random_start(options.seed, profile * PROBLEMS + (uint64_t)number);
    problem p = problem_random(&source, random_features(&source));
    char message[PROBLEM_MESSAGE_SIZE];
    const bool can_be_on_host = !p.strides_in_args && !(p.desc.score.flags & OCLATTN_RUNTIME_LENGTHS);
    p.desc.variant = variants[random_between(&source, 0, sizeof variants / sizeof *variants - 1)];
    const bool right = is_right(&p, can_be_on_host && random_one_in(&source, 4), message);
    if (!right) {
        printf("profile %llu, problem %d (%s): %s\n", (unsigned long long)profile, number,
               p.desc.variant ? p.desc.variant : "any variant", message);
        print_played();
    }
    problem_free(&p);
    return right;
}

static bool run_profile(uint64_t profile) {
    random_source source = random_start(options.seed, 1000000 + profile);
    bool right = true;
    play_random(&source);
    if (!device_open(options.device)) {
        printf("profile %llu: no context\n", (unsigned long long)profile);
        print_played();
        right = false;
    }
    for (int number = 0; right && number < PROBLEMS; number++) {
        right = run_problem(profile, number);
    }
    device_close();
    return right;
}

/* Their work-items are large: as many as other kernels have in a work-group elsewhere would overrun a thread's stack.
 */
static void test_variants_of_cpus_elsewhere(void **state) {
    static const char *const names[] = {"attention_tiled_cpu", "attention_few_rows_cpu"};
    char spec[32];
    (void)state;
    snprintf(spec, sizeof spec, "%d:%d", device.info.platform_index, device.info.device_index);
    device_close();
    play("DEVICE_TYPE", "4");
    assert_true(device_open(spec));
    for (int i = 0; i < 2; i++) {
        random_source source = random_start(11, (uint64_t)i);
        problem p = problem_new(2, 1, 1, i ? 4 : 200, 70, 256, 256);
        p.desc.variant = names[i];
        problem_allocate(&p, &source);
        problem_fill(&p, &source, 0);
        assert_problem(&p);
        problem_free(&p);
    }
    device_close();
    play_nothing(NULL);
    assert_true(device_open(spec));
}

/* The profiles are the same every day, since each brings kernels to compile; with --long the seed draws them. */
static void test_random_limits(void **state) {
    (void)state;
    const int64_t count = options.is_long ? LONG_PROFILES : PROFILES;
    const char *const given = options.device;
    char spec[32];
    int failures = 0;
    snprintf(spec, sizeof spec, "%d:%d", device.info.platform_index, device.info.device_index);
    device_close();
    options.device = spec;
    options.few_programs = true;
    options.seed = options.is_long ? options.seed : 9;
    for (int64_t i = 0; i < count && failures < MOST_FAILURES; i++) {
        const int64_t profile = options.only >= 0 ? options.only : i;
        failures += !run_profile((uint64_t)profile);
        if (options.only >= 0) {
            break;
        }
    }
    play_nothing(NULL);
    options.device = given;
    if (failures) {
        fail_msg("%d profiles failed", failures);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_variants_of_cpus_elsewhere, play_nothing, play_nothing),
        cmocka_unit_test_setup_teardown(test_random_limits, play_nothing, play_nothing),
    };
    return fault_layer_is_loaded() ? harness_run(argc, argv, tests, sizeof tests / sizeof *tests) : 77;
}
