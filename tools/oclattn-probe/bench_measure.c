/* The child's side. */
#include <math.h>
#include <stdlib.h>

#include "bench_parts.h"
#include "measure/peaks.h"

enum { MEASURES = 13 };

/* ---- answers ---------------------------------------------------------------------------------------------------- */

void bench_print(json_t *line, FILE *to) {
    json_dumpf(line, to, JSON_COMPACT);
    fputc('\n', to);
    fflush(to);
    json_decref(line);
}

void starts(const bench *b, const char *measure) {
    bench_print(json_pack("{s:s}", "starts", measure), b->to);
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

double least_time(const bench *b, measure_fn work, void *data, failure *f) {
    const measure_limits limits = {1, INT64_MAX, b->share_s};
    measure_times times;
    return measure_time(b->s.queue, work, data, &limits, &times, f) ? times.least_s : -1;
}

/* ---- rates ------------------------------------------------------------------------------------------------------ */

static double measure_arithmetic(const bench *b, const char *measure, measure_number number) {
    failure f = {0};
    starts(b, measure);
    const double rate = measure_fma(&b->device, number, b->share_s, &f);
    report(b, measure, rate / 1e9, f.text);
    return rate;
}

static void measure_all_arithmetic(bench *b) {
    b->fma_f32 = measure_arithmetic(b, "fma_f32_gflops", MEASURE_F32);
    if (b->device.has_fp16) {
        measure_arithmetic(b, "fma_f16_gflops", MEASURE_F16);
    } else {
        report(b, "fma_f16_gflops", -1, "the device has no fp16");
    }
    if (b->device.has_fp64) {
        measure_arithmetic(b, "fma_f64_gflops", MEASURE_F64);
    } else {
        report(b, "fma_f64_gflops", -1, "the device has no fp64");
    }
}

typedef double (*bandwidth_fn)(const measure_device *d, double budget_s, failure *f);

static double measure_bandwidth(const bench *b, const char *measure, bandwidth_fn bandwidth) {
    failure f = {0};
    starts(b, measure);
    const double rate = bandwidth(&b->device, b->share_s, &f);
    report(b, measure, rate / 1e9, f.text);
    return rate;
}

static void measure_all_launches(const bench *b) {
    failure f = {0};
    launch_times times = {-1, -1};
    starts(b, "launch_alone_us");
    measure_launches(&b->device, 2 * b->share_s, &times, &f);
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

static void measure_direction(const bench *b, const char *measure, copy_work *work) {
    failure f = {0};
    starts(b, measure);
    const double time = work->buffer && work->host ? least_time(b, copy, work, &f) : -1;
    report(b, measure, time > 0 ? (double)work->bytes / time / 1e9 : -1,
           f.text[0] != '\0' ? f.text : "there is no memory for it");
}

/* 64 MiB, or an eighth of the largest buffer. What is read back is noise, which drivers cannot shorten. */
static void measure_copies(const bench *b) {
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
    bench b = {.task = task, .to = to};
    failure f = {0};
    b.share_s = b.task->budget_s / MEASURES;
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
