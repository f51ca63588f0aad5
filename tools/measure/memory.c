#include "peaks.h"

#include <stdint.h>

#include "rounds.h"
#include "timing.h"

/* STRIDED is 1 where neighbours read side by side, and 0 on CPUs, where a work-item reads a block of its own.
 *
 * read_again reads `own` vectors (a multiple of 4) in each round. Where work-items are STRIDED, they move on by a
 * quarter of the data (a power of 2) from round to round, so that none finds its own vectors in a cache nearer than the
 * one that all share. */
static const char memory_source[] =
    "#if STRIDED\n"
    "#define FOR_OWN(i) for (ulong i = get_global_id(0); i < count; i += get_global_size(0))\n"
    "#else\n"
    "#define FOR_OWN(i) for (ulong per = (count + get_global_size(0) - 1) / get_global_size(0), \\\n"
    "                        i = get_global_id(0) * per, end = min(i + per, count); i < end; ++i)\n"
    "#endif\n"
    "float sum_of(float16 v) {\n"
    "    const float8 s = v.lo + v.hi;\n"
    "    return s.s0 + s.s1 + s.s2 + s.s3 + s.s4 + s.s5 + s.s6 + s.s7;\n"
    "}\n"
    "__kernel void read_all(__global const float16 *data, __global float *out, ulong count) {\n"
    "    float16 sum = 0.0f;\n"
    "    FOR_OWN(i) {\n"
    "        sum += data[i];\n"
    "    }\n"
    "    out[get_global_id(0)] = sum_of(sum);\n"
    "}\n"
    "#if STRIDED\n"
    "#define FIRST (get_global_id(0) + (ulong)round * (count / 4))\n"
    "#define AT(i) ((first + (i) * get_global_size(0)) & (count - 1))\n"
    "#else\n"
    "#define FIRST (get_global_id(0) * own)\n"
    "#define AT(i) (first + (i))\n"
    "#endif\n"
    "__kernel void read_again(__global const float16 *data, __global float *out, ulong count, ulong own,\n"
    "                         int rounds) {\n"
    "    float16 sum0 = 0.0f, sum1 = 0.0f, sum2 = 0.0f, sum3 = 0.0f;\n"
    "    for (int round = 0; round < rounds; ++round) {\n"
    "        const ulong first = FIRST;\n"
    "        for (ulong i = 0; i < own; i += 4) {\n"
    "            sum0 += data[AT(i)];\n"
    "            sum1 += data[AT(i + 1)];\n"
    "            sum2 += data[AT(i + 2)];\n"
    "            sum3 += data[AT(i + 3)];\n"
    "        }\n"
    "    }\n"
    "    out[get_global_id(0)] = sum_of(sum0 + sum1 + sum2 + sum3);\n"
    "}\n"
    "__kernel void copy_all(__global const float16 *data, __global float16 *out, ulong count) {\n"
    "    FOR_OWN(i) {\n"
    "        out[i] = data[i];\n"
    "    }\n"
    "}\n"
    "__kernel void read_local(__global const float4 *data, __global float *out, int rounds) {\n"
    "    __local float4 tile[256];\n"
    "    const int own = (int)get_local_id(0);\n"
    "    for (int i = own; i < 256; i += (int)get_local_size(0)) {\n"
    "        tile[i] = data[i];\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    float4 s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;\n"
    "    for (int i = 0; i < rounds; ++i) {\n"
    "        const int at = own + i;\n"
    "        s0 += tile[at & 255];\n"
    "        s1 += tile[(at + 67) & 255];\n"
    "        s2 += tile[(at + 131) & 255];\n"
    "        s3 += tile[(at + 197) & 255];\n"
    "    }\n"
    "    const float4 s = s0 + s1 + s2 + s3;\n"
    "    out[get_global_id(0)] = s.x + s.y + s.z + s.w;\n"
    "}\n";

/* On a CPU, long streams: as many work-items as keep every unit busy to the end. */
static measure_device for_reading(const measure_device *d) {
    measure_device shape = *d;
    if (d->is_cpu) {
        shape.items = d->items / 8;
        shape.work_group = 1;
    }
    return shape;
}

static cl_program build_memory(const measure_device *d, failure *f) {
    return measure_build(d, memory_source, d->is_cpu ? "-cl-std=CL1.2 -DSTRIDED=0" : "-cl-std=CL1.2 -DSTRIDED=1", f);
}

/* What a kernel of memory_source needs; cleared by stage_clear. */
typedef struct stage {
    measure_device d;
    size_t bytes; /* of data */
    cl_mem data, out;
    cl_program program;
    cl_kernel kernel;
} stage;

static bool stage_set(stage *s, const measure_device *d, const char *name, size_t bytes, size_t out_bytes, failure *f) {
    const size_t results = (d->items + d->work_group) * sizeof(cl_float);
    *s = (stage){.d = *d, .bytes = bytes};
    s->data = measure_noise(d, bytes, f);
    s->out = s->data ? measure_buffer(d, out_bytes > results ? out_bytes : results, f) : NULL;
    s->program = s->out ? build_memory(d, f) : NULL;
    s->kernel = s->program ? measure_kernel(s->program, name, f) : NULL;
    if (!s->kernel) {
        return false;
    }
    clSetKernelArg(s->kernel, 0, sizeof s->data, &s->data);
    clSetKernelArg(s->kernel, 1, sizeof s->out, &s->out);
    return true;
}

static void stage_clear(stage *s) {
    measure_release_kernel(s->kernel);
    measure_release_program(s->program);
    measure_release_buffer(s->out);
    measure_release_buffer(s->data);
}

static bool launch_stage(void *data, cl_command_queue queue, cl_event *event, failure *f) {
    const stage *s = data;
    (void)queue;
    return measure_launch(&s->d, s->kernel, s->d.items, event, f);
}

size_t measure_uncached_bytes(const measure_device *d) {
    const uint64_t least = 65536, most = d->largest_buffer / 8;
    uint64_t bytes = (uint64_t)256 << 20;
    bytes = 4 * d->cache_bytes > bytes ? 4 * d->cache_bytes : bytes;
    bytes = bytes < most ? bytes : most;
    return bytes < least ? (size_t)least : (size_t)bytes / 4096 * 4096;
}

static double measure_stream(const measure_device *d, const char *name, bool writes, double budget_s, failure *f) {
    const measure_limits limits = {3, INT64_MAX, budget_s};
    const size_t bytes = measure_uncached_bytes(d);
    const cl_ulong count = bytes / sizeof(cl_float16);
    const measure_device shape = for_reading(d);
    measure_times times;
    stage s;
    bool good = stage_set(&s, &shape, name, bytes, writes ? bytes : 0, f);
    if (good) {
        clSetKernelArg(s.kernel, 2, sizeof count, &count);
        good = measure_time(d->queue, launch_stage, &s, &limits, &times, f);
    }
    stage_clear(&s);
    return good ? (writes ? 2.0 : 1.0) * (double)bytes / times.least_s : -1;
}

double measure_read(const measure_device *d, double budget_s, failure *f) {
    return measure_stream(d, "read_all", false, budget_s, f);
}

double measure_copy(const measure_device *d, double budget_s, failure *f) {
    return measure_stream(d, "copy_all", true, budget_s, f);
}

/* On a CPU, 128 KiB for each work-item: more than first-level caches hold, less than second-level ones do. Elsewhere,
 * half of the cache, or 1 MiB where that is not known. */
static size_t size_in_cache(const measure_device *d) {
    const uint64_t each = 128 << 10, most = d->is_cpu ? each * d->items : d->cache_bytes / 2;
    uint64_t bytes = 1 << 16;
    while (2 * bytes <= most || (most == 0 && bytes < 1 << 20)) {
        bytes *= 2;
    }
    return (size_t)bytes;
}

double measure_cached_read(const measure_device *d, double budget_s, failure *f) {
    const measure_device shape = for_reading(d);
    const size_t bytes = size_in_cache(&shape);
    const cl_ulong count = bytes / sizeof(cl_float16), own = count / shape.items / 4 * 4;
    double rate = -1;
    stage s;
    if (own == 0) {
        fail_with(f, EXIT_RUNTIME, "the device's cache is too small for its work-items");
        return -1;
    }
    if (stage_set(&s, &shape, "read_again", bytes, 0, f)) {
        clSetKernelArg(s.kernel, 2, sizeof count, &count);
        clSetKernelArg(s.kernel, 3, sizeof own, &own);
        rate = rounds_best_rate(&(rounds_work){&shape, s.kernel, 4, 1}, budget_s, f);
    }
    stage_clear(&s);
    return rate > 0 ? rate * (double)(own * shape.items * sizeof(cl_float16)) : -1;
}

double measure_local_read(const measure_device *d, double budget_s, failure *f) {
    enum { BYTES_OF_ROUND = 4 * 16, TILE_BYTES = 256 * 16 };
    double rate = -1;
    stage s;
    if (stage_set(&s, d, "read_local", TILE_BYTES, 0, f)) {
        rate = rounds_best_rate(&(rounds_work){d, s.kernel, 2, 1}, budget_s, f);
    }
    stage_clear(&s);
    return rate > 0 ? rate * BYTES_OF_ROUND * (double)d->items : -1;
}
