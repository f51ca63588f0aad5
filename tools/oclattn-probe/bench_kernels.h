/* Kernels that measure a device; options give NUMBER (float, half, double) and STRIDED (0 on CPUs, where a work-item
 * reads a block of its own, 1 elsewhere, where neighbours read side by side). */
#ifndef OCLATTN_PROBE_BENCH_KERNELS_H
#define OCLATTN_PROBE_BENCH_KERNELS_H

/* 8 chains of 8 numbers, so that the latency of one does not hide the rate; 4 steps a round. */
static const char rate_source[] =
    "#ifdef USE_HALF\n"
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    "#endif\n"
    "#ifdef USE_DOUBLE\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#endif\n"
    "#define JOIN_(a, b) a##b\n"
    "#define JOIN(a, b) JOIN_(a, b)\n"
    "#define VECTOR JOIN(NUMBER, 8)\n"
    "#define STEP(x) x = mad(x, a, b);\n"
    "#define STEPS STEP(x0) STEP(x1) STEP(x2) STEP(x3) STEP(x4) STEP(x5) STEP(x6) STEP(x7)\n"
    "__kernel void rate(__global float *out, int rounds, float factor, float term) {\n"
    "    const VECTOR a = (VECTOR)((NUMBER)factor), b = (VECTOR)((NUMBER)term);\n"
    "    VECTOR x0 = (VECTOR)((NUMBER)get_local_id(0)), x1 = x0 + b, x2 = x1 + b, x3 = x2 + b;\n"
    "    VECTOR x4 = x3 + b, x5 = x4 + b, x6 = x5 + b, x7 = x6 + b;\n"
    "    for (int i = 0; i < rounds; ++i) {\n"
    "        STEPS STEPS STEPS STEPS\n"
    "    }\n"
    "    const VECTOR s = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;\n"
    "    out[get_global_id(0)] = (float)(s.s0 + s.s1 + s.s2 + s.s3 + s.s4 + s.s5 + s.s6 + s.s7);\n"
    "}\n";
enum { RATE_OPERATIONS = 4 * 8 * 8 * 2 }; /* of one work-item and round */

static const char memory_source[] =
    "#if STRIDED\n"
    "#define FOR_OWN(i) for (ulong i = get_global_id(0); i < count; i += get_global_size(0))\n"
    "#else\n"
    "#define FOR_OWN(i) for (ulong per = (count + get_global_size(0) - 1) / get_global_size(0), \\\n"
    "                        i = get_global_id(0) * per, end = min(i + per, count); i < end; ++i)\n"
    "#endif\n"
    "__kernel void read_all(__global const float16 *data, __global float *out, ulong count) {\n"
    "    float16 sum = 0.0f;\n"
    "    FOR_OWN(i) {\n"
    "        sum += data[i];\n"
    "    }\n"
    "    const float8 s = sum.lo + sum.hi;\n"
    "    out[get_global_id(0)] = s.s0 + s.s1 + s.s2 + s.s3 + s.s4 + s.s5 + s.s6 + s.s7;\n"
    "}\n"
    "__kernel void copy_all(__global const float16 *data, __global float16 *out, ulong count) {\n"
    "    FOR_OWN(i) {\n"
    "        out[i] = data[i];\n"
    "    }\n"
    "}\n"
    "__kernel void nothing(__global float *out) {\n"
    "    if (get_global_id(0) == 1) {\n"
    "        out[0] = 1.0f;\n"
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
enum { LOCAL_BYTES = 4 * 16 }; /* that one work-item reads in a round */

#endif
