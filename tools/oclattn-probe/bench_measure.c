/* The child's side. */
#include <math.h>
#include <stdlib.h>

#include "bench_parts.h"
#include "measure/clock.h"
#include "measure/peaks.h"

/* Shares of the budget: FMA rates (f32, which attention is held against, has several forms to try), bandwidths,
 * launches, copies, attention. */
enum { F32_SHARES = 4, SHARES = F32_SHARES + 2 + 4 + 1 + 2 + 2 };

/* ---- answers ---------------------------------------------------------------------------------------------------- */

void bench_print(json_t *line, FILE *to) {
    json_dumpf(line, to, JSON_COMPACT);
    fputc('\n', to);
    fflush(to);
    json_decref(line);
}

double starts(bench *b, const char *measure, int shares) {
    const double left_s = b->end_s - now_s();
    const double part = b->shares_left > shares ? (double)shares / b->shares_left : 1;
    b->shares_left -= shares;
    bench_print(json_pack("{s:s}", "starts", measure), b->to);
    return left_s > 0 ? left_s * part : 0;
}

void report(const bench *b, const char *measure, double value, const char *reason) {
    const bool known = isfinite(value) && value > 0;
    json_t *why = json_string(reason && reason[0] != '\0' ? reason : "the time is too short to measure");
    bench_print(json_pack("{s:s, s:o, s:o}", "measure", measure, "value", known ? json_real(value) : json_null(),
                          "reason",
                          known ? json_null()
                          : why ? json_incref(why)
                                : json_null()),
                b->to);
    json_decref(why);
}

double least_time(const bench *b, measure_fn work, void *data, double share_s, failure *f) {
    const measure_limits limits = {1, INT64_MAX, share_s};
    measure_times times;
    return measure_time(b->s.queue, work, data, &limits, &times, f) ? times.least_s : -1;
}

/* ---- rates ------------------------------------------------------------------------------------------------------ */

/* A rate that is too high to be one is not known. */
static double known_rate(double rate) {
    return isfinite(rate) ? rate : -1;
}

static double measure_arithmetic(bench *b, const char *measure, measure_number number, int shares) {
    failure f = {0};
    const double share_s = starts(b, measure, shares);
    const double rate = measure_fma(&b->device, number, share_s / 2, share_s / 2, &f);
    report(b, measure, rate / 1e9, f.text);
    return known_rate(rate);
}

static void lacks_number(bench *b, const char *measure, const char *reason) {
    b->shares_left--;
    report(b, measure, -1, reason);
}

static void measure_all_arithmetic(bench *b) {
    b->fma_f32 = measure_arithmetic(b, "fma_f32_gflops", MEASURE_F32, F32_SHARES);
    if (b->device.has_fp16) {
        measure_arithmetic(b, "fma_f16_gflops", MEASURE_F16, 1);
    } else {
        lacks_number(b, "fma_f16_gflops", "the device has no fp16");
    }
    if (b->device.has_fp64) {
        measure_arithmetic(b, "fma_f64_gflops", MEASURE_F64, 1);
    } else {
        lacks_number(b, "fma_f64_gflops", "the device has no fp64");
    }
}

typedef double (*bandwidth_fn)(const measure_device *d, double budget_s, failure *f);

static double measure_bandwidth(bench *b, const char *measure, bandwidth_fn bandwidth) {
    failure f = {0};
    const double rate = bandwidth(&b->device, starts(b, measure, 1), &f);
    report(b, measure, rate / 1e9, f.text);
    return known_rate(rate);
}

static void measure_all_launches(bench *b) {
    failure f = {0};
    launch_times times = {-1, -1};
    measure_launches(&b->device, starts(b, "launch_alone_us", 1), &times, &f);
    report(b, "launch_alone_us", times.alone_s * 1e6, f.text);
    report(b, "launch_in_row_us", times.in_row_s * 1e6, f.text);
}

/* ---- copies between host and device ----------------------------------------------------------------------------- */

typedef struct copy_work {
    cl_mem buffer;
    void *host;
    size_t bytes;
    bool to_device;
} copy_work;

static bool copy(void *data, cl_command_queue queue, cl_event *event, failure *f) {
    const copy_work *w = data;
    const cl_int code = w->to_device
                            ? clEnqueueWriteBuffer(queue, w->buffer, CL_TRUE, 0, w->bytes, w->host, 0, NULL, event)
                            : clEnqueueReadBuffer(queue, w->buffer, CL_TRUE, 0, w->bytes, w->host, 0, NULL, event);
    return code == CL_SUCCESS ||
           fail_with(f, EXIT_RUNTIME, "copying between host and device failed (OpenCL error %d)", (int)code);
}

static void measure_direction(bench *b, const char *measure, copy_work *work) {
    failure f = {0};
    const double share_s = starts(b, measure, 1);
    const double time = work->buffer && work->host ? least_time(b, copy, work, share_s, &f) : -1;
    report(b, measure, time > 0 ? (double)work->bytes / time / 1e9 : -1,
           f.text[0] != '\0' ? f.text : "there is no memory for it");
}

/* 64 MiB, or an eighth of the largest buffer. What is read back is noise, which drivers cannot shorten. */
static void measure_copies(bench *b) {
    failure f = {0};
    const uint64_t eighth = b->device.largest_buffer / 8, most = 64 << 20;
    const size_t bytes = (size_t)(eighth < most ? eighth : most);
    copy_work work = {measure_noise(&b->device, bytes, &f), malloc(bytes), bytes, false};
    measure_direction(b, "copy_to_host_gb_per_s", &work);
    work.to_device = true;
    measure_direction(b, "copy_to_device_gb_per_s", &work);
    measure_release_buffer(work.buffer);
    free(work.host);
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static bool open_device(bench *b, failure *f) {
    if (!session_open(&b->s, b->task->platform_index, b->task->device_index)) {
        return fail_with(f, EXIT_RUNTIME, "%s", b->s.problem);
    }
    return measure_device_init(&b->device, b->s.context, b->s.queue, f);
}

void bench_measure(FILE *to, void *task) {
    bench b = {.task = task, .to = to, .shares_left = SHARES};
    failure f = {0};
    b.end_s = now_s() + b.task->budget_s;
    if (!open_device(&b, &f)) {
        json_t *why = json_string(f.text);
        bench_print(json_pack("{s:o}", "cannot_open", why ? why : json_string("?")), to);
        return;
    }
    measure_all_arithmetic(&b);
    b.read_bandwidth = measure_bandwidth(&b, "global_read_gb_per_s", measure_read);
    measure_bandwidth(&b, "cached_read_gb_per_s", measure_cached_read);
    measure_bandwidth(&b, "global_copy_gb_per_s", measure_copy);
    measure_bandwidth(&b, "local_read_gb_per_s", measure_local_read);
    measure_all_launches(&b);
    measure_copies(&b);
    bench_attention(&b);
}
