/* What threads share in the plugin for ONNX Runtime: plans, of which each class of shapes gets one, and lanes, which
 * nobody shares while they are taken. Takes [--device SPEC]. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <lanes.h>
#include <plans.h>

enum { THREADS = 8, LENGTHS = 64, CLASSES = 7 }; /* 1, 2, 4, ... 64 */

static const char *device_spec;
static const ort_host silent_host;

static oclattn_context *new_context(void) {
    oclattn_error error;
    oclattn_context *context = NULL;
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    options.device = device_spec;
    if (oclattn_context_create(&options, &context, &error) != OCLATTN_OK) {
        print_error("%s\n", error.message);
    }
    assert_non_null(context);
    return context;
}

static oclattn_attention_desc desc_of(int64_t kv_len) {
    oclattn_attention_desc desc;
    oclattn_attention_desc_init(&desc);
    desc.batch = desc.q_heads = desc.kv_heads = desc.q_len = 1;
    desc.kv_len = kv_len;
    desc.head_dim = desc.v_dim = 16;
    return desc;
}

typedef struct shared_work {
    plan_cache plans;
    lane_pool lanes;
    pthread_mutex_t lock;
    work_lane *taken[THREADS];
    bool failed;
} shared_work;

typedef struct thread_work {
    shared_work *shared;
    size_t index;
    const oclattn_plan *plans[LENGTHS + 1];
} thread_work;

/* Whether no other thread has the lane. */
static bool note_taken(shared_work *shared, size_t index, work_lane *lane) {
    bool alone = true;
    pthread_mutex_lock(&shared->lock);
    for (size_t t = 0; t < THREADS; ++t) {
        alone = alone && (lane == NULL || shared->taken[t] != lane);
    }
    shared->taken[index] = lane;
    pthread_mutex_unlock(&shared->lock);
    return alone;
}

static void *find_plans(void *argument) {
    thread_work *work = argument;
    oclattn_error error;
    for (int64_t length = 1; length <= LENGTHS; ++length) {
        work_lane *lane = NULL;
        const oclattn_attention_desc desc = desc_of(length);
        bool fine = lanes_take(&work->shared->lanes, &lane, &error) == OCLATTN_OK &&
                    note_taken(work->shared, work->index, lane);
        fine = fine && plans_find(&work->shared->plans, &desc, &work->plans[length], &error) == OCLATTN_OK;
        note_taken(work->shared, work->index, NULL);
        if (lane != NULL) {
            lanes_give_back(&work->shared->lanes, lane, false);
        }
        if (!fine) {
            work->shared->failed = true;
        }
    }
    return NULL;
}

static size_t count_plans(const thread_work *work) {
    size_t count = 1;
    for (int64_t length = 2; length <= LENGTHS; ++length) {
        count += work->plans[length] != work->plans[length - 1];
    }
    return count;
}

static void threads_plan_each_class_once(void **state) {
    static thread_work work[THREADS];
    pthread_t threads[THREADS];
    oclattn_context *context = new_context();
    shared_work shared = {.failed = false};
    (void)state;
    plans_init(&shared.plans, context, &silent_host);
    lanes_init(&shared.lanes, context);
    pthread_mutex_init(&shared.lock, NULL);
    for (size_t t = 0; t < THREADS; ++t) {
        work[t] = (thread_work){.shared = &shared, .index = t};
        assert_int_equal(pthread_create(&threads[t], NULL, find_plans, &work[t]), 0);
    }
    for (size_t t = 0; t < THREADS; ++t) {
        pthread_join(threads[t], NULL);
    }
    assert_false(shared.failed);
    assert_int_equal(count_plans(&work[0]), CLASSES);
    for (size_t t = 1; t < THREADS; ++t) {
        assert_memory_equal(work[t].plans, work[0].plans, sizeof(work[0].plans));
    }
    lanes_clear(&shared.lanes);
    plans_clear(&shared.plans);
    pthread_mutex_destroy(&shared.lock);
    oclattn_context_destroy(context);
}

int main(int count, char **words) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(threads_plan_each_class_once)};
    device_spec = count > 2 && strcmp(words[1], "--device") == 0 ? words[2] : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
