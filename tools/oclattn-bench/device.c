#include "device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure/peaks.h"
#include "oclattn-run/common.h"

/* Number i of a sequence is a hash of its place (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
 * 2014), made normal by Box and Muller's method. TYPE is an oclattn_type. */
static const char fill_source[] =
    "float normal(ulong place) {\n"
    "    ulong z = place * 0x9E3779B97F4A7C15UL;\n"
    "    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9UL;\n"
    "    z = (z ^ (z >> 27)) * 0x94D049BB133111EBUL;\n"
    "    z ^= z >> 31;\n"
    "    const float a = (float)((z >> 40) + 1) * 0x1p-24f, b = (float)(z & 0xFFFFFF) * 0x1p-24f;\n"
    "    return sqrt(-2.0f * log(a)) * cos(6.2831853f * b);\n"
    "}\n"
    "__kernel void fill(__global void *out, ulong count, int type, uint seed, float scale) {\n"
    "    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {\n"
    "        const float value = scale * normal(i + 1 + ((ulong)seed << 40));\n"
    "        const uint bits = as_uint(value);\n"
    "        if (type == 1) {\n"
    "            ((__global float *)out)[i] = value;\n"
    "        } else if (type == 2) {\n"
    "            vstore_half(value, i, (__global half *)out);\n"
    "        } else {\n"
    "            ((__global ushort *)out)[i] = (ushort)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);\n"
    "        }\n"
    "    }\n"
    "}\n";

static bool make_queue(bench_device *d, failure *f) {
    cl_int code = CL_SUCCESS;
    d->queue = clCreateCommandQueue(oclattn_context_cl(d->context), oclattn_context_device(d->context),
                                    CL_QUEUE_PROFILING_ENABLE, &code);
    return d->queue ? true : fail_with(f, EXIT_RUNTIME, "cannot make a command queue (OpenCL error %d)", (int)code);
}

static void log_to_stderr(oclattn_log_level level, const char *text, void *user) {
    (void)level;
    (void)user;
    fprintf(stderr, "oclattn-bench: warning: %s\n", text);
}

static bool make_context(bench_device *d, const char *spec, failure *f) {
    oclattn_error error = {0};
    oclattn_context_options options;
    oclattn_context_options_init(&options);
    options.device = spec;
    options.log = log_to_stderr;
    options.log_level = OCLATTN_LOG_WARNING;
    oclattn_status status = oclattn_context_create(&options, &d->context, &error);
    if (status == OCLATTN_OK) {
        oclattn_device_info_init(&d->info);
        status = oclattn_context_device_info(d->context, &d->info, &error);
    }
    return status == OCLATTN_OK ? true : fail_library(f, status, &error);
}

bool device_open(bench_device *d, const char *spec, failure *f) {
    *d = (bench_device){.peaks = {-1, -1, -1}};
    if (!make_context(d, spec, f) || !make_queue(d, f) || !measure_device_init(&d->measure, d->context, d->queue, f)) {
        return false;
    }
    d->fill_program = measure_build(&d->measure, fill_source, "-cl-std=CL1.2", f);
    d->fill_kernel = d->fill_program ? measure_kernel(d->fill_program, "fill", f) : NULL;
    return d->fill_kernel != NULL;
}

void device_close(bench_device *d) {
    measure_release_kernel(d->fill_kernel);
    measure_release_program(d->fill_program);
    if (d->queue) {
        clReleaseCommandQueue(d->queue);
    }
    oclattn_context_destroy(d->context);
    *d = (bench_device){0};
}

static void keep_better(double *peak, double rate, const char *what, const failure *f) {
    if (rate <= 0 && *peak <= 0) {
        fprintf(stderr, "oclattn-bench: warning: no peak of %s: %s\n", what, f->text);
    }
    *peak = fmax(*peak, rate > 0 ? rate : -1);
}

void device_measure_peaks(bench_device *d, double budget_s) {
    failure f = {0};
    keep_better(&d->peaks.fma_f32, measure_fma(&d->measure, MEASURE_F32, INFINITY, budget_s / 2, &f), "multiply and add", &f);
    keep_better(&d->peaks.read, measure_read(&d->measure, budget_s / 3, &f), "reading memory", &f);
    keep_better(&d->peaks.cached, measure_cached_read(&d->measure, budget_s / 6, &f), "reading a cache", &f);
}

bool device_finish(const bench_device *d, failure *f) {
    const cl_int code = clFinish(d->queue);
    return code == CL_SUCCESS
               ? true
               : fail_with(f, EXIT_RUNTIME, "the device failed while running (OpenCL error %d)", (int)code);
}

bool device_fill(const bench_device *d, cl_mem buffer, oclattn_type type, int64_t count, uint32_t seed, float scale,
                 failure *f) {
    const cl_ulong numbers = (cl_ulong)count;
    const cl_int kind = (cl_int)type;
    clSetKernelArg(d->fill_kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(d->fill_kernel, 1, sizeof numbers, &numbers);
    clSetKernelArg(d->fill_kernel, 2, sizeof kind, &kind);
    clSetKernelArg(d->fill_kernel, 3, sizeof seed, &seed);
    clSetKernelArg(d->fill_kernel, 4, sizeof scale, &scale);
    return measure_launch(&d->measure, d->fill_kernel, d->measure.items, NULL, f) && device_finish(d, f);
}

double *device_read(const bench_device *d, cl_mem buffer, oclattn_type type, int64_t first, int64_t count, failure *f) {
    const size_t each = oclattn_type_bytes(type), bytes = (size_t)count * each;
    host_array raw = {0};
    double *values = malloc(((size_t)count + 1) * sizeof *values);
    if (!values || !array_create(&raw, array_type_of(type), 1, &count, "numbers of the device", f)) {
        free(values);
        fail_memory(f, "numbers of the device");
        return NULL;
    }
    const cl_int code =
        clEnqueueReadBuffer(d->queue, buffer, CL_TRUE, (size_t)first * each, bytes, raw.data, 0, NULL, NULL);
    for (int64_t i = 0; i < count; i++) {
        values[i] = array_value(&raw, (size_t)i);
    }
    array_free(&raw);
    if (code != CL_SUCCESS) {
        fail_with(f, EXIT_RUNTIME, "reading from the device failed (OpenCL error %d)", (int)code);
        free(values);
        return NULL;
    }
    return values;
}

/* ---- what is said of it ----------------------------------------------------------------------------------------- */

static void rate_text(double rate, const char *unit, char text[32]) {
    if (rate > 0) {
        snprintf(text, 32, "%.4g %s", rate / 1e9, unit);
    } else {
        snprintf(text, 32, "not known");
    }
}

void device_print(const bench_device *d) {
    printf("device %d:%d, %.50s (%.30s)\n", (int)d->info.platform_index, (int)d->info.device_index, d->info.name,
           d->info.platform);
}

void device_print_peaks(const bench_device *d, bool again) {
    char fma[32], read[32], cached[32];
    rate_text(d->peaks.fma_f32, "GFLOP/s", fma);
    rate_text(d->peaks.read, "GB/s", read);
    rate_text(d->peaks.cached, "GB/s", cached);
    printf("peaks%s: multiply and add %s, reading memory %s, a cache %s\n", again ? ", measured again" : "", fma, read,
           cached);
}

static json_t *rate_json(double rate) {
    return rate > 0 ? json_real(rate / 1e9) : json_null();
}

json_t *device_spec_json(const bench_device *d) {
    return json_sprintf("%d:%d", (int)d->info.platform_index, (int)d->info.device_index);
}

json_t *device_json(const bench_device *d) {
    return json_pack("{s:o, s:s, s:s, s:s, s:i, s:{s:o, s:o, s:o}}", "device", device_spec_json(d), "name",
                     d->info.name, "platform", d->info.platform, "driver", d->info.driver, "compute_units",
                     (int)d->info.compute_units, "peaks", "fma_f32_gflop_per_s", rate_json(d->peaks.fma_f32),
                     "read_gb_per_s", rate_json(d->peaks.read), "cached_read_gb_per_s", rate_json(d->peaks.cached));
}
