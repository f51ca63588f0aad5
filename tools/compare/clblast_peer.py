"""Attention as applications compose it without a kernel of its own: CLBlast's batched products and a softmax between.

The scores, batch x heads x q_len x kv_len, are stored in full.
"""
import ctypes as c

import numpy as np

from oclattn_ctypes import Buffer, check_cl
from peers import Peer, Refusal
from suite import Layer

ROW_MAJOR, AS_IS, TRANSPOSED = 101, 111, 112

# One work-item a row, in place; keys from `visible` on get weight 0.
SOFTMAX = b"""
__kernel void softmax(__global float *scores, int q_len, int kv_len, int causal)
{
    const size_t row = get_global_id(0);
    __global float *s = scores + row * kv_len;
    const int visible = causal ? (int)(row % q_len) + 1 : kv_len;
    const int whole = visible / 16 * 16;
    float16 lanes = -INFINITY;
    for (int j = 0; j < whole; j += 16) {
        lanes = fmax(lanes, vload16(0, s + j));
    }
    const float8 m8 = fmax(lanes.lo, lanes.hi);
    const float4 m4 = fmax(m8.lo, m8.hi);
    float largest = fmax(fmax(m4.x, m4.y), fmax(m4.z, m4.w));
    for (int j = whole; j < visible; ++j) {
        largest = fmax(largest, s[j]);
    }
    float16 sums = 0.0f;
    for (int j = 0; j < whole; j += 16) {
        const float16 weights = exp(vload16(0, s + j) - largest);
        vstore16(weights, 0, s + j);
        sums += weights;
    }
    const float8 s8 = sums.lo + sums.hi;
    const float4 s4 = s8.lo + s8.hi;
    float sum = (s4.x + s4.y) + (s4.z + s4.w);
    for (int j = whole; j < visible; ++j) {
        s[j] = exp(s[j] - largest);
        sum += s[j];
    }
    const float factor = 1.0f / sum;
    for (int j = 0; j < whole; j += 16) {
        vstore16(vload16(0, s + j) * factor, 0, s + j);
    }
    for (int j = whole; j < visible; ++j) {
        s[j] *= factor;
    }
    for (int j = visible; j < kv_len; ++j) {
        s[j] = 0.0f;
    }
}
"""


class SoftmaxKernel:
    """Built once per context."""

    def __init__(self, context):
        cl = self.cl = context.library.cl
        cl.clCreateProgramWithSource.restype = cl.clCreateKernel.restype = c.c_void_p
        code = c.c_int32()
        source, length = c.c_char_p(SOFTMAX), c.c_size_t(len(SOFTMAX))
        program = c.c_void_p(cl.clCreateProgramWithSource(context.cl_context, c.c_uint32(1), c.byref(source),
                                                          c.byref(length), c.byref(code)))
        check_cl("clCreateProgramWithSource", code.value)
        check_cl("clBuildProgram", cl.clBuildProgram(program, c.c_uint32(0), None, b"", None, None))
        self.kernel = c.c_void_p(cl.clCreateKernel(program, b"softmax", c.byref(code)))
        check_cl("clCreateKernel", code.value)

    def enqueue(self, queue, scores, rows, q_len, kv_len, causal):
        for index, value in enumerate((scores, c.c_int32(q_len), c.c_int32(kv_len), c.c_int32(causal))):
            check_cl("clSetKernelArg", self.cl.clSetKernelArg(self.kernel, c.c_uint32(index),
                                                              c.c_size_t(c.sizeof(value)), c.byref(value)))
        check_cl("clEnqueueNDRangeKernel", self.cl.clEnqueueNDRangeKernel(
            queue, self.kernel, c.c_uint32(1), None, c.byref(c.c_size_t(rows)), None, c.c_uint32(0), None, None))


class ClblastAttention(Peer):
    def __init__(self, clblast, softmax, context, problem, inputs, kind):
        if isinstance(problem, Layer) or problem.group != "prefill" or kind != "f32" or problem.window_left >= 0:
            raise Refusal("f32 prefill without windows alone")
        self.clblast, self.softmax, self.context, self.problem = clblast, softmax, context, problem
        self.heads = problem.batch * problem.q_heads
        self.o_shape = inputs[0][0].shape
        q, k, v = (context.upload(array) for array in inputs[0])
        self.scores = Buffer(context, self.heads * problem.q_len * problem.kv_len * 4)
        self.o = Buffer(context, inputs[0][0].nbytes)
        self.buffers = [q, k, v, self.scores, self.o]
        self.q, self.k, self.v = q, k, v

    def multiply(self, transposed, m, n, k, alpha, a, b, product):
        """product [m, n] = alpha a [m, k] b for every head; b is [n, k] where transposed."""
        def matrix(buffer, rows, columns):
            return buffer.mem, c.c_size_t(0), c.c_size_t(columns), c.c_size_t(rows * columns)
        queue = c.c_void_p(self.context.queue.value)
        code = self.clblast.CLBlastSgemmStridedBatched(
            c.c_int(ROW_MAJOR), c.c_int(AS_IS), c.c_int(TRANSPOSED if transposed else AS_IS),
            c.c_size_t(m), c.c_size_t(n), c.c_size_t(k), c.c_float(alpha), *matrix(a, m, k),
            *(matrix(b, n, k) if transposed else matrix(b, k, n)), c.c_float(0), *matrix(product, m, n),
            c.c_size_t(self.heads), c.byref(queue), None)
        if code != 0:
            raise RuntimeError("CLBlast's status %d" % code)

    def run(self, copy):
        p = self.problem
        self.multiply(True, p.q_len, p.kv_len, p.head_dim, p.head_dim ** -0.5, self.q, self.k, self.scores)
        self.softmax.enqueue(self.context.queue, self.scores.mem, self.heads * p.q_len, p.q_len, p.kv_len, p.causal)
        self.multiply(False, p.q_len, p.head_dim, p.kv_len, 1.0, self.scores, self.v, self.o)
        check_cl("clFinish", self.context.library.cl.clFinish(self.context.queue))

    def result(self):
        return self.o.read(self.context.queue, self.o_shape, np.float32)

    def close(self):
        for buffer in self.buffers:
            buffer.release()
