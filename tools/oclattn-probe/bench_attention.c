/* What the library reaches, beside what the measured rates allow. */
#include <math.h>

#include "bench_parts.h"

typedef struct attention_work {
    int64_t heads, kv_heads, rows, keys, width;
    oclattn_plan *plan;
    oclattn_attention_args args;
} attention_work;

static bool run_attention(bench *b, void *data) {
    attention_work *w = data;
    oclattn_error error = {0};
    if (oclattn_attention_enqueue(w->plan, b->s.queue, &w->args, 0, NULL, NULL, &error) == OCLATTN_OK) {
        return true;
    }
    snprintf(b->s.problem, sizeof b->s.problem, "%.500s", error.message);
    return false;
}

static bool plan_attention(bench *b, attention_work *w) {
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
    if (oclattn_attention_plan(b->s.context, &desc, &w->plan, &error) != OCLATTN_OK) {
        snprintf(b->s.problem, sizeof b->s.problem, "%.500s", error.message);
        return false;
    }
    return true;
}

/* K and V are noise; Q is the beginning of K, which does no harm. */
static bool bind_attention(bench *b, attention_work *w) {
    const size_t workspace = oclattn_plan_workspace_bytes(w->plan);
    const size_t cache = (size_t)(w->kv_heads * w->keys * w->width) * sizeof(float);
    const size_t out = (size_t)(w->heads * w->rows * w->width) * sizeof(float);
    if (cache > b->data_bytes || out > b->data_bytes) {
        snprintf(b->s.problem, sizeof b->s.problem, "the device's buffers are too small for it");
        return false;
    }
    w->args.q.buffer = w->args.k.buffer = b->data;
    w->args.v.buffer = session_buffer(&b->s, cache, NULL);
    w->args.o.buffer = b->out;
    w->args.workspace = workspace > 0 ? session_buffer(&b->s, workspace, NULL) : NULL;
    if (!w->args.v.buffer || (workspace > 0 && !w->args.workspace)) {
        return false;
    }
    const cl_int code = clEnqueueCopyBuffer(b->s.queue, b->data, w->args.v.buffer, 0, 0, cache, 0, NULL, NULL);
    return code == CL_SUCCESS || session_failed(&b->s, "clEnqueueCopyBuffer", code);
}

/* Seconds of one call; below 0: it failed. */
static double time_attention(bench *b, attention_work *w) {
    const bool ready = plan_attention(b, w) && bind_attention(b, w);
    const double time = ready ? least_time(b, run_attention, w) : -1;
    oclattn_plan_destroy(w->plan);
    w->plan = NULL;
    while (b->s.buffer_count > 2) {
        clReleaseMemObject(b->s.buffers[--b->s.buffer_count]);
    }
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

static void report_attention(bench *b, const char *kind, const attention_work *w, double time) {
    char measure[64];
    const double bound = bound_of(b, w);
    bench_print(json_pack("{s:s, s:[i, I, I, I, I, I, I]}", "problem", kind, "shape", 1, (json_int_t)w->heads,
                         (json_int_t)w->kv_heads, (json_int_t)w->rows, (json_int_t)w->keys, (json_int_t)w->width,
                         (json_int_t)w->width),
               b->to);
    snprintf(measure, sizeof measure, "attention_%s_reachable_gflops", kind);
    report(b, measure, bound > 0 ? operations_of(w) / bound / 1e9 : -1, "the FMA rate or the bandwidth is not known");
    snprintf(measure, sizeof measure, "attention_%s_reached_gflops", kind);
    report(b, measure, time > 0 ? operations_of(w) / time / 1e9 : -1, b->s.problem);
}

/* Sequences grow until one call takes long enough to fill the device. */
void bench_attention(bench *b) {
    attention_work many = {.heads = 8, .kv_heads = 8, .rows = 512, .keys = 512, .width = 64};
    attention_work one = {.heads = 32, .kv_heads = 8, .rows = 1, .keys = 4096, .width = 128};
    starts(b, "attention_many_rows_reached_gflops");
    double time = time_attention(b, &many);
    while (time > 0 && time < LEAST_RUN_S / 4 && many.rows < 8192) {
        many.rows = many.keys = 2 * many.rows;
        time = time_attention(b, &many);
    }
    report_attention(b, "many_rows", &many, time);
    starts(b, "attention_one_row_reached_gflops");
    report_attention(b, "one_row", &one, time_attention(b, &one));
}
