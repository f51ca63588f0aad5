/* The child's side. Times are the host's, from the first enqueue to the end of the last command, so nothing depends on
 * a driver's event times; the best of several runs counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_kernels.h"
#include "bench_parts.h"
#include "child.h"

enum { MEASURES = 12, LAUNCHES = 200 };

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
                         "reason", known ? json_null() : why ? json_incref(why) : json_null()),
               b->to);
    json_decref(why);
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

static double run_once(bench *b, work_fn work, void *data) {
    const double start = now_s();
    if (!work(b, data) || !session_finish(&b->s)) {
        return -1;
    }
    return now_s() - start;
}

double least_time(bench *b, work_fn work, void *data) {
    const double end = now_s() + b->share_s;
    double least = -1;
    if (run_once(b, work, data) < 0) {
        return -1;
    }
    do {
        const double time = run_once(b, work, data);
        if (time < 0) {
            return -1;
        }
        least = least < 0 || time < least ? time : least;
    } while (now_s() < end);
    return least;
}

static cl_program build(bench *b, const char *source, const char *options) {
    cl_int code = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(b->s.cl, 1, &source, NULL, &code);
    if (!program) {
        session_failed(&b->s, "clCreateProgramWithSource", code);
        return NULL;
    }
    code = clBuildProgram(program, 1, &b->s.device, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        session_failed(&b->s, "clBuildProgram", code);
        clReleaseProgram(program);
        return NULL;
    }
    return program;
}

static cl_kernel make_kernel(bench *b, cl_program program, const char *name) {
    cl_int code = CL_SUCCESS;
    cl_kernel kernel = program ? clCreateKernel(program, name, &code) : NULL;
    if (program && !kernel) {
        session_failed(&b->s, "clCreateKernel", code);
    }
    return kernel;
}

/* No more than the kernel allows. */
static size_t group_of(const bench *b, cl_kernel kernel) {
    size_t most = 0;
    const cl_int code = clGetKernelWorkGroupInfo(kernel, b->s.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                                 NULL);
    size_t group = b->task->work_group;
    while (code == CL_SUCCESS && group > 1 && group > most) {
        group /= 2;
    }
    return group;
}

static bool launch(bench *b, cl_kernel kernel, size_t items) {
    const size_t group = group_of(b, kernel);
    const size_t global = (items + group - 1) / group * group;
    const cl_int code = clEnqueueNDRangeKernel(b->s.queue, kernel, 1, NULL, &global, &group, 0, NULL, NULL);
    return code == CL_SUCCESS || session_failed(&b->s, "clEnqueueNDRangeKernel", code);
}

/* ---- arithmetic and local memory: rounds grow until a run is long enough --------------------------------------- */

typedef struct rounds_work {
    cl_kernel kernel;
    cl_uint argument;
    cl_int rounds;
} rounds_work;

static bool run_rounds(bench *b, void *data) {
    const rounds_work *w = data;
    const cl_int code = clSetKernelArg(w->kernel, w->argument, sizeof w->rounds, &w->rounds);
    return code == CL_SUCCESS ? launch(b, w->kernel, b->task->items) : session_failed(&b->s, "clSetKernelArg", code);
}

/* Work a second, where one work-item does `work_of_round` in a round. Below 0: it failed. */
static double rate_of(bench *b, rounds_work *w, double work_of_round) {
    double time = 0;
    for (w->rounds = 16; w->rounds < 1 << 24; w->rounds *= 4) {
        time = run_once(b, run_rounds, w);
        if (time < 0 || time >= LEAST_RUN_S) {
            break;
        }
    }
    time = time < 0 ? time : least_time(b, run_rounds, w);
    return time > 0 ? work_of_round * w->rounds * (double)b->task->items / time : time;
}

static double measure_width(bench *b, const char *number, int width) {
    const float factor = 0.999f, term = 0.001f;
    double rate = -1;
    char options[128];
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DWIDTH=%d %s", width, number);
    cl_program program = build(b, rate_source, options);
    rounds_work work = {make_kernel(b, program, "rate"), 1, 0};
    if (work.kernel) {
        clSetKernelArg(work.kernel, 0, sizeof b->out, &b->out);
        clSetKernelArg(work.kernel, 2, sizeof factor, &factor);
        clSetKernelArg(work.kernel, 3, sizeof term, &term);
        rate = rate_of(b, &work, RATE_OPERATIONS * width);
        clReleaseKernel(work.kernel);
    }
    if (program) {
        clReleaseProgram(program);
    }
    return rate;
}

/* Which width fills the device's registers best is its compiler's secret; the best one counts. */
static double measure_rate(bench *b, const char *measure, const char *number) {
    const double share_s = b->share_s;
    double best = -1;
    starts(b, measure);
    b->share_s = share_s / 3;
    for (int width = 4; width <= 16; width *= 2) {
        best = fmax(best, measure_width(b, number, width));
    }
    b->share_s = share_s;
    report(b, measure, best / 1e9, b->s.problem);
    return best;
}

static void measure_rates(bench *b) {
    b->fma_f32 = measure_rate(b, "fma_f32_gflops", "-DNUMBER=float");
    if (b->task->has_fp16) {
        measure_rate(b, "fma_f16_gflops", "-DNUMBER=half -DUSE_HALF");
    } else {
        report(b, "fma_f16_gflops", -1, "the device has no fp16");
    }
    if (b->task->has_fp64) {
        measure_rate(b, "fma_f64_gflops", "-DNUMBER=double -DUSE_DOUBLE");
    } else {
        report(b, "fma_f64_gflops", -1, "the device has no fp64");
    }
}

static void measure_local(bench *b) {
    double rate = -1;
    starts(b, "local_read_gb_per_s");
    rounds_work work = {make_kernel(b, b->memory, "read_local"), 2, 0};
    if (work.kernel) {
        clSetKernelArg(work.kernel, 0, sizeof b->data, &b->data);
        clSetKernelArg(work.kernel, 1, sizeof b->out, &b->out);
        rate = rate_of(b, &work, LOCAL_BYTES);
        clReleaseKernel(work.kernel);
    }
    report(b, "local_read_gb_per_s", rate / 1e9, b->s.problem);
}

/* ---- global memory, launches, copies ---------------------------------------------------------------------------- */

static bool launch_kernel(bench *b, void *data) {
    return launch(b, data, b->task->items);
}

static double measure_global(bench *b, const char *name, const char *measure, double bytes) {
    const cl_ulong count = b->data_bytes / 64;
    double time = -1;
    starts(b, measure);
    cl_kernel kernel = make_kernel(b, b->memory, name);
    if (kernel) {
        clSetKernelArg(kernel, 0, sizeof b->data, &b->data);
        clSetKernelArg(kernel, 1, sizeof b->out, &b->out);
        clSetKernelArg(kernel, 2, sizeof count, &count);
        time = least_time(b, launch_kernel, kernel);
        clReleaseKernel(kernel);
    }
    report(b, measure, time > 0 ? bytes / time / 1e9 : -1, b->s.problem);
    return time > 0 ? bytes / time : 0;
}

static bool launch_one(bench *b, void *data) {
    return launch(b, data, 1);
}

static bool launch_many(bench *b, void *data) {
    bool good = true;
    for (int i = 0; good && i < LAUNCHES; i++) {
        good = launch(b, data, 1);
    }
    return good;
}

static void measure_launches(bench *b) {
    double alone = -1, in_row = -1;
    starts(b, "launch_alone_us");
    cl_kernel kernel = make_kernel(b, b->memory, "nothing");
    if (kernel) {
        clSetKernelArg(kernel, 0, sizeof b->out, &b->out);
        alone = least_time(b, launch_one, kernel);
        in_row = least_time(b, launch_many, kernel) / LAUNCHES;
        clReleaseKernel(kernel);
    }
    report(b, "launch_alone_us", alone * 1e6, b->s.problem);
    report(b, "launch_in_row_us", in_row * 1e6, b->s.problem);
}

typedef struct copy_work {
    void *host;
    size_t bytes;
    bool to_device;
} copy_work;

static bool copy(bench *b, void *data) {
    const copy_work *w = data;
    const cl_int code =
        w->to_device ? clEnqueueWriteBuffer(b->s.queue, b->out, CL_TRUE, 0, w->bytes, w->host, 0, NULL, NULL)
                     : clEnqueueReadBuffer(b->s.queue, b->data, CL_TRUE, 0, w->bytes, w->host, 0, NULL, NULL);
    return code == CL_SUCCESS || session_failed(&b->s, "copying between host and device", code);
}

static void measure_copies(bench *b, void *host) {
    copy_work work = {host, b->data_bytes, true};
    starts(b, "copy_to_device_gb_per_s");
    double time = least_time(b, copy, &work);
    report(b, "copy_to_device_gb_per_s", time > 0 ? (double)work.bytes / time / 1e9 : -1, b->s.problem);
    work.to_device = false;
    starts(b, "copy_to_host_gb_per_s");
    time = least_time(b, copy, &work);
    report(b, "copy_to_host_gb_per_s", time > 0 ? (double)work.bytes / time / 1e9 : -1, b->s.problem);
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

/* Noise that no memory compresses; as floats they are all between 1 and 2. */
static uint32_t *make_noise(size_t bytes) {
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    uint32_t *noise = malloc(bytes);
    for (size_t i = 0; noise && i < bytes / sizeof *noise; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        noise[i] = 0x3F800000u | (uint32_t)(state >> 41);
    }
    return noise;
}

static bool prepare(bench *b, const uint32_t *noise) {
    const size_t results = b->task->items * sizeof(float);
    b->data = session_buffer(&b->s, b->data_bytes, noise);
    b->out = session_buffer(&b->s, b->data_bytes > results ? b->data_bytes : results, NULL);
    b->memory = build(b, memory_source, b->task->is_cpu ? "-cl-std=CL1.2 -DSTRIDED=0" : "-cl-std=CL1.2 -DSTRIDED=1");
    return b->data && b->out && b->memory;
}

/* 64 MiB, or an eighth of the largest buffer. */
static size_t size_of_data(const bench_task *task) {
    const uint64_t eighth = task->largest_buffer / 8, most = 64 << 20;
    const uint64_t bytes = eighth < most ? eighth : most;
    return bytes < 65536 ? 65536 : (size_t)bytes / 4096 * 4096;
}

void bench_measure(FILE *to, void *task) {
    bench b = {.task = task, .to = to};
    b.share_s = b.task->budget_s / MEASURES;
    b.data_bytes = size_of_data(task);
    uint32_t *noise = make_noise(b.data_bytes);
    if (!noise || !session_open(&b.s, b.task->platform_index, b.task->device_index) || !prepare(&b, noise)) {
        json_t *why = json_string(noise ? b.s.problem : "the host is out of memory");
        bench_print(json_pack("{s:o}", "cannot_open", why ? why : json_string("?")), to);
        free(noise);
        return;
    }
    measure_rates(&b);
    b.read_bandwidth = measure_global(&b, "read_all", "global_read_gb_per_s", (double)b.data_bytes);
    measure_global(&b, "copy_all", "global_copy_gb_per_s", 2.0 * (double)b.data_bytes);
    measure_local(&b);
    measure_launches(&b);
    measure_copies(&b, noise);
    if (b.data) {
        clEnqueueWriteBuffer(b.s.queue, b.data, CL_TRUE, 0, b.data_bytes, noise, 0, NULL, NULL);
    }
    bench_attention(&b);
    free(noise);
}
