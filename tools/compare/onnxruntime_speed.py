#!/usr/bin/env python3
"""ONNX Runtime's attention nodes: its CPU provider's time beside that of the plugin, calls interleaved, in one process.

    tools/compare/environment.sh python tools/compare/onnxruntime_speed.py [--build build] [--device P:D]

Least of --repeats times in ms. ONNX Runtime's threads do not spin while they wait, so that neither takes the other's
processors. Exit code 1: somewhere from 512 queries on, the plugin is slower by more than --slack, or a result differs.
"""
import argparse
import os
import pathlib
import sys
import time

import numpy as np
import onnx
import onnxruntime as ort

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src/plugins/onnxruntime/python"))
CPU = "CPUExecutionProvider"
HEADS, WIDTH = 12, 64


class Problem:
    """A model of one node, and inputs for it."""

    def __init__(self, name, op, inputs, outputs=("y",), domain="", **attributes):
        self.name = name
        self.inputs = {key: array for key, array in inputs.items() if array is not None}
        node = onnx.helper.make_node(op, [key if key in self.inputs else "" for key in inputs], outputs, domain=domain,
                                     **attributes)
        infos = [onnx.helper.make_tensor_value_info(key, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                 for key, array in self.inputs.items()]
        results = [onnx.helper.make_tensor_value_info(key, onnx.TensorProto.FLOAT, None) for key in outputs]
        self.model = onnx.helper.make_model(
            onnx.helper.make_graph([node], "speed", infos, results), ir_version=10,
            opset_imports=[onnx.helper.make_opsetid("", 23), onnx.helper.make_opsetid("com.microsoft", 1)])
        self.q_len = next(iter(self.inputs.values())).shape[-2]


def draw(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def of_heads(length, causal):
    """4-D, as torch.onnx.export writes scaled_dot_product_attention."""
    q, k, v = (draw(1, HEADS, length, WIDTH) for _ in range(3))
    return Problem("Attention 4-D, %d%s" % (length, ", causal" * causal), "Attention", dict(q=q, k=k, v=v),
                   is_causal=int(causal))


def of_rows(length, causal):
    q, k, v = (draw(1, length, HEADS * WIDTH) for _ in range(3))
    return Problem("Attention 3-D, %d%s" % (length, ", causal" * causal), "Attention", dict(q=q, k=k, v=v),
                   is_causal=int(causal), q_num_heads=HEADS, kv_num_heads=HEADS)


def multi_head(length):
    q, k, v = (draw(1, length, HEADS * WIDTH) for _ in range(3))
    return Problem("MultiHeadAttention, %d" % length, "MultiHeadAttention", dict(q=q, k=k, v=v),
                   domain="com.microsoft", num_heads=HEADS)


def group_query(length):
    q, k, v = draw(1, length, HEADS * WIDTH), draw(1, length, 4 * WIDTH), draw(1, length, 4 * WIDTH)
    inputs = dict(q=q, k=k, v=v, past_key=None, past_value=None, seqlens_k=np.array([length - 1], np.int32),
                  total=np.array(length, np.int32))
    return Problem("GroupQueryAttention, %d" % length, "GroupQueryAttention", inputs, ("y", "present_k", "present_v"),
                   domain="com.microsoft", num_heads=HEADS, kv_num_heads=4)


def decoding(past):
    """One query over a cache, which the operator copies in order to append to it."""
    q, k, v = (draw(1, HEADS, 1, WIDTH) for _ in range(3))
    past_key, past_value = (draw(1, HEADS, past, WIDTH) for _ in range(2))
    inputs = dict(q=q, k=k, v=v, mask=None, past_key=past_key, past_value=past_value)
    return Problem("Attention, 1 query, past %d" % past, "Attention", inputs, ("y", "present_k", "present_v"))


def one_query(length):
    """The same without a cache: what the copies of the cache cost, is the difference."""
    q, k, v = draw(1, HEADS, 1, WIDTH), draw(1, HEADS, length, WIDTH), draw(1, HEADS, length, WIDTH)
    return Problem("Attention, 1 query, %d keys" % length, "Attention", dict(q=q, k=k, v=v))


def problems():
    for length in (128, 512, 1024, 2048):
        for causal in (False, True):
            yield of_heads(length, causal)
            yield of_rows(length, causal)
        yield multi_head(length)
        yield group_query(length)
    for length in (1024, 4096):
        yield decoding(length)
        yield one_query(length)


def open_session(problem, threads, devices, plugin_options):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1" if devices else "0")
    model = problem.model.SerializeToString()
    if devices:
        options.add_provider_for_devices(devices, plugin_options)
        return ort.InferenceSession(model, options)
    return ort.InferenceSession(model, options, providers=[CPU])


def timed(session, inputs):
    session.run(None, inputs) # not counted: it brings inputs and code near
    start = time.perf_counter()
    result = session.run(None, inputs)[0]
    return time.perf_counter() - start, result


def compare(problem, arguments, devices):
    options = {"device": arguments.device} if arguments.device else {}
    sessions = [open_session(problem, arguments.threads, some, options) for some in ([], devices)]
    results = [timed(session, problem.inputs)[1] for session in sessions]
    times = [[timed(session, problem.inputs)[0] for session in sessions] for _ in range(arguments.repeats)]
    cpu, ours = (1e3 * min(column) for column in zip(*times))
    difference = np.abs(results[0] - results[1]).max()
    print("| %-32s | %8.2f | %8.2f | %5.2f | %.0e |" % (problem.name, cpu, ours, ours / cpu, difference), flush=True)
    too_slow = problem.q_len >= 512 and ours > cpu * (1 + arguments.slack)
    return not too_slow and difference < 1e-4


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--device", help="as OCLATTN_DEVICE")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of ONNX Runtime")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--slack", type=float, default=0.03)
    arguments = parser.parse_args()
    os.environ["OCLATTN_ONNXRUNTIME_LIBRARY"] = str(arguments.build / "lib/liboclattn_onnxruntime.so")
    import oclattn_onnxruntime
    devices = oclattn_onnxruntime.register()
    print("onnxruntime %s, %d threads; 1 x %d heads (4 for keys in GroupQueryAttention) of %d, f32; ms" %
          (ort.__version__, arguments.threads, HEADS, WIDTH))
    print("| node | CPU provider | oclattn | ratio | difference |\n|---|---:|---:|---:|---:|")
    good = [compare(problem, arguments, devices) for problem in problems()]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
