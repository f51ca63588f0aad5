/* The plugin for ONNX Runtime without ONNX Runtime: a host that is too old, and what the plugin does in the host's
 * memory before attention, against plain loops. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cache.h>
#include <convert.h>
#include <prepare.h>

ort_status *CreateEpFactories(const char *registration_name, const ort_api_base *base, const ort_logger *logger,
                              ort_factory **factories, size_t most, size_t *count);

/* ---- a played host ---------------------------------------------------------------------------------------------- */

static char last_message[256];

static ort_status *create_status(int code, const char *message) {
    assert_int_equal(code, ORT_EP_FAIL);
    snprintf(last_message, sizeof(last_message), "%s", message);
    return (ort_status *)last_message;
}

static const ort_api *version_1_only(uint32_t version) {
    static const ort_api oldest = {.CreateStatus = create_status};
    return version == 1 ? &oldest : NULL;
}

static void an_old_host_gets_a_status(void **state) {
    const ort_api_base base = {.GetApi = version_1_only};
    ort_factory *made = NULL;
    size_t count = 7;
    (void)state;
    assert_non_null(CreateEpFactories("oclattn", &base, NULL, &made, 1, &count));
    assert_int_equal(count, 0);
    assert_null(made);
    assert_non_null(strstr(last_message, "1.23 or newer"));
}

typedef struct share {
    void (*function)(void *user, size_t i);
    void *user;
    size_t begin, step, end;
} share;

static void *run_share(void *argument) {
    const share *part = argument;
    for (size_t i = part->begin; i < part->end; i += part->step) {
        part->function(part->user, i);
    }
    return NULL;
}

static size_t parallel_calls;

static ort_status *run_parallel(const ort_context *context, void (*function)(void *user, size_t i), size_t total,
                                size_t batches, void *user) {
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    share parts[THREADS];
    (void)context;
    (void)batches;
    ++parallel_calls;
    for (size_t t = 0; t < THREADS; ++t) {
        parts[t] = (share){function, user, t, THREADS, total};
        assert_int_equal(pthread_create(&threads[t], NULL, run_share, &parts[t]), 0);
    }
    for (size_t t = 0; t < THREADS; ++t) {
        pthread_join(threads[t], NULL);
    }
    return NULL;
}

static const ort_api played_api = {.KernelContext_ParallelFor = run_parallel};
static const ort_host played_host = {.api = &played_api};

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static uint16_t stored(ort_element element, float value) {
    uint16_t bits = 0;
    store_float(&bits, element, 0, value);
    return bits;
}

static void numbers_survive_a_round_trip(void **state) {
    static const ort_element elements[] = {ORT_FLOAT16, ORT_BFLOAT16};
    (void)state;
    for (size_t e = 0; e < 2; ++e) {
        for (uint32_t bits = 0; bits <= UINT16_MAX; ++bits) {
            const uint16_t from = (uint16_t)bits;
            const float value = load_float(&from, elements[e], 0);
            if (!isnan(value)) {
                assert_int_equal(stored(elements[e], value), from);
            }
        }
    }
}

static void numbers_are_rounded_to_nearest_even(void **state) {
    (void)state;
    assert_int_equal(stored(ORT_FLOAT16, 1 + 0x1p-11f), 0x3c00);
    assert_int_equal(stored(ORT_FLOAT16, 1 + 3 * 0x1p-11f), 0x3c02);
    assert_int_equal(stored(ORT_FLOAT16, 1 + 0x1.2p-11f), 0x3c01);
    assert_int_equal(stored(ORT_FLOAT16, 65519.0f), 0x7bff);
    assert_int_equal(stored(ORT_FLOAT16, 65520.0f), 0x7c00);
    assert_int_equal(stored(ORT_FLOAT16, -INFINITY), 0xfc00);
    assert_int_equal(stored(ORT_FLOAT16, 0x1.8p-24f), 0x0002);
    assert_int_equal(stored(ORT_FLOAT16, 0x1p-25f), 0x0000);
    assert_int_equal(stored(ORT_BFLOAT16, 1 + 0x1p-8f), 0x3f80);
    assert_int_equal(stored(ORT_BFLOAT16, 1 + 3 * 0x1p-8f), 0x3f82);
    assert_int_equal(stored(ORT_BFLOAT16, 3.4e38f), 0x7f80);
}

static void a_nan_stays_one(void **state) {
    const uint32_t low_bits = 0x7f800001u;
    float value;
    (void)state;
    memcpy(&value, &low_bits, sizeof(value));
    for (int e = 0; e < 2; ++e) {
        const ort_element element = e == 0 ? ORT_FLOAT16 : ORT_BFLOAT16;
        const uint16_t bits = stored(element, value);
        assert_true(isnan(load_float(&bits, element, 0)));
    }
}

/* ---- caches ----------------------------------------------------------------------------------------------------- */

enum { BATCH = 2, HEADS = 3, WIDTH = 32, PAST_ROOM = 500, FRESH = 7, ROOM = 600 };
static const int32_t past_rows[BATCH] = {500, 123};

static float value_at(int64_t which, int64_t index) {
    return (float)(which * 10000000 + index);
}

static float *new_values(int64_t which, int64_t count) {
    float *values = malloc((size_t)count * sizeof(float));
    assert_non_null(values);
    for (int64_t i = 0; i < count; ++i) {
        values[i] = value_at(which, i);
    }
    return values;
}

/* What row `row` of the result holds: of the past, of the new rows [batch, rows, heads, width], or zeros. */
static float expected_at(int64_t b, int64_t h, int64_t row, int64_t column, int64_t past_room) {
    const int64_t fresh = row - past_rows[b];
    if (fresh < 0) {
        return value_at(1, ((b * HEADS + h) * past_room + row) * WIDTH + column);
    }
    return fresh < FRESH ? value_at(2, ((b * FRESH + fresh) * HEADS + h) * WIDTH + column) : 0.0f;
}

static cache_append append_of(const float *past, int64_t past_room, const float *fresh, float *present, int64_t room) {
    const int64_t row = WIDTH * (int64_t)sizeof(float);
    return (cache_append){.batch = BATCH,
                          .heads = HEADS,
                          .row_bytes = (size_t)row,
                          .past = (const char *)past,
                          .past_capacity = past_room,
                          .past_rows = past_rows,
                          .fresh = (const char *)fresh,
                          .fresh_rows = FRESH,
                          .fresh_strides = {FRESH * HEADS * row, row, HEADS * row},
                          .present = (char *)present,
                          .capacity = room};
}

static void check_present(const float *present, int64_t past_room, int64_t rows_to_check) {
    for (int64_t i = 0; i < BATCH * HEADS * ROOM * WIDTH; ++i) {
        const int64_t head = i / (ROOM * WIDTH), row = i / WIDTH % ROOM;
        const int64_t b = head / HEADS;
        if (row < past_rows[b] + rows_to_check) {
            assert_true(present[i] == expected_at(b, head % HEADS, row, i % WIDTH, past_room));
        }
    }
}

static void a_cache_is_brought_together(void **state) {
    const attention_call call = {.host = &played_host};
    float *past = new_values(1, BATCH * HEADS * PAST_ROOM * WIDTH),
          *fresh = new_values(2, BATCH * FRESH * HEADS * WIDTH);
    float *present = new_values(3, BATCH * HEADS * ROOM * WIDTH);
    const cache_append append = append_of(past, PAST_ROOM, fresh, present, ROOM);
    (void)state;
    parallel_calls = 0;
    cache_append_run(&call, &append);
    assert_int_equal(parallel_calls, 1);
    check_present(present, PAST_ROOM, ROOM);
    free(past);
    free(fresh);
    free(present);
}

/* Where past and present are one buffer, only the new rows are written. */
static void a_cache_grows_in_place(void **state) {
    const attention_call call = {.host = &played_host};
    float *fresh = new_values(2, BATCH * FRESH * HEADS * WIDTH), *cache = new_values(1, BATCH * HEADS * ROOM * WIDTH);
    const cache_append append = append_of(cache, ROOM, fresh, cache, ROOM);
    (void)state;
    cache_append_run(&call, &append);
    check_present(cache, ROOM, FRESH);
    const int64_t last = BATCH * HEADS * ROOM * WIDTH - 1;
    assert_true(cache[last] == value_at(1, last));
    free(fresh);
    free(cache);
}

/* ---- biases and rotary positions -------------------------------------------------------------------------------- */

static float small_at(int64_t which, int64_t index) {
    return (float)((index * 37 + which * 11) % 61 - 30) / 32.0f;
}

/* Numbers that all types hold exactly. */
static void *new_elements(ort_element element, int64_t which, int64_t count) {
    void *values = malloc((size_t)count * sizeof(float));
    assert_non_null(values);
    for (int64_t i = 0; i < count; ++i) {
        store_float(values, element, i, small_at(which, i));
    }
    return values;
}

static work_lane *new_lane(void) {
    work_lane *lane = calloc(1, sizeof(*lane));
    assert_non_null(lane);
    return lane;
}

static void free_lane(work_lane *lane) {
    for (size_t i = 0; i < SCRATCHES; ++i) {
        free(lane->scratch[i].memory);
    }
    free(lane);
}

static void assert_near(ort_element element, float value, double expected) {
    const double unit = element == ORT_FLOAT ? 0x1p-22 : element == ORT_FLOAT16 ? 0x1p-10 : 0x1p-7;
    assert_true(fabs((double)value - expected) <= unit * fmax(1, fabs(expected)));
}

typedef struct row_case {
    ort_element element;
    int64_t rows, width, pairs;
    bool interleaved;
} row_case;

static void check_bias(const row_case *c) {
    enum { ENTRIES = 2, OFFSET = 5 };
    attention_call call = {.host = &played_host, .lane = new_lane()};
    oclattn_error error;
    const prepared_rows rows = {c->element, ENTRIES, HEADS, c->rows, c->width};
    const int64_t count = ENTRIES * c->rows * HEADS * c->width;
    void *from = new_elements(c->element, 1, count), *bias = new_elements(c->element, 2, OFFSET + HEADS * c->width);
    /* [batch, heads, rows, width] becomes [batch, rows, heads, width]. */
    operand_place place = {.memory = from, .strides = {HEADS * c->rows * c->width, c->rows * c->width, c->width}};
    assert_int_equal(prepare_biased(&call, &rows, bias, OFFSET, SCRATCH_QUERY, &place, &error), OCLATTN_OK);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t column = i % c->width, h = i / c->width % HEADS, s = i / (c->width * HEADS) % c->rows;
        const int64_t b = i / (c->width * HEADS * c->rows);
        const double expected = (double)small_at(1, ((b * HEADS + h) * c->rows + s) * c->width + column) +
                                (double)small_at(2, OFFSET + h * c->width + column);
        assert_near(c->element, load_float(place.memory, c->element, i), expected);
    }
    free(from);
    free(bias);
    free_lane(call.lane);
}

static double rotated_at(const row_case *c, int64_t row_begin, int64_t position, int64_t column) {
    const int64_t apart = c->interleaved ? 1 : c->pairs;
    const int64_t pair = c->interleaved ? column / 2 : column % c->pairs;
    const bool second = c->interleaved ? column % 2 == 1 : column >= c->pairs;
    if (column >= 2 * c->pairs) {
        return (double)small_at(1, row_begin + column);
    }
    const double own = (double)small_at(1, row_begin + column);
    const double other = (double)small_at(1, row_begin + column + (second ? -apart : apart));
    const double cosine = (double)small_at(3, position * c->pairs + pair);
    const double sine = (double)small_at(4, position * c->pairs + pair);
    return second ? own * cosine + other * sine : own * cosine - other * sine;
}

static void check_rotary(const row_case *c) {
    enum { ENTRIES = 2 };
    static const int32_t first[ENTRIES] = {0, 9};
    attention_call call = {.host = &played_host, .lane = new_lane()};
    oclattn_error error;
    const prepared_rows rows = {c->element, ENTRIES, HEADS, c->rows, c->width};
    const int64_t count = ENTRIES * c->rows * HEADS * c->width,
                  positions = c->rows + 8; /* one too few for the last row */
    void *from = new_elements(c->element, 1, count);
    void *cosines = new_elements(c->element, 3, positions * c->pairs);
    void *sines = new_elements(c->element, 4, positions * c->pairs);
    const rotary_tables tables = {cosines, sines, positions, c->pairs, c->interleaved, first};
    operand_place place = {.memory = from, .strides = {c->rows * HEADS * c->width, c->width, HEADS * c->width}};
    assert_int_equal(prepare_rotated(&call, &rows, &tables, SCRATCH_QUERY, &place, &error), OCLATTN_OK);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t column = i % c->width, s = i / (c->width * HEADS) % c->rows;
        const int64_t wanted = first[i / (c->width * HEADS * c->rows)] + s;
        const int64_t position = wanted < positions ? wanted : positions - 1;
        assert_near(c->element, load_float(place.memory, c->element, i), rotated_at(c, i - column, position, column));
    }
    free(from);
    free(cosines);
    free(sines);
    free_lane(call.lane);
}

static const row_case row_cases[] = {
    {ORT_FLOAT, 5, 16, 8, false},  {ORT_FLOAT, 5, 16, 8, true},     {ORT_FLOAT, 3, 21, 8, false},
    {ORT_FLOAT, 3, 21, 8, true},   {ORT_FLOAT, 300, 64, 32, false}, {ORT_FLOAT16, 5, 16, 8, false},
    {ORT_FLOAT16, 5, 20, 8, true}, {ORT_BFLOAT16, 5, 16, 8, false}, {ORT_BFLOAT16, 300, 64, 16, true},
};

static void biases_are_added(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(row_cases) / sizeof(row_cases[0]); ++i) {
        check_bias(&row_cases[i]);
    }
}

static void rows_are_turned(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(row_cases) / sizeof(row_cases[0]); ++i) {
        check_rotary(&row_cases[i]);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_host_gets_a_status),
        cmocka_unit_test(numbers_survive_a_round_trip),
        cmocka_unit_test(numbers_are_rounded_to_nearest_even),
        cmocka_unit_test(a_nan_stays_one),
        cmocka_unit_test(a_cache_is_brought_together),
        cmocka_unit_test(a_cache_grows_in_place),
        cmocka_unit_test(biases_are_added),
        cmocka_unit_test(rows_are_turned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
