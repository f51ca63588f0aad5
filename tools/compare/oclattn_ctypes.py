"""oclattn's C API by ctypes, as far as the comparisons need it: attention and F(H) on device buffers.

    library = Library("build/lib/liboclattn.so")
    context = library.context("cpu")
    call = context.attention(q, k, v, causal=True)      # numpy arrays [batch, heads, length, width]
    call.run()                                          # enqueues and waits
    o = call.result()
"""
import ctypes as c
import pathlib
import sys

import ml_dtypes
import numpy as np

# The Python package's declarations of oclattn.h, without the package, which would load the library that it carries.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src/plugins/python/oclattn"))
import _structs  # noqa: E402
from _structs import (  # noqa: E402
    AttentionArgs, AttentionDesc, ContextOptions, Error, MhaArgs, MhaDesc, MhaWeightsArgs, Tensor)
sys.path.pop(0)

TYPES = {np.dtype(np.float32): _structs.F32, np.dtype(np.float16): _structs.F16,
         np.dtype(ml_dtypes.bfloat16): _structs.BF16}
MHA_BIASES = _structs.MHA_B_Q | _structs.MHA_B_K | _structs.MHA_B_V | _structs.MHA_B_HEAD
MEM_READ_WRITE, MEM_READ_ONLY, MEM_COPY_HOST_PTR = 1 << 0, 1 << 2, 1 << 5


class DeviceInfo(_structs.DeviceInfo):
    @property
    def spec(self):
        return "%d:%d" % (self.platform_index, self.device_index)

    @property
    def title(self):
        return "%s (%s)" % (self.name.decode(), self.platform.decode())


INIT_FUNCTIONS = {**_structs.INIT_FUNCTIONS, DeviceInfo: _structs.INIT_FUNCTIONS[_structs.DeviceInfo]}


class Failure(Exception):
    """What the library or the driver said."""


class Library:
    def __init__(self, path):
        self.c = c.CDLL(str(path))
        self.cl = c.CDLL("libOpenCL.so.1")
        for name in ("oclattn_context_cl", "oclattn_context_device"):
            getattr(self.c, name).restype = c.c_void_p
        self.c.oclattn_plan_workspace_bytes.restype = c.c_size_t
        self.c.oclattn_plan_variant.restype = c.c_char_p
        self.cl.clCreateBuffer.restype = c.c_void_p
        self.cl.clCreateCommandQueue.restype = c.c_void_p

    def fresh(self, struct):
        value = struct()
        getattr(self.c, INIT_FUNCTIONS[struct])(c.byref(value))
        if value.struct_size != c.sizeof(struct):
            raise Failure("%s has %d bytes here and %d in the library: these bindings are for another version"
                          % (struct.__name__, c.sizeof(struct), value.struct_size))
        return value

    def call(self, name, *arguments):
        error = Error()
        if getattr(self.c, name)(*arguments, c.byref(error)) != 0:
            raise Failure("%s: %s" % (name, error.message.decode()))

    def devices(self):
        """Every device once: one that is reached through two drivers' entries counts as one."""
        count = c.c_size_t()
        self.call("oclattn_devices_list", None, c.c_size_t(0), c.byref(count))
        infos = (DeviceInfo * max(count.value, 1))(*[self.fresh(DeviceInfo) for _ in range(max(count.value, 1))])
        self.call("oclattn_devices_list", infos, c.c_size_t(count.value), c.byref(count))
        return [info for info in infos[:count.value] if info.alias_of < 0]

    def context(self, device=None):
        return Context(self, device)


class Context:
    def __init__(self, library, device):
        self.library = library
        options = library.fresh(ContextOptions)
        options.device = device.encode() if device else None
        handle = c.c_void_p()
        library.call("oclattn_context_create", c.byref(options), c.byref(handle))
        self.handle = handle
        self.info = library.fresh(DeviceInfo)
        library.call("oclattn_context_device_info", handle, c.byref(self.info))
        self.cl_context = c.c_void_p(library.c.oclattn_context_cl(handle))
        code = c.c_int32()
        device_id = c.c_void_p(library.c.oclattn_context_device(handle))
        self.queue = c.c_void_p(
            library.cl.clCreateCommandQueue(self.cl_context, device_id, c.c_uint64(0), c.byref(code)))
        check_cl("clCreateCommandQueue", code.value)

    def close(self):
        self.library.cl.clReleaseCommandQueue(self.queue)
        self.library.c.oclattn_context_destroy(self.handle)

    def upload(self, array):
        return Buffer(self, array.nbytes, np.ascontiguousarray(array))

    def attention(self, q, k, v, **options):
        return AttentionCall(self, q, k, v, **options)

    def mha(self, x, weights, **options):
        return MhaCall(self, x, weights, **options)


def check_cl(name, code):
    if code != 0:
        raise Failure("%s: OpenCL error %d" % (name, code))


class Buffer:
    """Device memory, filled from an array where one is given."""

    def __init__(self, context, size, array=None):
        self.cl, self.size = context.library.cl, size
        code = c.c_int32()
        flags = MEM_READ_WRITE if array is None else MEM_READ_ONLY | MEM_COPY_HOST_PTR
        source = None if array is None else c.c_void_p(array.ctypes.data)
        self.mem = c.c_void_p(self.cl.clCreateBuffer(context.cl_context, c.c_uint64(flags), c.c_size_t(size), source,
                                                     c.byref(code)))
        check_cl("clCreateBuffer", code.value)

    @property
    def tensor(self):
        return Tensor(self.mem, 0, None)

    def read(self, queue, shape, dtype):
        array = np.empty(shape, dtype)
        check_cl("clEnqueueReadBuffer", self.cl.clEnqueueReadBuffer(
            queue, self.mem, c.c_uint32(1), c.c_size_t(0), c.c_size_t(array.nbytes), c.c_void_p(array.ctypes.data),
            c.c_uint32(0), None, None))
        return array

    def release(self):
        self.cl.clReleaseMemObject(self.mem)


class Call:
    """One planned computation with its buffers; run() may be called again and again."""

    def __init__(self, context):
        self.context, self.library = context, context.library
        self.buffers = []
        self.plan = c.c_void_p()
        self.error = Error()

    def keep(self, buffer):
        self.buffers.append(buffer)
        return buffer

    def upload(self, array):
        return self.keep(self.context.upload(array)).tensor

    def finish_setup(self, enqueue, args, shape, dtype):
        size = self.library.c.oclattn_plan_workspace_bytes(self.plan)
        if size:
            args.workspace = self.keep(Buffer(self.context, size)).mem
        self.output = self.keep(Buffer(self.context, int(np.prod(shape)) * dtype.itemsize))
        self.shape, self.dtype, self.args = shape, dtype, args
        self.enqueue = getattr(self.library.c, enqueue)
        self.enqueue_arguments = (self.plan, self.context.queue, c.byref(args), c.c_uint32(0), None, None,
                                  c.byref(self.error))
        self.variant = self.library.c.oclattn_plan_variant(self.plan).decode()

    def run(self):
        if self.enqueue(*self.enqueue_arguments) != 0:
            raise Failure(self.error.message.decode())
        check_cl("clFinish", self.library.cl.clFinish(self.context.queue))

    def result(self):
        return self.output.read(self.context.queue, self.shape, self.dtype)

    def close(self):
        self.library.c.oclattn_plan_destroy(self.plan)
        for buffer in self.buffers:
            buffer.release()


class AttentionCall(Call):
    def __init__(self, context, q, k, v, causal=False, window_left=-1, kv_lens=None, variant=None):
        super().__init__(context)
        desc = self.library.fresh(AttentionDesc)
        desc.batch, desc.q_heads, desc.q_len, desc.head_dim = q.shape
        desc.kv_heads, desc.kv_len, desc.v_dim = v.shape[1:]
        desc.q_type = desc.o_type = TYPES[q.dtype]
        desc.k_type, desc.v_type = TYPES[k.dtype], TYPES[v.dtype]
        desc.variant = variant.encode() if variant else None
        if causal:
            desc.score.flags |= _structs.CAUSAL
        if causal or window_left >= 0:
            desc.score.align = _structs.ALIGN_TOP_LEFT
        desc.score.window_left = window_left
        if kv_lens is not None:
            desc.score.flags |= _structs.KV_LENS
        self.library.call("oclattn_attention_plan", context.handle, c.byref(desc), c.byref(self.plan))
        args = self.library.fresh(AttentionArgs)
        args.q, args.k, args.v = self.upload(q), self.upload(k), self.upload(v)
        if kv_lens is not None:
            args.score.kv_lens = self.upload(np.asarray(kv_lens, np.int32))
        self.finish_setup("oclattn_attention_enqueue", args, q.shape[:3] + v.shape[3:], q.dtype)
        args.o = self.output.tensor


class MhaCall(Call):
    """F(H). weights: w_q, w_k, w_v, w_head, stored [out, in] as PyTorch does, and b_q, b_k, b_v, b_head."""

    def __init__(self, context, x, weights, heads):
        super().__init__(context)
        self.weights = c.c_void_p()
        desc = self.library.fresh(MhaDesc)
        desc.batch, desc.q_len, desc.d_model = x.shape
        desc.n_heads = heads
        desc.x_type = desc.w_type = desc.y_type = TYPES[x.dtype]
        desc.flags = _structs.MHA_WEIGHTS_OUT_IN | MHA_BIASES
        self.library.call("oclattn_mha_plan", context.handle, c.byref(desc), c.byref(self.plan))
        self.prepare_weights(weights)
        args = self.library.fresh(MhaArgs)
        args.x, args.weights = self.upload(x), self.weights
        self.finish_setup("oclattn_mha_enqueue", args, x.shape, x.dtype)
        args.y = self.output.tensor

    def prepare_weights(self, weights):
        args = self.library.fresh(MhaWeightsArgs)
        buffers = {name: self.context.upload(array) for name, array in weights.items()}
        for name, buffer in buffers.items():
            setattr(args, name, buffer.tensor)
        self.library.call("oclattn_mha_weights", self.plan, self.context.queue, c.byref(args), c.byref(self.weights))
        for buffer in buffers.values():
            buffer.release()

    def close(self):
        self.library.c.oclattn_weights_destroy(self.weights)
        super().close()
