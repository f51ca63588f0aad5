"""Models of one node or more, sessions with the plugin and without it, and the proof of who ran which node."""
import ctypes
import json
import pathlib
import tempfile

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort

import oclattn_onnxruntime

OURS = oclattn_onnxruntime.get_ep_name()
CPU = "CPUExecutionProvider"
VERSION = tuple(int(part) for part in ort.__version__.split(".")[:2])
# Newer operators than an onnxruntime knows are refused by itself, before any provider sees them.
NEWEST_OPSET = {(1, 23): 23, (1, 24): 24}.get(VERSION, 25)
ATTENTION_OPS = ("Attention", "MultiHeadAttention", "GroupQueryAttention")
ONNX_TYPES = {np.dtype(np.float32): 1, np.dtype(np.int32): 6, np.dtype(np.int64): 7, np.dtype(np.bool_): 9,
              np.dtype(np.float16): 10, np.dtype(ml_dtypes.bfloat16): 16}
DTYPES = {number: dtype for dtype, number in ONNX_TYPES.items()}


def node_model(op, inputs, outputs, opset=23, domain="", dynamic=False, **attributes):
    """A model of one node. inputs: a dict of arrays, None where an optional input is left out. outputs: their names, ""
    where one is left out. dynamic: no dimension is known in advance."""
    given = {name: array for name, array in inputs.items() if array is not None}
    names = [name if name in given else "" for name in inputs]
    while names[-1] == "":
        names.pop()
    node = onnx.helper.make_node(op, names, outputs, name="attention", domain=domain, **attributes)
    kind = ONNX_TYPES[next(iter(given.values())).dtype]
    return model([node], given, {name: kind for name in outputs if name}, opset, dynamic)


def model(nodes, inputs, outputs, opset=23, dynamic=False, initializers=()):
    """inputs: a dict of arrays like those that it will be run with. outputs: a dict of ONNX types."""
    def info(name, array):
        shape = ["%s_%d" % (name, axis) for axis in range(array.ndim)] if dynamic else array.shape
        return onnx.helper.make_tensor_value_info(name, ONNX_TYPES[array.dtype], shape)

    graph = onnx.helper.make_graph(
        nodes, "test", [info(name, array) for name, array in inputs.items()],
        [onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [onnx.numpy_helper.from_array(array, name) for name, array in dict(initializers).items()])
    opsets = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)


class Session:
    """A session on the CPU provider, with the plugin before it if `ours`. `options` are the plugin's, `config` is
    onnxruntime's."""

    def __init__(self, onnx_model, ours=True, options=None, config=None, severity=3, fallback=False):
        self.folder = tempfile.TemporaryDirectory()
        settings = ort.SessionOptions()
        settings.log_severity_level = severity
        settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        for key, value in (config or {}).items():
            settings.add_session_config_entry(key, value)
        if VERSION < (1, 24): # which has no record of the assignment
            settings.enable_profiling = True
            settings.profile_file_prefix = self.folder.name + "/profile"
        if ours:
            settings.add_provider_for_devices(oclattn_onnxruntime.register(), options or {})
        content = onnx_model if isinstance(onnx_model, (bytes, str)) else onnx_model.SerializeToString()
        # Its Python's own fallback would make a session on the CPU provider after a failure, and go on.
        self.session = ort.InferenceSession(content, settings, enable_fallback=int(fallback),
                                            **({} if ours else {"providers": [CPU]}))
        self.profile = None # its file, when it has ended
        self.names = [output.name for output in self.session.get_outputs()]

    def run(self, inputs):
        """Outputs by name. Every type that the plugin knows, bfloat16 among them, which onnxruntime's numpy lacks."""
        given = {name: to_value(array) for name, array in inputs.items() if array is not None}
        return dict(zip(self.names, map(to_array, self.session.run_with_ort_values(None, given))))

    def assignment(self):
        """{provider: operators that it got, sorted}. Before 1.24, from the profile of what was run, where operators
        of the plugin bear names that onnxruntime gave them."""
        if VERSION >= (1, 24):
            return as_lists((part.ep_name, node.op_type) for part in self.session.get_provider_graph_assignment_info()
                            for node in part.get_nodes())
        self.profile = self.profile or self.session.end_profiling()
        events = json.loads(pathlib.Path(self.profile).read_text())
        return as_lists((event["args"]["provider"], event["args"]["op_name"]) for event in events
                        if event.get("cat") == "Node" and "provider" in event["args"])

    def assert_attention_is_ours(self, nodes=1, runs=1):
        """Fails unless the plugin got `nodes` nodes and the CPU provider no attention. `runs`: how often it was run."""
        assigned = self.assignment()
        expected = nodes if VERSION >= (1, 24) else nodes * runs
        assert len(assigned.get(OURS, [])) == expected, assigned
        assert not set(assigned.get(CPU, [])) & set(ATTENTION_OPS), assigned


def as_lists(pairs):
    lists = {}
    for provider, operator in sorted(pairs):
        lists.setdefault(provider, []).append(operator)
    return lists


def to_value(array):
    array = np.ascontiguousarray(array) if array.ndim else array
    if array.dtype == ml_dtypes.bfloat16:
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), 16)
    return ort.OrtValue.ortvalue_from_numpy(array)


def to_array(value):
    """A copy, made by address: OrtValue.numpy() does not know bfloat16."""
    dtype, shape = DTYPES[value.element_type()], value.shape()
    size = int(np.prod(shape)) * dtype.itemsize
    content = ctypes.string_at(value.data_ptr(), size) if size else b""
    return np.frombuffer(content, dtype).reshape(shape).copy()


def run_ours(onnx_model, inputs, **settings):
    """Outputs by name, with the proof that the plugin ran the node."""
    session = Session(onnx_model, **settings)
    outputs = session.run(inputs)
    session.assert_attention_is_ours()
    return outputs


def run_cpu(onnx_model, inputs):
    """Outputs of onnxruntime's CPU provider, or None where it has no such kernel or refuses the call."""
    try:
        return Session(onnx_model, ours=False, severity=4).run(inputs)
    except (ort.capi.onnxruntime_pybind11_state.Fail, ort.capi.onnxruntime_pybind11_state.InvalidArgument,
            ort.capi.onnxruntime_pybind11_state.NotImplemented, ort.capi.onnxruntime_pybind11_state.InvalidGraph,
            ort.capi.onnxruntime_pybind11_state.RuntimeException):
        return None
