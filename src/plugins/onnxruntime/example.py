#!/usr/bin/env python3
"""A small PyTorch transformer, exported and run in ONNX Runtime: on its CPU provider, and with attention on oclattn.

    pip install ./src/plugins/onnxruntime onnxruntime torch onnxscript
    python src/plugins/onnxruntime/example.py [--length 512] [--device P:D]

Prints who ran which nodes, how far the results lie apart, and the time of a run, least of some, the two interleaved.
"""
import argparse
import collections
import pathlib
import tempfile
import time

import numpy as np
import onnxruntime
import torch

import oclattn_onnxruntime

CPU, OURS = "CPUExecutionProvider", oclattn_onnxruntime.get_ep_name()


class Block(torch.nn.Module):
    """x + attention(norm(x)), causal, then x + mlp(norm(x))."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                       torch.nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, -1))
        heads = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


def export(layers, width, heads, path):
    """Opset 23 is the first with a node for attention; before, it becomes MatMul, Softmax, MatMul."""
    model = torch.nn.Sequential(*(Block(width, heads) for _ in range(layers))).eval()
    length = torch.export.Dim("length", min=2, max=8192)
    torch.onnx.export(model, (torch.zeros(1, 16, width),), str(path), dynamo=True, opset_version=23,
                      input_names=["x"], output_names=["y"], dynamic_shapes=[{1: length}], verbose=False)


def open_session(path, devices, plugin_options):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    options.add_session_config_entry("session.intra_op.allow_spinning", "0") # or threads that wait take our processors
    if devices:
        options.add_provider_for_devices(devices, plugin_options)
        return onnxruntime.InferenceSession(str(path), options)
    return onnxruntime.InferenceSession(str(path), options, providers=[CPU])


def who_ran(session):
    if not hasattr(session, "get_provider_graph_assignment_info"):
        return "onnxruntime %s does not tell" % onnxruntime.__version__
    nodes = collections.defaultdict(collections.Counter)
    for part in session.get_provider_graph_assignment_info():
        nodes[part.ep_name].update(node.op_type for node in part.get_nodes())
    return "; ".join("%s: %s" % (name, ", ".join("%d %s" % (count, op) for op, count in counts.most_common()))
                     for name, counts in sorted(nodes.items()))


def least_times(sessions, x, repeats):
    times = {name: [] for name in sessions}
    for _ in range(repeats):
        for name, session in sessions.items():
            start = time.perf_counter()
            session.run(None, {"x": x})
            times[name].append(time.perf_counter() - start)
    return {name: min(all_times) for name, all_times in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--device", help="as OCLATTN_DEVICE: gpu, cpu, P:D, or a part of a name")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "transformer.onnx"
        export(arguments.layers, arguments.width, arguments.heads, path)
        options = {"device": arguments.device} if arguments.device else {}
        sessions = {"CPU provider": open_session(path, [], {}),
                    "with oclattn": open_session(path, oclattn_onnxruntime.register(), options)}
    x = np.random.default_rng(0).standard_normal((1, arguments.length, arguments.width)).astype(np.float32)
    results = {name: session.run(None, {"x": x})[0] for name, session in sessions.items()}
    times = least_times(sessions, x, arguments.repeats)
    for name, session in sessions.items():
        print("%s: %.2f ms" % (name, 1e3 * times[name]))
        print("    " + who_ran(session))
    difference = np.abs(results["CPU provider"] - results["with oclattn"]).max()
    print("largest difference: %.2g, of values up to %.2g" % (difference, np.abs(results["CPU provider"]).max()))


if __name__ == "__main__":
    main()
