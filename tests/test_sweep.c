/* Random problems against the float64 reference: options alone, in all pairs, then at random. */
#include <problem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_COUNT = 5000, FEW_COUNT = 80, LONG_COUNT = 100000, MOST_FAILURES = 10 };

static uint64_t random_features(random_source *source) {
    uint64_t features = 0;
    for (int f = 0; f < FEATURE_COUNT; f++) {
        const bool is_rare = f == FEATURE_NAN || f == FEATURE_HOST || f == FEATURE_PACKED_QKV;
        if (random_one_in(source, is_rare ? 10 : 4)) {
            features |= 1ull << f;
        }
    }
    return features;
}

/* Number 0 has no feature; then come those with one, then those with two. */
static uint64_t features_of(int64_t number, random_source *source) {
    if (number == 0) {
        return 0;
    }
    number--;
    if (number < FEATURE_COUNT) {
        return 1ull << number;
    }
    number -= FEATURE_COUNT;
    for (int64_t first = 1; first < FEATURE_COUNT; first++) {
        if (number < first) {
            return 1ull << first | 1ull << number;
        }
        number -= first;
    }
    return random_features(source);
}

static bool can_run_on_host(const problem *p, uint64_t features) {
    return (features >> FEATURE_HOST & 1) && !p->strides_in_args && !(p->desc.score.flags & OCLATTN_RUNTIME_LENGTHS);
}

/* Runs the problem. A variant that the problem names may be too large for the device: then any other takes it. */
static oclattn_status run_problem(problem *p, uint64_t features, oclattn_error *error) {
    const bool on_host = can_run_on_host(p, features);
    const oclattn_status status = on_host ? problem_run_host(p, error) : problem_run(p, error);
    if (status != OCLATTN_UNSUPPORTED || !p->desc.variant || !strstr(error->message, p->desc.variant)) {
        return status;
    }
    p->desc.variant = NULL;
    return on_host ? problem_run_host(p, error) : problem_run(p, error);
}

static bool run_one(int64_t number) {
    random_source source = random_start(options.seed, (uint64_t)number);
    const uint64_t features = features_of(number, &source);
    problem p = problem_random(&source, features);
    oclattn_error error;
    char message[PROBLEM_MESSAGE_SIZE];
    const oclattn_status status = run_problem(&p, features, &error);
    bool right = status == OCLATTN_OK;
    if (right) {
        right = problem_check(&p, message);
    } else {
        snprintf(message, sizeof message, "%s: %.300s", oclattn_status_string(status), error.message);
    }
    if (!right) {
        printf("problem %lld: %s\n  OCLATTN_TEST_SEED=%llu test_sweep --device %d:%d --only %lld\n  ",
               (long long)number, message, (unsigned long long)options.seed, device.info.platform_index,
               device.info.device_index, (long long)number);
        problem_print_command(&p);
        printf("\n");
        fflush(stdout);
    }
    problem_free(&p);
    return right;
}

static void test_random_problems(void **state) {
    (void)state;
    const int64_t usual = options.is_long ? LONG_COUNT : options.few_programs ? FEW_COUNT : DEFAULT_COUNT;
    const int64_t count = options.count >= 0 ? options.count : usual;
    int failures = 0;
    if (options.only >= 0) {
        assert_true(run_one(options.only));
        return;
    }
    for (int64_t number = 0; number < count && failures < MOST_FAILURES; number++) {
        failures += !run_one(number);
    }
    if (failures) {
        fail_msg("%d problems failed", failures);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_problems)};
    return harness_run(argc, argv, tests, sizeof tests / sizeof *tests);
}
