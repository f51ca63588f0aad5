#!/usr/bin/env python3
"""Runs oclattn-run as a user would, with good input and bad, and looks at what comes out.

    run_cli_tests.py PATH/oclattn-run PATH/minilm_layer0.safetensors

Standard library only. The device is OCLATTN_DEVICE's, or the tool's own choice.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

ATTENTION = ["attention", "--q", "q.npy", "--k", "k.npy", "--v", "v.npy"]
TYPES = {"f4": "f", "f8": "d", "f2": "e", "i4": "i", "i8": "q", "u1": "B", "b1": "?"}


def npy_bytes(shape, values, kind="f4", order=None, fortran=False):
    one_byte = kind in ("u1", "b1")
    descr = (order or ("|" if one_byte else "<")) + kind
    sizes = ", ".join(str(n) for n in shape) + ("," if len(shape) == 1 else "")
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (descr, fortran, sizes)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
    return head + struct.pack("<%d%s" % (len(values), TYPES[kind]), *values)


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", path
    length = struct.unpack("<H", data[8:10])[0]
    assert (10 + length) % 64 == 0, path
    header = data[10:10 + length].decode()
    kind = header.split("'descr': '<")[1][:2]
    sizes = header.split("'shape': (")[1].split(")")[0]
    shape = [int(n) for n in sizes.split(",") if n.strip()]
    values = struct.unpack("<%d%s" % (math.prod(shape), TYPES[kind]), data[10 + length:])
    return kind, shape, values


def write_safetensors(path, tensors, header_text=None):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack("<%df" % len(values), *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = (header_text or json.dumps(header)).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class Suite:
    def __init__(self, tool, sample, folder):
        self.tool, self.sample, self.folder = tool, sample, folder
        self.done = self.failed = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, name, shape, values, kind="f4", **more):
        with open(self.path(name), "wb") as file:
            file.write(npy_bytes(shape, values, kind, **more))

    def run(self, *words, env=None):
        environment = dict(os.environ, **(env or {}))
        return subprocess.run([self.tool, *map(str, words)], cwd=self.folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)

    def verdict(self, name, problem):
        self.done += 1
        if problem:
            self.failed += 1
            print("FAILED %s: %s" % (name, problem))

    def good(self, name, *words, code=0, says=()):
        """Expects the exit code and texts on stdout; returns stdout."""
        result = self.run(*words)
        problem = None
        if result.returncode != code:
            problem = "exit code %d, expected %d; %s" % (result.returncode, code, result.stderr.strip())
        for text in says:
            if not problem and text not in result.stdout:
                problem = "stdout lacks '%s':\n%s" % (text, result.stdout)
        self.verdict(name, problem)
        return result.stdout

    def bad(self, name, *words, code=2, says=(), env=None, warnings=0):
        """Expects one line with the texts on stderr, after so many warnings, no stdout, and no new file."""
        before = sorted(os.listdir(self.folder))
        result = self.run(*words, env=env)
        lines = result.stderr.splitlines()
        problem = None
        if result.returncode != code:
            problem = "exit code %d, expected %d; %s" % (result.returncode, code, result.stderr.strip())
        elif len(lines) != 1 + warnings or not all(line.startswith("oclattn-run: ") for line in lines):
            problem = "stderr is not %d line(s): %r" % (1 + warnings, result.stderr)
        elif result.stdout:
            problem = "stdout is not empty: %r" % result.stdout
        elif sorted(os.listdir(self.folder)) != before:
            problem = "it wrote a file"
        for text in says:
            if not problem and text not in result.stderr:
                problem = "the message lacks '%s': %s" % (text, result.stderr.strip())
        self.verdict(name, problem)

    def result(self, name, path, expected, kind="f4", shape=None, tolerance=1e-6):
        """Compares a written array with what it should hold."""
        try:
            got_kind, got_shape, values = read_npy(self.path(path))
        except (OSError, AssertionError) as error:
            self.verdict(name, "cannot read %s: %s" % (path, error))
            return
        problem = None
        if got_kind != kind:
            problem = "type %s, expected %s" % (got_kind, kind)
        elif shape and got_shape != list(shape):
            problem = "shape %s, expected %s" % (got_shape, list(shape))
        elif len(values) != len(expected):
            problem = "%d values, expected %d" % (len(values), len(expected))
        else:
            for i, (got, want) in enumerate(zip(values, expected)):
                same = got == want or (math.isnan(got) and math.isnan(want))
                if not same and not abs(got - want) <= tolerance * max(1, abs(want)):
                    problem = "value %d is %r, expected %r" % (i, got, want)
                    break
        self.verdict(name, problem)
        os.remove(self.path(path))

    def attend(self, name, expected, *words, **more):
        """Runs attention on q.npy, k.npy, v.npy with --check and compares the output."""
        self.good(name, *ATTENTION, "--out", "o.npy", "--check", *words)
        if os.path.exists(self.path("o.npy")):
            self.result(name + ", values", "o.npy", expected, **more)
        else:
            self.verdict(name + ", values", "there is no output")


def save_equal_logits(suite, q_len, values, batch=1, heads=1):
    """q = 0, so that the output is the mean of the visible values."""
    kv_len = len(values) // (batch * heads)
    suite.save("q.npy", (batch, heads, q_len, 1), [0.0] * (batch * heads * q_len))
    suite.save("k.npy", (batch, heads, kv_len, 1), [1.0] * (batch * heads * kv_len))
    suite.save("v.npy", (batch, heads, kv_len, 1), values)


def test_help(suite):
    suite.good("help", "--help", says=["mha", "attention", "Exit codes"])
    suite.good("help of mha", "mha", "--help", says=["--weights", "--expect", "Examples"])
    suite.good("help of attention", "attention", "-h", says=["--kv-lens", "--softcap", "Examples"])
    suite.good("version", "--version", says=["oclattn-run 0."])
    suite.bad("no command")
    suite.bad("unknown command", "fly", says=["fly"])
    suite.bad("unknown option", "attention", "--fast", says=["--fast"])
    suite.bad("option without a value", "attention", "--q", "--k", "k.npy", says=["--q"])
    suite.bad("stray argument", "attention", "q.npy", says=["q.npy"])
    suite.bad("flag with a value", "attention", "--causal=yes", says=["--causal"])


def test_sample(suite):
    run = ["mha", "--weights", suite.sample, "--heads", 12]
    suite.good("sample", *run, "--expect", "F", "--check", "--repeat", 20, "--out", "f.npy",
               says=["[51, 384]", "[1, 12, 51, 32]", "[51, 32]", "right", "the same in every run"])
    output = suite.good("sample as JSON", *run, "--expect", "F", "--json")
    try:
        parsed = json.loads(output)
        error = parsed["checks"][0]["max_abs_error"]
        suite.verdict("error of the sample", None if error <= 2e-6 else "%r exceeds 2e-6" % error)
        shapes = {stage["stage"]: stage["shape"] for stage in parsed["stages"]}
        suite.verdict("shape of a head", None if shapes["each head"] == [51, 32] else str(shapes))
    except (ValueError, LookupError) as error:
        suite.verdict("JSON of the sample", repr(error))
    expected = read_npy(suite.path("f.npy"))[2] if os.path.exists(suite.path("f.npy")) else []
    suite.result("output of the sample", "f.npy", expected, shape=(51, 384), tolerance=0)
    suite.good("wrong result", *run, "--expect", "H", code=1, says=["WRONG"])
    for extra in (["--split-merge"], ["--projection", "projection_portable"], ["--causal"], ["--dtype", "f16"],
                  ["--dtype", "bf16"], ["--window", "3,2"], ["--softcap", "5"], ["--scale", "-0.1"]):
        suite.good("sample with " + " ".join(extra), *run, "--check", *extra, says=["right"])
    suite.good("same values with --split-merge", *run, "--expect", "F", "--split-merge", says=["right"])


def test_small_models(suite):
    random.seed(7)
    def draw(*shape):
        return list(shape), [random.uniform(-1, 1) for _ in range(math.prod(shape))]
    write_safetensors(suite.path("m.safetensors"), {
        "W_q": draw(10, 12), "W_k": draw(7, 6), "W_v": draw(7, 10), "W_head": draw(20, 10), "b_v": draw(10)})
    suite.save("x.npy", (2, 5, 10), draw(100)[1])
    suite.save("kv.npy", (2, 9, 7), draw(126)[1])
    suite.save("lens.npy", (2,), [4, 9], "i8")
    run = ["mha", "--weights", "m.safetensors", "--input", "x.npy", "--kv-input", "kv.npy", "--heads", 4,
           "--kv-heads", 2, "--head-dim", 3, "--v-dim", 5]
    suite.good("cross-attention", *run, "--check", "--out", "y.npy", says=["[2, 5, 10]", "right"])
    suite.good("cross-attention with lengths", *run, "--check", "--kv-lens", "lens.npy", "--causal", "--align",
               "bottom-right", says=["right"])
    write_safetensors(suite.path("t.safetensors"), {
        "W_q": draw(8, 8), "W_k": draw(4, 8), "W_v": draw(4, 8), "W_head": draw(8, 8), "H": draw(3, 8)})
    suite.good("PyTorch's layout", "mha", "--weights", "t.safetensors", "--heads", 4, "--kv-heads", 2,
               "--weights-layout", "out-in", "--check", says=["right"])
    suite.bad("another batch", *run[:5], "--kv-input", "h.npy", *run[7:], says=["h.npy"])
    suite.bad("W_k of another width", "mha", "--weights", "m.safetensors", "--input", "x.npy", "--heads", 4,
              "--kv-heads", 2, "--head-dim", 3, "--v-dim", 5, says=["W_k", "[7, 6]", "[10, 6]"])
    if os.path.exists(suite.path("y.npy")):
        os.remove(suite.path("y.npy"))


def test_explain(suite):
    suite.good("768 and 12", "mha", "--explain", "--d-model", 768, "--heads", 12,
               says=["One head is 64 wide", "768 = 12 x 64", "[128, 64]"])
    suite.good("768 and 12 as JSON", "mha", "--explain", "--d-model", 768, "--heads", 12, "--json",
               says=["768 = 12 x 64"])
    suite.good("attention from sizes", "attention", "--explain", "--shape", "1,8,2,5,7,64,32", says=["[1, 8, 5, 64]"])
    suite.bad("770 and 12", "mha", "--explain", "--d-model", 770, "--heads", 12,
              says=["d_model = heads x head_dim", "770", "12"])
    suite.bad("3 and 12", "mha", "--explain", "--d-model", 3, "--heads", 12, says=["d_model = heads x head_dim"])
    suite.bad("key/value heads that do not divide", "mha", "--explain", "--d-model", 768, "--heads", 12,
              "--kv-heads", 5, says=["12", "5"])
    suite.bad("no heads", "mha", "--explain", "--d-model", 768, says=["--heads"])
    suite.bad("nothing to explain", "mha", "--explain", "--heads", 12, says=["--d-model"])
    suite.bad("sizes without --explain", "attention", "--shape", "1,8,2,5,7,64,32", says=["--explain"])
    suite.bad("sizes that overflow", "attention", "--explain", "--shape", "4294967296,4294967296,1,5,7,64,32")
    suite.bad("six sizes", "attention", "--explain", "--shape", "1,8,2,5,7,64", says=["--shape"])


def test_attention_values(suite):
    save_equal_logits(suite, 2, [1.0, 2, 3, 4, 5])
    suite.attend("causal, bottom-right", [2.5, 3], "--causal", "--align", "bottom-right")
    suite.attend("causal, top-left", [1, 1.5], "--causal", "--align", "top-left")
    suite.bad("causal without --align", *ATTENTION, "--causal")
    save_equal_logits(suite, 2, [1.0, 2, 3, 4, 5, 6])
    suite.attend("causal, a past of 3", [2.5, 3], "--causal", "--align", "3")
    suite.attend("causal, a past of 3, window", [3.5, 4.5], "--causal", "--align", "3", "--window", "1,-1")
    suite.attend("a past that never was", [0, 1], "--causal", "--align", "-1")
    suite.save("past.npy", (1,), [3], "i4")
    suite.attend("offsets from a file", [2.5, 3], "--causal", "--align", "past.npy")
    save_equal_logits(suite, 6, [10.0 ** i for i in range(6)])
    suite.attend("window", [1, 5.5, 55, 550, 5500, 55000], "--causal", "--window", "1,-1")
    suite.save("mask.npy", (6, 6), [int(i == j) for i in range(6) for j in range(6)], "b1")
    suite.attend("mask", [10.0 ** i for i in range(6)], "--mask", "mask.npy")
    suite.save("short.npy", (2,), [1, 1], "u1")
    suite.attend("mask shorter than the keys", [5.5] * 6, "--mask", "short.npy")
    suite.save("q_len.npy", (1,), [2], "i8")
    suite.attend("q_lens", [5.5, 5.5, 0, 0, 0, 0], "--q-lens", "q_len.npy", "--mask", "short.npy")
    suite.bad("lengths of another batch", *ATTENTION, "--kv-lens",
              "two.npy", says=["two.npy"])


def test_field_cases(suite):
    suite.save("q.npy", (1, 1, 1, 1), [1.0])
    suite.save("k.npy", (1, 1, 2, 1), [1.0, 1.0])
    suite.save("v.npy", (1, 1, 2, 1), [1.0, 100.0])
    suite.save("bias.npy", (2,), [0.0, -math.inf])
    suite.attend("softcap before the bias hides", [1], "--scale", 1, "--softcap", 2, "--bias", "bias.npy")
    suite.save("v.npy", (1, 1, 2, 1), [0.0, 1.0])
    suite.save("bias.npy", (2,), [0.0, 3.0], "f2")
    suite.attend("softcap before the bias adds", [.9525741], "--scale", 1, "--softcap", 2, "--bias", "bias.npy")
    suite.save("v.npy", (1, 1, 2, 1), [1.0, 3.0])
    suite.save("bias.npy", (2,), [-3.4028234663852886e38] * 2)
    suite.attend("the least number is a number", [2], "--bias", "bias.npy")
    suite.save("bias.npy", (2,), [-1e300] * 2, "f8")
    suite.attend("a float64 below float32 is a number", [2], "--bias", "bias.npy")
    suite.save("bias.npy", (2,), [-1e9] * 2)
    suite.attend("-1e9 in f16", [2], "--bias", "bias.npy", "--dtype", "f16", kind="f2")
    suite.attend("f16 keys", [2], "--kv-dtype", "f16")
    suite.attend("bf16 comes as float32", [2], "--dtype", "bf16")
    suite.save("bias.npy", (2,), [-math.inf] * 2)
    suite.attend("a row that sees nothing", [0], "--bias", "bias.npy")
    suite.save("k.npy", (1, 1, 2, 1), [1.0, math.nan])
    suite.attend("a visible NaN", [math.nan])
    suite.save("kv_len.npy", (1,), [1], "i4")
    suite.attend("a hidden NaN", [1], "--kv-lens", "kv_len.npy")
    suite.save("sinks.npy", (1,), [0.0])
    suite.save("q.npy", (1, 1, 1, 1), [0.0])
    suite.save("k.npy", (1, 1, 2, 1), [0.0, 0.0])
    suite.attend("a sink", [4 / 3], "--sinks", "sinks.npy")
    suite.save("q.npy", (1, 6, 1, 1), [0.0] * 6)
    suite.save("v.npy", (1, 1, 2, 1), [0.0, 1.0])
    suite.attend("ALiBi for 6 heads", [.5621765, .5156199, .5039062, .5009766, .6224593, .5312094], "--alibi", "auto",
                 "--align", "bottom-right")
    suite.save("k.npy", (1, 2, 1, 1), [1.0] * 2)
    suite.save("v.npy", (1, 2, 1, 1), [10.0, 20.0])
    suite.attend("grouped heads", [10, 10, 10, 20, 20, 20], shape=(1, 6, 1, 1))


def test_layout_and_outputs(suite):
    batch, rows, heads, width = 2, 3, 3, 4
    values = [float(b + 100 * h + 1000 * d + s) for b in range(batch) for s in range(rows) for h in range(heads)
              for d in range(width)]
    shape = (batch, rows, heads, width)
    suite.save("q.npy", shape, [0.0] * len(values))
    suite.save("k.npy", shape, [0.0] * len(values))
    suite.save("v.npy", shape, values, "f8")
    mean = [b + 100.0 * h + 1000 * d + 1 for b in range(batch) for _ in range(rows) for h in range(heads)
            for d in range(width)]
    suite.attend("bshd", mean, "--layout", "bshd", shape=shape)
    run = [*ATTENTION, "--layout", "bshd", "--check"]
    suite.good("LSE and probabilities", *run, "--lse", "l.npy", "--probs", "p.npy", says=["lse", "right"])
    suite.result("values of LSE", "l.npy", [math.log(3)] * 18, shape=(2, 3, 3))
    suite.result("values of probabilities", "p.npy", [1 / 3] * 54, shape=(2, 3, 3, 3))
    suite.good("scores", *run, "--scores", "s.npy", "--scores-kind", "biased", "--causal", says=["right"])
    suite.result("values of scores", "s.npy", [0, -math.inf, -math.inf, 0, 0, -math.inf, 0, 0, 0] * 6)
    suite.good("key chunks", *run, "--kv-chunk", 2, says=["right"])
    suite.bad("two outputs of one kind", *run, "--probs", "p.npy", "--scores", "s.npy", says=["--probs", "--scores"])
    suite.bad("two outputs in one file", *run, "--lse", "p.npy", "--probs", "p.npy", says=["p.npy"])
    suite.save("empty.npy", (0, 3, 3, 4), [])
    suite.good("an empty batch", "attention", "--q", "empty.npy", "--k", "empty.npy", "--v", "empty.npy",
               "--out", "o.npy")
    suite.result("its output", "o.npy", [], shape=(0, 3, 3, 4))


def test_packed_rows(suite):
    suite.save("q.npy", (1, 1, 3, 1), [0.0] * 3)
    suite.save("k.npy", (1, 1, 5, 1), [0.0] * 5)
    suite.save("v.npy", (1, 1, 5, 1), [1.0, 2, 3, 4, 8])
    suite.save("qs.npy", (3,), [0, 1, 3], "i4")
    suite.save("ks.npy", (3,), [0, 2, 5], "i4")
    suite.attend("packed rows", [1.5, 5, 5], "--q-starts", "qs.npy", "--kv-starts", "ks.npy")
    suite.attend("packed rows, causal", [1.5, 3.5, 5], "--q-starts", "qs.npy", "--kv-starts", "ks.npy", "--causal",
                 "--align", "bottom-right")
    suite.save("bad.npy", (3,), [0, 4, 2], "i4")
    suite.bad("starts that fall", *ATTENTION, "--kv-starts", "bad.npy",
              "--q-starts", "qs.npy", says=["bad.npy"])


def test_bad_files(suite):
    def write(name, data):
        with open(suite.path(name), "wb") as file:
            file.write(data)
        return name

    save_equal_logits(suite, 2, [1.0, 2, 3])
    good = npy_bytes((1, 1, 2, 1), [0.0, 0.0])
    cases = {
        "missing": ("nothere.npy", "nothere.npy"),
        "empty": (write("zero.npy", b""), "empty"),
        "truncated data": (write("cut.npy", good[:-3]), "truncated"),
        "truncated header": (write("cut2.npy", good[:20]), "truncated"),
        "data left over": (write("long.npy", good + b"xx"), "damaged"),
        "text": (write("text.npy", b"1, 2, 3\n"), "not a .npy"),
        "an archive": (write("z.npy", b"PK\3\4" + bytes(60)), ".npz"),
        "big-endian": (write("big.npy", npy_bytes((1, 1, 2, 1), [0.0] * 2, "f4", order=">")), "big-endian"),
        "Fortran order": (write("f.npy", npy_bytes((1, 1, 2, 1), [0.0] * 2, fortran=True)), "Fortran"),
        "integers": (write("i.npy", npy_bytes((1, 1, 2, 1), [0, 0], "i4")), "int32"),
        "complex": (write("c.npy", good.replace(b"<f4", b"<c8")), "c8"),
        "3-D": (write("r.npy", npy_bytes((1, 2, 1), [0.0] * 2)), "[1, 2, 1]"),
        "sizes that overflow": (write("o.npy", npy_bytes((2 ** 40, 2 ** 40, 2, 1), [])), "overflow"),
        "a size that overflows": (write("o2.npy", npy_bytes((2 ** 70, 1, 2, 1), [])), "overflow"),
        "more claimed than there": (write("o3.npy", npy_bytes((1, 1, 2 ** 40, 1), [])), "truncated"),
        "a folder": (".", "folder"),
    }
    for name, (path, text) in cases.items():
        suite.bad("q: " + name, "attention", "--q", path, "--k", "k.npy", "--v", "v.npy", "--out", "out.npy",
                  says=["--q", path, text])
    suite.bad("no v", "attention", "--q", "q.npy", "--k", "k.npy", says=["--v"])
    suite.save("k2.npy", (1, 1, 3, 2), [0.0] * 6)
    suite.bad("k of another width", *ATTENTION, "--k", "k2.npy", says=["k2.npy", "width"])
    suite.save("v2.npy", (1, 1, 4, 1), [0.0] * 4)
    suite.bad("v of another length", "attention", "--q", "q.npy", "--k", "k.npy", "--v", "v2.npy",
              says=["v2.npy", "[1, 1, 4, 1]", "[1, 1, 3, 1]"])
    suite.save("q3.npy", (1, 3, 2, 1), [0.0] * 6)
    suite.save("k4.npy", (1, 2, 3, 1), [0.0] * 6)
    suite.bad("3 heads on 2", "attention", "--q", "q3.npy", "--k", "k4.npy", "--v", "k4.npy", says=["3", "2"])


def test_bad_values(suite):
    save_equal_logits(suite, 2, [1.0, 2, 3])
    suite.save("float.npy", (2, 3), [0.0] * 6)
    suite.save("mask4.npy", (2, 4), [1] * 8, "b1")
    suite.save("two.npy", (2,), [1, 1], "i4")
    run = [*ATTENTION, "--out", "out.npy"]
    for option, value in [("--scale", "nan"), ("--scale", "inf"), ("--scale", "1e39"), ("--scale", "x"),
                          ("--scale", ""), ("--softcap", "-1"), ("--softcap", "nan"), ("--window", "1"),
                          ("--window", "-2,0"),
                          ("--window", "1,2,3"), ("--dtype", "f64"), ("--kv-dtype", "int8"), ("--layout", "bdhs"),
                          ("--repeat", "-1"), ("--repeat", "many"), ("--kv-chunk", "99999999999999999999"),
                          ("--align", "99999999999"), ("--align", "middle"), ("--mask", "float.npy"),
                          ("--mask", "mask4.npy"), ("--bias", "mask4.npy"), ("--bias-scale", "float.npy"),
                          ("--sinks", "float.npy"), ("--kv-lens", "two.npy"), ("--kv-lens", "float.npy"),
                          ("--alibi", "float.npy"), ("--log", "loud"), ("--scores-kind", "biased"),
                          ("--variant", "attention_by_magic"), ("--out", "no/such/folder/o.npy"), ("--lse", ".")]:
        extra = ["--align", "top-left"] if option == "--alibi" else []
        suite.bad("%s %s" % (option, value), *run, *extra, option, value, says=[option.strip("-").split("-")[0]])
    if os.geteuid() != 0:
        os.mkdir(suite.path("locked"), 0o500)
        suite.bad("a folder that is read-only", *run, "--lse", "locked/o.npy", says=["locked/o.npy"])
    suite.bad("no such device", *run, "--device", "warp drive", code=3, says=["warp drive"])
    suite.bad("no such index", *run, "--device", "97:0", code=3, says=["97:0"])
    os.mkdir(suite.path("vendors"))
    suite.bad("no OpenCL at all", *run, code=3, says=["device"],
              env={"OCL_ICD_VENDORS": suite.path("vendors"), "OCLATTN_DEVICE": ""})


def test_bad_models(suite):
    run = ["mha", "--heads", 12, "--out", "out.npy", "--weights"]
    with open(suite.sample, "rb") as file:
        data = file.read()

    def write(name, content):
        with open(suite.path(name), "wb") as file:
            file.write(content)
        return name

    def header(name, text):
        write_safetensors(suite.path(name), {}, text)
        return name

    suite.bad("model: missing", *run, "nothere.safetensors", says=["nothere.safetensors"])
    suite.bad("model: empty", *run, write("e.safetensors", b""), says=["empty"])
    suite.bad("model: cut", *run, write("c.safetensors", data[:-1000]), says=["truncated"])
    suite.bad("model: cut in the header", *run, write("c2.safetensors", data[:500]))
    suite.bad("model: bytes left over", *run, write("c3.safetensors", data + b"x"), says=["belong to no tensor"])
    suite.save("q.npy", (1, 1), [0.0])
    suite.bad("model: not one", *run, "q.npy", says=[".safetensors"])
    suite.bad("model: no JSON", *run, header("j.safetensors", "{nonsense"), says=["damaged"])
    suite.bad("model: twice the same name", *run, header(
        "d.safetensors", '{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},'
        '"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'))
    suite.bad("model: sizes that overflow", *run, header(
        "v.safetensors", '{"a":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,0]}}'),
              says=["overflow"])
    suite.bad("model: a negative size", *run, header(
        "n.safetensors", '{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}}'))
    suite.bad("model: offsets beyond the file", *run, header(
        "b.safetensors", '{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}'), says=["truncated"])
    suite.bad("model: no tensors", *run, header("t.safetensors", "{}"), says=["H"])
    suite.bad("model: a head as wide as the model", "mha", "--weights", suite.sample, "--heads", 12, "--head-dim", 384,
              says=["W_q", "[384, 384]", "[384, 4608]"])
    suite.bad("model: 7 heads", "mha", "--weights", suite.sample, "--heads", 7, says=["d_model = heads x head_dim"])
    suite.bad("model: W_k does not fit", "mha", "--weights", suite.sample, "--heads", 12, "--kv-heads", 4,
              says=["W_k", "[384, 384]", "[384, 128]"])
    suite.bad("model: no such tensor", *run, suite.sample, "--expect", "G", says=["G"])
    suite.bad("model: NaN in the scale", *run, suite.sample, "--scale", "nan", says=["--scale"])
    suite.bad("model: no heads", "mha", "--weights", suite.sample, says=["--heads"])
    suite.bad("model: sizes and files", *run, suite.sample, "--d-model", 384)


def test_outputs_survive(suite):
    save_equal_logits(suite, 1, [1.0, 3.0])
    os.symlink("kept.npy", suite.path("link.npy"))
    suite.save("kept.npy", (1,), [0.0])
    os.chmod(suite.path("kept.npy"), 0o640)
    suite.good("writing through a link", *ATTENTION, "--out", "link.npy")
    mode = os.stat(suite.path("kept.npy")).st_mode & 0o777
    suite.verdict("the link stays", None if os.path.islink(suite.path("link.npy")) else "it was replaced")
    suite.verdict("the mode stays", None if mode == 0o640 else oct(mode))
    suite.result("the file behind the link", "kept.npy", [2.0])
    suite.bad("a result in place of an input", *ATTENTION, "--out", "q.npy", says=["--out", "--q"])
    suite.good("writing to a device", *ATTENTION, "--out", "/dev/null")
    left = [name for name in os.listdir(suite.folder) if ".npy." in name]
    suite.verdict("nothing temporary is left", ", ".join(left) or None)


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    tests = [test_help, test_explain, test_sample, test_small_models, test_attention_values, test_field_cases,
             test_layout_and_outputs, test_packed_rows, test_bad_files, test_bad_values, test_bad_models,
             test_outputs_survive]
    done = failed = 0
    for test in tests:
        with tempfile.TemporaryDirectory(prefix="oclattn-cli-") as folder:
            suite = Suite(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), folder)
            test(suite)
            done, failed = done + suite.done, failed + suite.failed
    print("%d checks, %d failed" % (done, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
