/* Multiplications with additions. How many chains of how wide vectors hide the latency and still fit the registers is
 * the secret of a device and its compiler, so several forms of the loop take turns. */
#include "peaks.h"

#include <math.h>
#include <stdio.h>

#include "clock.h"
#include "rounds.h"

/* CHAINS values x0, x1, ... of WIDTH numbers each; 4 steps a round. */
static const char rate_source[] =
    "#ifdef USE_HALF\n"
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    "#endif\n"
    "#ifdef USE_DOUBLE\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#endif\n"
    "#define JOIN_(a, b) a##b\n"
    "#define JOIN(a, b) JOIN_(a, b)\n"
    "#define VECTOR JOIN(NUMBER, WIDTH)\n"
    "#define SUM4(v) (v.s0 + v.s1 + v.s2 + v.s3)\n"
    "#define SUM8(v) SUM4((v.lo + v.hi))\n"
    "#define SUM16(v) SUM8((v.lo + v.hi))\n"
    "#define SUM JOIN(SUM, WIDTH)\n"
    "#define EACH8(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)\n"
    "#define EACH10(DO) EACH8(DO) DO(8) DO(9)\n"
    "#define EACH12(DO) EACH10(DO) DO(10) DO(11)\n"
    "#define EACH16(DO) EACH12(DO) DO(12) DO(13) DO(14) DO(15)\n"
    "#define EACH24(DO) EACH16(DO) DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23)\n"
    "#define EACH JOIN(EACH, CHAINS)\n"
    "#define BEGIN(i) VECTOR x##i = first + (VECTOR)((NUMBER)i) * b;\n"
    "#define STEP(i) x##i = mad(x##i, a, b);\n"
    "#define ADD(i) sum += x##i;\n"
    "__kernel void rate(__global float *out, int rounds, float factor, float term) {\n"
    "    const VECTOR a = (VECTOR)((NUMBER)factor), b = (VECTOR)((NUMBER)term);\n"
    "    const VECTOR first = (VECTOR)((NUMBER)get_local_id(0));\n"
    "    EACH(BEGIN)\n"
    "    for (int i = 0; i < rounds; ++i) {\n"
    "        EACH(STEP) EACH(STEP) EACH(STEP) EACH(STEP)\n"
    "    }\n"
    "    VECTOR sum = (VECTOR)((NUMBER)0);\n"
    "    EACH(ADD)\n"
    "    out[get_global_id(0)] = (float)SUM(sum);\n"
    "}\n";

typedef struct form {
    int chains, width;
} form;

/* First those that suit 512-bit vectors, GPUs, and 256-bit vectors, for when there is time for few. */
static const form forms[] = {{8, 16}, {8, 4},  {12, 8},  {12, 16}, {8, 8},  {10, 8},
                             {16, 8}, {24, 8}, {10, 16}, {16, 16}, {24, 16}};
enum { FORM_COUNT = sizeof forms / sizeof forms[0], OPERATIONS_OF_STEPS = 4 * 2 };

typedef struct form_run {
    cl_program program;
    rounds_work work;
    double best; /* operations a second; below 0: it does not run */
} form_run;

static int size_of(const form *shape) {
    return shape->chains * shape->width;
}

static double operations_of_round(const measure_device *d, const form *shape) {
    return (double)OPERATIONS_OF_STEPS * size_of(shape) * (double)d->items;
}

static bool prepare_form(const measure_device *d, const form *shape, const char *number, cl_mem out, form_run *run,
                         failure *f) {
    const float factor = 0.999f, term = 0.001f;
    char options[128];
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DCHAINS=%d -DWIDTH=%d %s", shape->chains, shape->width, number);
    run->program = measure_build(d, rate_source, options, f);
    run->work.device = d;
    run->work.argument = 1;
    run->work.kernel = run->program ? measure_kernel(run->program, "rate", f) : NULL;
    if (!run->work.kernel) {
        return false;
    }
    clSetKernelArg(run->work.kernel, 0, sizeof out, &out);
    clSetKernelArg(run->work.kernel, 2, sizeof factor, &factor);
    clSetKernelArg(run->work.kernel, 3, sizeof term, &term);
    return rounds_calibrate(&run->work, f);
}

/* A guess for form i, from what form i - 1 took; half of it, since i may be the faster one. */
static cl_int guess_rounds(const form_run *runs, size_t i) {
    const int64_t before = i > 0 ? runs[i - 1].work.rounds : 0;
    const int64_t rounds = i > 0 ? before * size_of(&forms[i - 1]) / size_of(&forms[i]) / 2 : 0;
    return rounds > 1 ? (cl_int)rounds : 1;
}

static double best_of(const form_run *runs, size_t count) {
    double best = -1;
    for (size_t i = 0; i < count; i++) {
        best = fmax(best, runs[i].best);
    }
    return best;
}

/* One run of each form that is not far behind the best. */
static void take_turns(const measure_device *d, form_run *runs, failure *f) {
    const double best = best_of(runs, FORM_COUNT);
    for (size_t i = 0; i < FORM_COUNT; i++) {
        if (runs[i].best >= 0.8 * best && runs[i].best >= 0) {
            const double rate = rounds_rate(&runs[i].work, f);
            runs[i].best = fmax(runs[i].best, rate * operations_of_round(d, &forms[i]));
        }
    }
}

double measure_fma(const measure_device *d, measure_number number, double prepare_s, double budget_s, failure *f) {
    static const char *const numbers[] = {"-DNUMBER=float", "-DNUMBER=half -DUSE_HALF", "-DNUMBER=double -DUSE_DOUBLE"};
    form_run runs[FORM_COUNT] = {{0}};
    cl_mem out = measure_buffer(d, (d->items + d->work_group) * sizeof(cl_float), f);
    const double prepare_end = now_s() + prepare_s;
    for (size_t i = 0; i < FORM_COUNT; i++) {
        const bool in_time = best_of(runs, i) < 0 || now_s() < prepare_end;
        runs[i].work.rounds = guess_rounds(runs, i);
        runs[i].best = out && in_time && prepare_form(d, &forms[i], numbers[number], out, &runs[i], f) ? 0 : -1;
    }
    const double end = now_s() + budget_s;
    do {
        take_turns(d, runs, f);
    } while (best_of(runs, FORM_COUNT) > 0 && now_s() < end);
    for (size_t i = 0; i < FORM_COUNT; i++) {
        measure_release_kernel(runs[i].work.kernel);
        measure_release_program(runs[i].program);
    }
    measure_release_buffer(out);
    return best_of(runs, FORM_COUNT);
}
