/* What the library reaches, beside what the measured rates allow. */
#include <math.h>

#include "bench_parts.h"
#include "measure/clock.h"
#include "measure/peaks.h"

typedef struct attention_work {
    int64_t heads, kv_heads, rows, keys, width;
    bool reads_memory;    /* copies of K and V take turns, so that no cache answers for memory */
    int64_t copies, turn; /* of K and V */
    oclattn_plan *plan;
    oclattn_attention_args args;
} attention_work;

static bool library_failed(const oclattn_error *error, failure *f) {
    return fail_with(f, EXIT_RUNTIME, "%s", error->message);
}

static int64_t cache_elements(const attention_work *w) {
    return w->kv_heads * w->keys * w->width;
}

static bool run_attention(void *data, cl_command_queue queue, cl_event *event, failure *f) {
    attention_work *w = data;
    oclattn_error error = {0};
    w->args.k.offset = w->args.v.offset = w->turn * cache_elements(w);
    w->turn = (w->turn + 1) % w->copies;
    return oclattn_attention_enqueue(w->plan, queue, &w->args, 0, NULL, event, &error) == OCLATTN_OK ||
           library_failed(&error, f);
}

static bool plan_attention(const bench *b, attention_work *w, failure *f) {
    oclattn_attention_desc desc;
    oclattn_error error = {0};
    oclattn_attention_desc_init(&desc);
    desc.batch = 1;
    desc.q_heads = w->heads;
    desc.kv_heads = w->kv_heads;
    desc.q_len = w->rows;
    desc.kv_len = w->keys;
    desc.head_dim = desc.v_dim = w->width;
    oclattn_attention_args_init(&w->args);
    return oclattn_attention_plan(b->s.context, &desc, &w->plan, &error) == OCLATTN_OK || library_failed(&error, f);
}

static int64_t copies_of(const bench *b, const attention_work *w) {
    const size_t both = 2 * (size_t)cache_elements(w) * sizeof(float);
    return w->reads_memory ? 1 + (int64_t)(measure_uncached_bytes(&b->device) / both) : 1;
}

static bool bind_attention(const bench *b, attention_work *w, failure *f) {
    w->copies = copies_of(b, w);
    const size_t workspace = oclattn_plan_workspace_bytes(w->plan);
    const size_t cache = (size_t)(w->copies * cache_elements(w)) * sizeof(float);
    const size_t rows = (size_t)(w->heads * w->rows * w->width) * sizeof(float);
    w->args.q.buffer = measure_noise(&b->device, rows, f);
    w->args.k.buffer = measure_noise(&b->device, cache, f);
    w->args.v.buffer = measure_noise(&b->device, cache, f);
    w->args.o.buffer = measure_buffer(&b->device, rows, f);
    w->args.workspace = workspace > 0 ? measure_buffer(&b->device, workspace, f) : NULL;
    return w->args.q.buffer && w->args.k.buffer && w->args.v.buffer && w->args.o.buffer &&
           (workspace == 0 || w->args.workspace);
}

/* Seconds of one call; below 0: it failed. */
static double time_attention(const bench *b, attention_work *w, double share_s, failure *f) {
    const double end_s = now_s() + share_s;
    const bool ready = plan_attention(b, w, f) && bind_attention(b, w, f);
    const double time = ready ? least_time(b, run_attention, w, end_s - now_s(), f) : -1;
    measure_release_buffer(w->args.q.buffer);
    measure_release_buffer(w->args.k.buffer);
    measure_release_buffer(w->args.v.buffer);
    measure_release_buffer(w->args.o.buffer);
    measure_release_buffer(w->args.workspace);
    oclattn_plan_destroy(w->plan);
    w->plan = NULL;
    return time;
}

static double operations_of(const attention_work *w) {
    return 4.0 * (double)(w->heads * w->rows * w->keys * w->width);
}

/* The device needs at least this long: every product once, every byte once. */
static double bound_of(const bench *b, const attention_work *w) {
    const double bytes = 4.0 * (double)((2 * w->heads * w->rows + 2 * w->kv_heads * w->keys) * w->width);
    if (b->fma_f32 <= 0 || b->read_bandwidth <= 0) {
        return -1;
    }
    return fmax(operations_of(w) / b->fma_f32, bytes / b->read_bandwidth);
}

static void report_attention(const bench *b, const char *kind, const attention_work *w, double time, const failure *f) {
    char measure[64];
    const double bound = bound_of(b, w);
    bench_print(json_pack("{s:s, s:[i, I, I, I, I, I, I]}", "problem", kind, "shape", 1, (json_int_t)w->heads,
                          (json_int_t)w->kv_heads, (json_int_t)w->rows, (json_int_t)w->keys, (json_int_t)w->width,
                          (json_int_t)w->width),
                b->to);
    snprintf(measure, sizeof measure, "attention_%s_reachable_gflops", kind);
    report(b, measure, bound > 0 ? operations_of(w) / bound / 1e9 : -1, "the FMA rate or the bandwidth is not known");
    snprintf(measure, sizeof measure, "attention_%s_reached_gflops", kind);
    report(b, measure, time > 0 ? operations_of(w) / time / 1e9 : -1, f->text);
}

/* Sequences grow until one call takes long enough to fill the device. */
static void bench_many_rows(bench *b) {
    const double long_enough_s = 0.005;
    attention_work w = {.heads = 8, .kv_heads = 8, .rows = 512, .keys = 512, .width = 64};
    failure f = {0};
    const double share_s = starts(b, "attention_many_rows_reached_gflops", 1), end_s = now_s() + share_s;
    double time = time_attention(b, &w, share_s / 8, &f);
    while (time > 0 && time < long_enough_s && w.rows < 8192) {
        w.rows = w.keys = 2 * w.rows;
        time = time_attention(b, &w, share_s / 8, &f);
    }
    if (time > 0) {
        time = time_attention(b, &w, end_s - now_s(), &f);
    }
    report_attention(b, "many_rows", &w, time, &f);
}

void bench_attention(bench *b) {
    attention_work one = {.heads = 32, .kv_heads = 8, .rows = 1, .keys = 4096, .width = 128, .reads_memory = true};
    failure f = {0};
    bench_many_rows(b);
    const double time = time_attention(b, &one, starts(b, "attention_one_row_reached_gflops", 1), &f);
    report_attention(b, "one_row", &one, time, &f);
}
