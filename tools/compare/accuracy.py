#!/usr/bin/env python3
"""Errors of oclattn and of PyTorch's CPU attention on the same inputs, each against float64.

    tools/compare/environment.sh python tools/compare/accuracy.py [--build build] [--device P:D]

For f32, oclattn's root mean square error may be 1.5 times PyTorch's and its maximum 3 times, in every class of input
and on every OpenCL device. An f16 or bf16 result may be 0.51 ulp of its type from the exact one, plus 3 times PyTorch's
maximum in f32 on the same numbers. Column "of bound" is the largest share of these bounds; above 1 the run fails.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch

import exact
import oclattn_ctypes

RMS_RATIO, MAX_RATIO, HALF_ULPS = 1.5, 3.0, 0.51
ROOT = pathlib.Path(__file__).resolve().parents[2]


class InputClass:
    """q_len queries over kv_len keys; `draw` makes q, k and v from a generator of random numbers and their shapes."""

    def __init__(self, name, draw, batch=1, q_heads=4, kv_heads=4, q_len=256, kv_len=256, head_dim=64, causal=False):
        self.name, self.draw, self.causal = name, draw, causal
        self.q_shape = (batch, q_heads, q_len, head_dim)
        self.kv_shape = (batch, kv_heads, kv_len, head_dim)

    def make(self, seed):
        random = np.random.default_rng([seed, *self.name.encode()])
        return self.draw(random, self.q_shape, self.kv_shape)


def normal(random, q_shape, kv_shape):
    return random.standard_normal(q_shape), random.standard_normal(kv_shape), random.standard_normal(kv_shape)


def logits_of_size(size):
    """Scores of standard deviation `size`."""
    def draw(random, q_shape, kv_shape):
        q, k, v = normal(random, q_shape, kv_shape)
        return q * np.sqrt(size), k * np.sqrt(size), v
    return draw


def near_ties(level):
    """Scores of a row that lie around one value, of size `level`, and differ by about 1e-3 of it."""
    def draw(random, q_shape, kv_shape):
        _, noise, v = normal(random, q_shape, kv_shape)
        common = random.standard_normal(kv_shape[-1])
        common *= np.sqrt(level * np.sqrt(common.size)) / np.linalg.norm(common)
        q = common * random.uniform(0.5, 1.0, q_shape[:3] + (1,))
        return q, common + 1e-3 * np.abs(common).mean() * noise, v
    return draw


def far_from_zero(random, q_shape, kv_shape):
    """Values of one sign, whose sums grow: rounding of sums shows here."""
    q, k, _ = normal(random, q_shape, kv_shape)
    return q, k, random.uniform(0.5, 1.5, kv_shape)


def one_key_wins(random, q_shape, kv_shape):
    """Each row has one score far above the others, so that weights span the range of f32."""
    q, k, v = normal(random, q_shape, kv_shape)
    k[:, :, ::37] *= 8
    return 2 * q, k, v


LONG = {"q_len": 16, "kv_len": 8192, "q_heads": 2, "kv_heads": 2}
CLASSES = [
    InputClass("normal", normal, batch=2),
    InputClass("normal, head_dim 80", normal, head_dim=80),
    InputClass("normal, head_dim 128", normal, head_dim=128, q_len=200, kv_len=333),
    InputClass("causal", normal, batch=2, causal=True),
    InputClass("causal, length 1000, head_dim 128", normal, head_dim=128, q_heads=2, kv_heads=2, q_len=1000,
               kv_len=1000, causal=True),
    InputClass("8 heads over 2", normal, q_heads=8, kv_heads=2, q_len=200, kv_len=300),
    InputClass("1 query, 8 heads over 2", normal, batch=4, q_heads=8, kv_heads=2, q_len=1, kv_len=4096, head_dim=128),
    InputClass("logits of 10", logits_of_size(10.0)),
    InputClass("logits of 100", logits_of_size(100.0)),
    InputClass("logits of 1000", logits_of_size(1000.0)),
    InputClass("one key wins", one_key_wins),
    InputClass("near ties around 1", near_ties(1.0)),
    InputClass("near ties around 100", near_ties(100.0)),
    InputClass("values far from zero", far_from_zero, kv_len=1024, q_len=64),
    InputClass("8192 keys", normal, **LONG),
    InputClass("8192 keys, head_dim 128", normal, head_dim=128, **LONG),
    InputClass("8192 keys, logits of 10", logits_of_size(10.0), **LONG),
    InputClass("8192 keys, near ties around 1", near_ties(1.0), **LONG),
    InputClass("8192 keys, values far from zero", far_from_zero, **LONG),
]


class Oclattn:
    """oclattn-run on one device, with one variant of the kernel (None: the one it chooses)."""

    def __init__(self, tool, device, variant, folder):
        self.tool, self.device, self.variant, self.folder = tool, device, variant, pathlib.Path(folder)

    def attention(self, arrays, kind, causal):
        """The result and the name of the variant that computed it."""
        for name, array in zip("qkv", arrays):
            np.save(self.folder / (name + ".npy"), array)
        command = [self.tool, "attention", "--q", "q.npy", "--k", "k.npy", "--v", "v.npy", "--dtype", kind,
                   "--device", self.device, "--out", "o.npy", "--json"]
        command += ["--causal"] if causal else []
        command += ["--variant", self.variant] if self.variant else []
        done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit("%s\nexit code %d: %s" % (" ".join(map(str, command)), done.returncode, done.stderr))
        return np.load(self.folder / "o.npy"), json.loads(done.stdout)["variant"]


def torch_attention(arrays, kind, causal):
    types = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    q, k, v = (torch.from_numpy(array.astype(np.float32)).to(types[kind]) for array in arrays)
    result = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                                              enable_gqa=q.shape[1] != k.shape[1])
    return result.to(torch.float32).numpy()


class Problem:
    """A class of input in one type: its numbers, their exact result, and what PyTorch makes of them."""

    def __init__(self, case, kind, seed):
        self.case, self.kind = case, kind
        numpy_type = exact.NUMPY_TYPES[kind]
        self.arrays = [array.astype(numpy_type).astype(np.float32) for array in case.make(seed)]
        self.exact = exact.attention(*self.arrays, causal=case.causal)
        self.torch = self.errors(torch_attention(self.arrays, kind, case.causal))
        self.torch_f32 = self.torch
        if kind != "f32":
            self.torch_f32 = self.errors(torch_attention(self.arrays, "f32", case.causal))

    def errors(self, result):
        return {"max": exact.max_error(result, self.exact), "rms": exact.rms_error(result, self.exact)}

    def share_of_bound(self, result):
        if self.kind == "f32":
            ours = self.errors(result)
            return max(ours["rms"] / (RMS_RATIO * self.torch["rms"]), ours["max"] / (MAX_RATIO * self.torch["max"]))
        bound = HALF_ULPS * exact.ulp(self.exact, self.kind) + MAX_RATIO * self.torch_f32["max"]
        return exact.max_error(result / bound, self.exact / bound)

    def measure(self, oclattn):
        result, variant = oclattn.attention(self.arrays, self.kind, self.case.causal)
        ours, share = self.errors(result), self.share_of_bound(result)
        return {"class": self.case.name, "type": self.kind, "device": oclattn.device, "variant": variant,
                "max": ours["max"], "rms": ours["rms"], "torch_max": self.torch["max"], "torch_rms": self.torch["rms"],
                "max_ratio": ours["max"] / self.torch["max"], "rms_ratio": ours["rms"] / self.torch["rms"],
                "share_of_bound": share, "ok": bool(share <= 1)}


HEADER = ("%-32s %-4s %-6s %-10s %8s %8s  %9s %9s  %5s %5s  %8s" %
          ("class", "type", "device", "variant", "max", "rms", "torch max", "torch rms", "max x", "rms x", "of bound"))


def line(row):
    return "%-32s %-4s %-6s %-10s %8.2e %8.2e  %9.2e %9.2e  %5.2f %5.2f  %8.2f  %s" % (
        row["class"], row["type"], row["device"], row["variant"].removeprefix("attention_"), row["max"], row["rms"],
        row["torch_max"], row["torch_rms"], row["max_ratio"], row["rms_ratio"], row["share_of_bound"],
        "ok" if row["ok"] else "BROKEN")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default: build)")
    parser.add_argument("--device", action="append", help="P:D, or a part of a name; may be repeated (default: all)")
    parser.add_argument("--variant", action="append",
                        help="of the kernel; may be repeated (default: the library's choice, and the portable one)")
    parser.add_argument("--type", action="append", choices=exact.NUMPY_TYPES, help="may be repeated (default: all)")
    parser.add_argument("--only", default="", help="classes of input whose name contains this")
    parser.add_argument("--seed", type=int, default=1, help="of the inputs (default: 1)")
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch (default: 2)")
    parser.add_argument("--json", type=pathlib.Path, help="writes the table there too")
    return parser.parse_args()


def chosen_devices(options):
    if options.device:
        return options.device
    devices = oclattn_ctypes.Library(options.build / "lib/liboclattn.so").devices()
    if not devices:
        raise SystemExit("there is no OpenCL device")
    for device in devices:
        print("device %s: %s" % (device.spec, device.title))
    return [device.spec for device in devices]


def compare(options, ours):
    print("PyTorch %s, seed %d\n\n%s" % (torch.__version__, options.seed, HEADER))
    rows, done = [], set()
    for case in (case for case in CLASSES if options.only in case.name):
        for kind in options.type or exact.NUMPY_TYPES:
            problem = Problem(case, kind, options.seed)
            for oclattn in ours:
                row = problem.measure(oclattn)
                what = (row["class"], row["type"], row["device"], row["variant"])
                if what not in done:  # the library's own choice may be one that was asked for too
                    done.add(what)
                    rows.append(row)
                    print(line(row), flush=True)
    return rows


def main():
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    tool = (options.build / "bin/oclattn-run").resolve()
    if not tool.exists():
        raise SystemExit("%s is not there: build first, or name the build folder with --build" % tool)
    variants = options.variant or [None, "attention_portable"]
    with tempfile.TemporaryDirectory() as folder:
        ours = [Oclattn(tool, device, variant, folder) for device in chosen_devices(options) for variant in variants]
        rows = compare(options, ours)
    if options.json:
        options.json.write_text(json.dumps({"torch": torch.__version__, "seed": options.seed, "rows": rows}, indent=2))
    broken = [row for row in rows if not row["ok"]]
    print("\n%d comparisons, %d beyond the bounds" % (len(rows), len(broken)))
    for row in broken:
        print(line(row))
    return 0 if rows and not broken else 1


if __name__ == "__main__":
    sys.exit(main())
