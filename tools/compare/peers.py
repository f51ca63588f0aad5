"""The ways to compute a problem that are compared, each with one face: run(copy), then result().

A class's constructor takes a problem, its inputs and their type, and raises Refusal where it cannot take them; the
table then has an empty cell. Everything that can be done before a call is done in the constructor.
"""
import ctypes as c
import importlib.util
import pathlib

import numpy as np
import onnx
import onnxruntime
import torch

import exact
import oclattn_ctypes
from suite import Layer

TORCH_TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


class Refusal(Exception):
    """Why a peer has no figure."""


def as_torch(array, kind):
    if kind == "bf16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def additive_mask(problem):
    """[batch or 1, 1, q_len, kv_len] float32, -inf where hidden; None where nothing is."""
    if problem.kv_lens is not None:
        hidden = np.arange(problem.kv_len) >= np.array(problem.kv_lens)[:, None, None, None]
        hidden = np.broadcast_to(hidden, (problem.batch, 1, problem.q_len, problem.kv_len))
    elif problem.causal or problem.window_left >= 0:
        hidden = exact.hidden_keys(problem.q_len, problem.kv_len, problem.causal, problem.window_left)[None, None]
    else:
        return None
    return np.where(hidden, np.float32(-np.inf), np.float32(0))


# ---- oclattn ---------------------------------------------------------------------------------------------------------


class Oclattn:
    """One of this library's devices. A context, once per run of the program, is shared by all problems."""

    def __init__(self, context, problem, inputs, kind):
        self.calls = []
        try:
            for copy in inputs:
                self.calls.append(self.plan(context, problem, copy))
        except oclattn_ctypes.Failure as failure:
            self.close()
            raise Refusal(str(failure)) from None
        self.variant = self.calls[0].variant

    @staticmethod
    def plan(context, problem, arrays):
        if isinstance(problem, Layer):
            return context.mha(*arrays, heads=problem.heads)
        return context.attention(*arrays, causal=problem.causal, window_left=problem.window_left,
                                 kv_lens=problem.kv_lens)

    def run(self, copy):
        self.last = self.calls[copy]
        self.last.run()

    def result(self):
        return self.last.result().astype(np.float32)

    def close(self):
        for call in self.calls:
            call.close()


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


class Peer:
    """What peers share: `output` is what the last run left. Their threads look for work for some time before they sleep, and
    keep others from the processors meanwhile."""

    output = None
    spins_seconds = 0.3

    def result(self):
        return np.asarray(self.output, np.float32)

    def close(self):
        pass


class TorchPeer(Peer):
    def result(self):
        return self.output.to(torch.float32).numpy()


class TorchAttention(TorchPeer):
    """scaled_dot_product_attention. Masks are made beforehand, in the form that it takes without converting them."""

    name = "PyTorch"

    def __init__(self, problem, inputs, kind):
        if isinstance(problem, Layer):
            raise Refusal("attention alone")
        self.inputs = [[as_torch(array, kind) for array in copy] for copy in inputs]
        plain_causal = problem.causal and problem.window_left < 0
        mask = None if plain_causal else additive_mask(problem)
        self.options = {"is_causal": plain_causal, "enable_gqa": problem.q_heads != problem.kv_heads,
                        "attn_mask": None if mask is None else torch.from_numpy(mask).to(TORCH_TYPES[kind])}

    def run(self, copy):
        with torch.inference_mode():
            self.output = torch.nn.functional.scaled_dot_product_attention(*self.inputs[copy], **self.options)


class TorchLayer(TorchPeer):
    """Linear layers around scaled_dot_product_attention, Q, K and V in one product."""

    name = "PyTorch"

    def __init__(self, problem, inputs, kind):
        if not isinstance(problem, Layer):
            raise Refusal("layers alone")
        x, weights = inputs[0]
        weights = {name: as_torch(array, kind) for name, array in weights.items()}
        self.x, self.heads = as_torch(x, kind), problem.heads
        self.w_in = torch.cat([weights["w_q"], weights["w_k"], weights["w_v"]])
        self.b_in = torch.cat([weights["b_q"], weights["b_k"], weights["b_v"]])
        self.w_head, self.b_head = weights["w_head"], weights["b_head"]

    def run(self, copy):
        functional = torch.nn.functional
        with torch.inference_mode():
            batch, length, width = self.x.shape
            packed = functional.linear(self.x, self.w_in, self.b_in).view(batch, length, 3, self.heads, -1)
            q, k, v = packed.permute(2, 0, 3, 1, 4).unbind(0)
            heads = functional.scaled_dot_product_attention(q, k, v)
            merged = heads.transpose(1, 2).reshape(batch, length, width)
            self.output = functional.linear(merged, self.w_head, self.b_head)


class TorchModule(TorchLayer):
    """nn.MultiheadAttention as it is used for inference."""

    name = "PyTorch nn.MHA"

    def __init__(self, problem, inputs, kind):
        super().__init__(problem, inputs, kind)
        module = torch.nn.MultiheadAttention(problem.d_model, problem.heads, batch_first=True, dtype=TORCH_TYPES[kind])
        module.load_state_dict({"in_proj_weight": self.w_in, "in_proj_bias": self.b_in,
                                "out_proj.weight": self.w_head, "out_proj.bias": self.b_head})
        self.module = module.eval()

    def run(self, copy):
        with torch.inference_mode():
            self.output = self.module(self.x, self.x, self.x, need_weights=False)[0]


# ---- ONNX Runtime ----------------------------------------------------------------------------------------------------


class OnnxPeer(Peer):
    """A graph of ONNX Runtime's own operators on the CPU, its inputs bound once."""

    name = "ONNX Runtime"
    threads = 2

    def bind(self, nodes, shapes, constants, feeds):
        """shapes: of the graph's inputs by name; feeds: for each copy, arrays by name. The output is "o"."""
        helper = onnx.helper
        values = [helper.make_tensor_value_info(name, element, shape) for name, (element, shape) in shapes.items()]
        output = helper.make_tensor_value_info("o", onnx.TensorProto.FLOAT, None)
        initializers = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
        graph = helper.make_graph(nodes, "peer", values, [output], initializers)
        model = helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        self.bindings = [self.bind_copy(feed) for feed in feeds]

    def bind_copy(self, feed):
        binding = self.session.io_binding()
        for name, array in feed.items():
            binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
        binding.bind_output("o")
        return binding

    def run(self, copy):
        self.last = self.bindings[copy]
        self.session.run_with_iobinding(self.last)

    def result(self):
        return self.last.copy_outputs_to_cpu()[0]


class OnnxAttention(OnnxPeer):
    """MultiHeadAttention, whose tensors are [batch, length, heads * head_dim]."""

    def __init__(self, problem, inputs, kind):
        if isinstance(problem, Layer) or kind != "f32" or problem.q_heads != problem.kv_heads:
            raise Refusal("MultiHeadAttention on the CPU takes f32 and as many heads in k and v as in q")
        self.problem = problem
        plain_causal = problem.causal and problem.window_left < 0
        mask = None if plain_causal else additive_mask(problem)
        feeds = [dict(zip("qkv", map(self.packed, copy))) for copy in inputs]
        names = ["q", "k", "v"] + ([] if mask is None else ["", "", "bias"])
        for feed in feeds if mask is not None else []:
            feed["bias"] = mask
        node = onnx.helper.make_node("MultiHeadAttention", names, ["o"], domain="com.microsoft",
                                     num_heads=problem.q_heads, unidirectional=int(plain_causal))
        shapes = {name: (onnx.TensorProto.FLOAT, array.shape) for name, array in feeds[0].items()}
        self.bind([node], shapes, {}, feeds)

    @staticmethod
    def packed(array):
        batch, heads, length, width = array.shape
        return np.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(batch, length, heads * width)

    def result(self):
        output = super().result()
        return output.reshape(output.shape[:2] + (self.problem.q_heads, -1)).transpose(0, 2, 1, 3)


class OnnxLayer(OnnxPeer):
    """Attention, which holds the input projections, and a product."""

    def __init__(self, problem, inputs, kind):
        if not isinstance(problem, Layer) or kind != "f32":
            raise Refusal("layers in f32 alone")
        x, weights = inputs[0]
        constants = {
            "w_in": np.concatenate([weights["w_q"].T, weights["w_k"].T, weights["w_v"].T], axis=1),
            "b_in": np.concatenate([weights["b_q"], weights["b_k"], weights["b_v"]]),
            "w_head": np.ascontiguousarray(weights["w_head"].T), "b_head": weights["b_head"]}
        node = onnx.helper.make_node
        nodes = [node("Attention", ["x", "w_in", "b_in"], ["merged"], domain="com.microsoft", num_heads=problem.heads),
                 node("MatMul", ["merged", "w_head"], ["product"]), node("Add", ["product", "b_head"], ["o"])]
        self.bind(nodes, {"x": (onnx.TensorProto.FLOAT, x.shape)}, constants, [{"x": x}])


# ---- ggml ------------------------------------------------------------------------------------------------------------


class GgmlInit(c.Structure):
    _fields_ = [("mem_size", c.c_size_t), ("mem_buffer", c.c_void_p), ("no_alloc", c.c_bool)]


class GgmlPlan(c.Structure):
    _fields_ = [("work_size", c.c_size_t), ("work_data", c.c_void_p), ("n_threads", c.c_int),
                ("threadpool", c.c_void_p), ("abort_callback", c.c_void_p), ("abort_callback_data", c.c_void_p),
                ("use_ref", c.c_bool)]


class Ggml:
    """The functions of ggml's libraries that are needed, and one pool of threads."""

    TYPES = {"f32": 0, "f16": 1, "bf16": 30}
    THREADPOOL_PARAMS_BYTES = 4096  # more than the struct has in any version

    def __init__(self, threads):
        found = importlib.util.find_spec("libggml")
        folder = next(pathlib.Path(found.submodule_search_locations[0]).glob("lib*/libggml-base.so")).parent
        self.base = c.CDLL(str(folder / "libggml-base.so"), mode=c.RTLD_GLOBAL)
        self.cpu = c.CDLL(str(folder / "libggml-cpu.so"))
        for function in ("ggml_init", "ggml_new_tensor_4d", "ggml_flash_attn_ext", "ggml_new_graph", "ggml_get_data"):
            getattr(self.base, function).restype = c.c_void_p
        self.cpu.ggml_threadpool_new.restype = c.c_void_p
        self.cpu.ggml_graph_plan.restype = GgmlPlan
        self.cpu.ggml_cpu_init()
        params = c.create_string_buffer(self.THREADPOOL_PARAMS_BYTES)
        self.base.ggml_threadpool_params_init(params, c.c_int(threads))
        self.threads, self.threadpool = threads, c.c_void_p(self.cpu.ggml_threadpool_new(params))


class GgmlAttention(Peer):
    """ggml_flash_attn_ext: q in f32, k and v in the problem's type, an f16 mask where there is one."""

    name = "ggml"

    def __init__(self, ggml, problem, inputs, kind):
        if isinstance(problem, Layer):
            raise Refusal("attention alone")
        self.ggml, self.problem = ggml, problem
        mask = additive_mask(problem)
        arrays_bytes = sum(array.nbytes * 2 for copy in inputs for array in copy)
        results_bytes = len(inputs) * problem.batch * problem.q_heads * problem.q_len * problem.head_dim * 4
        size = arrays_bytes + results_bytes + (0 if mask is None else mask.nbytes) + (64 << 20)
        self.memory = c.c_void_p(ggml.base.ggml_init(GgmlInit(size, None, False)))
        mask_tensor = None if mask is None else self.tensor(mask.astype(np.float16), "f16")
        self.graphs = [self.graph(copy, kind, mask_tensor) for copy in inputs]

    def tensor(self, array, kind):
        lengths = [c.c_int64(length) for length in reversed(array.shape)]
        tensor = c.c_void_p(self.ggml.base.ggml_new_tensor_4d(self.memory, c.c_int(Ggml.TYPES[kind]), *lengths))
        array = np.ascontiguousarray(array)
        c.memmove(c.c_void_p(self.ggml.base.ggml_get_data(tensor)), c.c_void_p(array.ctypes.data), array.nbytes)
        return tensor

    def graph(self, copy, kind, mask):
        q, k, v = copy
        base, cpu = self.ggml.base, self.ggml.cpu
        tensors = self.tensor(q.astype(np.float32), "f32"), self.tensor(k, kind), self.tensor(v, kind)
        scale = self.problem.head_dim ** -0.5
        output = c.c_void_p(base.ggml_flash_attn_ext(self.memory, *tensors, mask, c.c_float(scale), c.c_float(0),
                                                     c.c_float(0)))
        graph = c.c_void_p(base.ggml_new_graph(self.memory))
        base.ggml_build_forward_expand(graph, output)
        plan = cpu.ggml_graph_plan(graph, c.c_int(self.ggml.threads), self.ggml.threadpool)
        work = np.empty(max(plan.work_size, 1), np.uint8)
        plan.work_data = work.ctypes.data
        return graph, plan, output, work

    def run(self, copy):
        self.last = self.graphs[copy]
        if self.ggml.cpu.ggml_graph_compute(self.last[0], c.byref(self.last[1])) != 0:
            raise RuntimeError("ggml_graph_compute failed")

    def result(self):
        shape = (self.problem.batch, self.problem.q_len, self.problem.q_heads, self.problem.head_dim)
        values = np.empty(shape, np.float32)
        c.memmove(c.c_void_p(values.ctypes.data), c.c_void_p(self.ggml.base.ggml_get_data(self.last[2])), values.nbytes)
        return values.transpose(0, 2, 1, 3)

    def close(self):
        self.ggml.base.ggml_free(self.memory)
