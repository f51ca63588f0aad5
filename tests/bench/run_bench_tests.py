#!/usr/bin/env python3
"""Runs oclattn-bench as a user would, on tiny problems. No time is judged.

    run_bench_tests.py --part device|host --bench PATH --suite PATH/suite.py --kernels FOLDER [--only WORD]

Part "device" measures on the chosen device, part "host" asks what needs none.

Standard library only. The device is OCLATTN_DEVICE's, or the tool's own choice.
"""
import argparse
import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types

COLUMNS = 100
SHORT = ["--rounds", "2", "--budget", "0.05"]
TINY = ["attention", "--heads", "2", "--q-len", "24", "--head-dim", "16", *SHORT]
HOST_CASES = {"help", "usage", "list", "same_suite_as_compare", "no_such_device", "bad_baselines", "stdout_is_full"}


def no_constant(word):
    raise ValueError("%s is no strict JSON" % word)


def strict(text):
    return json.loads(text, parse_constant=no_constant)


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def numbers_in(value, path=""):
    """Every number of a document with its path."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from numbers_in(member, path + "/" + key)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from numbers_in(member, "%s/%d" % (path, index))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


class Suite:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.failed = self.done = 0
        self.tiny = None

    def measured_tiny(self):
        """A document of the tiny problem, for baselines to be made of; a copy."""
        if self.tiny is None:
            self.tiny = self.json(*TINY)
        return json.loads(json.dumps(self.tiny))

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, stdout=subprocess.PIPE, **env):
        return subprocess.run([self.options.bench, *map(str, words)], cwd=self.folder, env=dict(os.environ, **env),
                              stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True)

    def text(self, *words, code=0, **env):
        result = self.run(*words, **env)
        expect(result.returncode == code, "%s: exit code %d, expected %d\n%s%s" %
               (" ".join(map(str, words)), result.returncode, code, result.stdout[-2000:], result.stderr))
        self.stderr = result.stderr
        return result.stdout

    def json(self, *words, code=0, **env):
        document = strict(self.text(*words, "--json", code=code, **env))
        expect(document["schema_version"] == 1, "schema_version")
        for path, number in numbers_in(document):
            expect(math.isfinite(number), "%s is %r" % (path, number))
        return document

    def table(self, *words, code=0, **env):
        out = self.text(*words, code=code, **env)
        for line in out.splitlines():
            expect(len(line) <= COLUMNS, "%d columns: %s" % (len(line), line))
        expect(not re.search(r"\b(nan|inf)\b", out), "the table shows nan or inf:\n" + out)
        return out

    def save(self, name, document):
        with open(self.path(name), "w") as file:
            json.dump(document, file)
        return name

    def run_all(self):
        for name in dir(self):
            case = name[5:]
            if not name.startswith("test_") or self.options.only not in case:
                continue
            if (case in HOST_CASES) != (self.options.part == "host"):
                continue
            self.done += 1
            try:
                getattr(self, name)()
            except Exception as problem:  # whatever it is, the other cases run
                self.failed += 1
                print("FAILED %s: %s: %s" % (case, type(problem).__name__, problem))
        print("bench: %d cases, %d failed" % (self.done, self.failed))
        return 1 if self.failed or not self.done else 0

    # ---- without a device ----------------------------------------------------------------------------------------

    def test_help(self):
        out = self.table("--help")
        for word in ("--suite", "--baseline", "--latency", "Exit codes", "Try"):
            expect(word in out, word)
        expect(re.match(r"oclattn-bench \d+\.\d+\.\d+\n$", self.text("--version")), "version")

    def test_usage(self):
        for words in (["nonsense"], ["--nonsense"], ["--suite", "nonsense"], ["--dtype", "f64"], ["--batch", "2"],
                      ["attention", "--suite", "quick"], ["attention", "--batch", "0"], ["attention", "--batch", "x"],
                      ["attention", "--q-len", "9" * 10], ["attention", "--d-model", "64"], ["attention", "more"],
                      ["attention", "--window", "3"], ["attention", "--window", "-2,1"], ["attention", "--align", "x"],
                      ["mha", "--kv-len", "8"], ["mha", "--kv-dtype", "f16"], ["projection", "--heads", "2"],
                      ["mha", "--d-model", "770"], ["--budget", "0"], ["--rounds", "0"], ["--tolerance", "5"],
                      ["--latency", "--check"], ["attention", "--latency"],
                      ["--latency", "--rounds", "1000"], ["--baseline", "missing.json"]):
            out = self.text(*words, code=2)
            expect(len(self.stderr.splitlines()) == 1 and self.stderr.startswith("oclattn-bench: "), self.stderr)
            expect(out == "", "%s: stdout is %r" % (words, out))

    def test_list(self):
        everything = self.json("--suite", "all", "--list")["problems"]
        expect(len(everything) == 3 * 19, "%d problems" % len(everything))
        expect([p["dtype"] for p in everything[:3]] == ["f32", "f16", "bf16"], everything[:3])
        parts = [p for name in ("prefill", "decode", "layer") for p in self.json("--suite", name, "--list")["problems"]]
        expect(parts == everything, "the suites together are not \"all\"")
        for p in everything:
            expect(p["gflop"] > 0 and p["megabytes"] > 0, p)
        quick = self.json("--list", "--dtype", "bf16")["problems"]
        expect(len(quick) == 5 and {p["dtype"] for p in quick} == {"bf16"}, quick)
        expect(len(self.table("--suite", "all", "--list").splitlines()) == len(everything), "text")
        two = self.json("decode", "--list", "--variant", "a", "--variant", "b")["problems"]
        expect([p["wanted_variant"] for p in two] == ["a", "b"], two)

    def test_same_suite_as_compare(self):
        """The problems that other libraries are measured on, which a file in Python lists."""
        theirs = load_compared_suite(self.options.suite)
        for name, problems in (("all", theirs.SUITE), ("quick", theirs.QUICK)):
            ours = self.json("--suite", name, "--dtype", "f32", "--list")["problems"]
            expect(len(ours) == len(problems), name)
            for mine, other in zip(ours, problems):
                expect((mine["group"], mine["problem"]) == (other.group, other.title), (mine, other))
                self.compare_problem(mine, other)

    def compare_problem(self, mine, other):
        shape = mine["shape"]
        expect(shape["batch"] == other.batch, (mine, other))
        if mine["group"] == "layer":
            expect((shape["q_len"], shape["d_model"], shape["q_heads"]) == (other.length, other.d_model, other.heads),
                   (mine, other))
            flops = other.flops
        else:
            for key in ("q_heads", "kv_heads", "q_len", "kv_len", "head_dim", "causal", "window_left"):
                expect(shape[key] == getattr(other, key), "%s: %s, %s" % (key, mine, other))
            expect(shape["v_dim"] == other.head_dim, mine)
            expect(shape["kv_lens"] == (list(other.kv_lens) if other.kv_lens else None), (mine, other))
            flops = 4 * other.q_heads * other.head_dim * pairs_of(other)
        expect(abs(mine["gflop"] * 1e9 / flops - 1) < 1e-6, "%s: %r operations, expected %r" % (mine, mine["gflop"], flops))

    def test_no_such_device(self):
        out = self.text(*TINY, "--device", "no such device", code=3)
        expect(out == "" and len(self.stderr.splitlines()) == 1, self.stderr)
        empty = self.path("no_drivers")
        os.makedirs(empty, exist_ok=True)
        self.text(*TINY, code=3, OCL_ICD_VENDORS=empty, OCLATTN_DEVICE="")
        self.text(*TINY, "--device", "all", code=3, OCL_ICD_VENDORS=empty, OCLATTN_DEVICE="")

    def test_bad_baselines(self):
        for text in ("", "{", "[]", "{}", '{"schema_version": 2, "results": []}', '{"schema_version": 1, "results": 1}',
                     '{"schema_version": 1, "results": [1]}', '{"schema_version": 1, "results": [{"group": "x"}]}'):
            with open(self.path("bad.json"), "w") as file:
                file.write(text)
            out = self.text(*TINY, "--baseline", "bad.json", code=2)
            expect(out == "" and "bad.json" in self.stderr and len(self.stderr.splitlines()) == 1, self.stderr)

    def test_stdout_is_full(self):
        if not os.path.exists("/dev/full"):
            return
        with open("/dev/full", "w") as full:
            result = self.run("--list", stdout=full)
        expect(result.returncode == 4 and "stdout" in result.stderr, result)

    # ---- measuring -----------------------------------------------------------------------------------------------

    def test_attention(self):
        document = self.json(*TINY, "--batch", "2", "--causal", "--window", "5,-1", "--check")
        device, = document["devices"]
        row, = document["results"]
        expect(all(value > 0 for value in device["peaks"].values()), device)
        expect(row["problem"] == "2, 2, 24, 16 causal window 6" and row["group"] == "prefill", row)
        expect(row["device"] == device["device"] and row["device_name"] == device["name"], row)
        expect(row["runs"] >= 2 and 0 < row["min_ms"] <= row["median_ms"], row)
        expect(row["variant"].startswith("attention_"), row)
        # Row i sees its own key and 5 before it.
        pairs = sum(min(i + 1, 6) for i in range(24))
        expect(abs(row["gflop"] * 1e9 - 4 * 2 * 2 * 16 * pairs) < 1e-3, row["gflop"])
        expect(abs(row["megabytes"] * 1e6 - 4 * 4 * 2 * 2 * 24 * 16) < 1e-3, row["megabytes"])
        expect(same(row["gflop_per_s"], row["gflop"] / row["min_ms"] * 1e3), row)
        expect(same(row["gb_per_s"], row["megabytes"] / row["min_ms"]), row)
        expect(same(row["share_of_fma"], row["gflop_per_s"] / device["peaks"]["fma_f32_gflop_per_s"]), row)
        expect(row["share_of_peak"] == row["share_of_fma"] and row["bound_by"] == "fma_f32_gflop_per_s", row)
        expect(row["check"]["right"] and row["check"]["rows"] == row["check"]["all_rows"] == 96, row["check"])
        expect(row["baseline"] is None and row["not_measured_because"] is None, row)
        if row["event_min_ms"] is not None:
            expect(0 < row["event_min_ms"] <= row["event_median_ms"], row)
            apart = abs(row["median_ms"] - row["event_median_ms"])
            expect(row["clocks_disagree"] == (apart > 0.05 and apart > 0.2 * max(row["median_ms"], row["event_median_ms"])),
                   row)
        expect(row["clocks_disagree"] == ("disagree" in self.stderr), self.stderr)

    def test_decode(self):
        document = self.json("decode", "--heads", "4", "--kv-heads", "2", "--kv-len", "4000", "--head-dim", "16",
                             "--dtype", "f16", "--kv-dtype", "bf16", "--check", *SHORT)
        row, = document["results"]
        expect(row["problem"] == "1 x 1 query, 4/2 heads, 4000 keys, 16", row)
        expect((row["dtype"], row["kv_dtype"]) == ("f16", "bf16"), row)
        kv_megabytes = 2 * 2 * 2 * 4000 * 16 / 1e6
        expect(row["kv_copies"] * kv_megabytes > 256, "%d copies" % row["kv_copies"])
        expect(same(row["megabytes"], kv_megabytes + 2 * 2 * 4 * 16 / 1e6), row["megabytes"])
        expect(row["share_of_peak"] == row["share_of_read"] and row["bound_by"] == "read_gb_per_s", row)
        expect(row["check"]["right"], row["check"])

    def test_layer_and_projection(self):
        row, = self.json("mha", "--batch", "2", "--q-len", "9", "--d-model", "48", "--heads", "3", "--kv-heads", "1",
                         "--check", *SHORT)["results"]
        expect(row["problem"] == "2, 9, 48, 3/1" and row["group"] == "layer", row)
        flops = 2 * 18 * 48 * (48 + 16 + 16 + 48) + 4 * 2 * 3 * 81 * 16
        expect(same(row["gflop"] * 1e9, flops), row["gflop"])
        expect("attention_" in row["variant"] and "projection_" in row["variant"], row["variant"])
        expect(row["check"]["right"] and row["check"]["rows"] == 18, row["check"])
        out = self.table("projection", "--rows", "7", "--in", "33", "--out", "20", "--dtype", "bf16", "--check", *SHORT)
        expect("right: all rows (7 of 7)" in out and "of FMA" in out, out)

    def test_rows_that_are_sampled(self):
        """Too large for the reference: some rows are compared, and the report says which."""
        row, = self.json("attention", "--batch", "2", "--heads", "40", "--q-len", "700", "--head-dim", "8", "--check",
                         *SHORT)["results"]
        check = row["check"]
        expect(check["right"] and 0 < check["rows"] < check["all_rows"] == 2 * 40 * 700, check)
        expect("heads" in check["which"], check)

    def test_all_devices(self):
        document = self.json("attention", "--heads", "1", "--q-len", "8", *SHORT, "--device", "no such device",
                             "--device", "all", code=3)
        expect(len(self.stderr.splitlines()) == 1 and "no such device" in self.stderr, self.stderr)
        devices = [device["device"] for device in document["devices"]]
        expect(len(set(devices)) == len(devices) > 0, devices)
        expect([row["device"] for row in document["results"]] == devices, document["results"])

    def test_table(self):
        out = self.table(*TINY, "--variant", "attention_portable", "--variant", "no_such_kernel", "--check")
        expect("right: all rows (48 of 48)" in out and "attention_portable" in out, out)
        expect("not measured" in out and "no_such_kernel" in out, out)
        self.text(*TINY, "--variant", "no_such_kernel", code=2)
        expect("no_such_kernel" in self.stderr and len(self.stderr.splitlines()) == 1, self.stderr)

    def test_latency(self):
        document = self.json("--latency", "--rounds", "1")
        latency, = document["latency"]
        expect(document["results"] == [] and latency["problem"] == "1, 128, 768, 12", latency)
        for name in ("cold_first_result", "cold_plan", "warm_first_result", "warm_plan", "plan_again"):
            expect(0 < latency[name + "_min_ms"] <= latency[name + "_median_ms"], name)
        expect(0 < latency["enqueue_min_us"] <= latency["enqueue_median_us"], latency)

    # ---- baselines -----------------------------------------------------------------------------------------------

    def test_baseline(self):
        before = self.measured_tiny()
        for row in before["results"]:
            row["min_ms"] *= 1e6
        out = self.table(*TINY, "--baseline", self.save("slow.json", before), "--tolerance", "25")
        expect("of 1 problems, 0 slower by more than 25 %, 0 not in it" in out, out)
        for row in before["results"]:
            row["min_ms"] *= 1e-12
        words = [*TINY, "--baseline", self.save("fast.json", before), "--device", before["devices"][0]["device"],
                 "--device", before["devices"][0]["device"]]
        for row in self.json(*words, code=1)["results"]:
            found = row["baseline"]
            expect(found["slower"] and same(found["ratio"], row["min_ms"] / found["min_ms"]), row)
        expect(self.stderr.count("slower than the baseline: prefill 1, 2, 24, 16 f32\n") == 2, self.stderr)

    def test_rows_the_baseline_lacks(self):
        before = self.measured_tiny()
        known, = before["results"]
        others = [dict(known, min_ms=1e9, **change) for change in
                  ({"problem": "1, 2, 25, 16"}, {"dtype": "f16"}, {"kv_dtype": "f16"}, {"group": "decode"},
                   {"device_name": "another"}, {"wanted_variant": "attention_portable"})]
        before["results"] = others
        out = self.table(*TINY, "--baseline", self.save("others.json", before))
        expect(" new " in out and "1 not in it" in out, out)
        expect("not in the baseline: prefill 1, 2, 24, 16 f32\n" in self.stderr, self.stderr)
        # Ours is found among the others, and is hopelessly fast.
        before["results"] = others + [dict(known, min_ms=1e-9)]
        out = self.table(*TINY, "--baseline", self.save("both.json", before), code=1)
        expect("SLOWER" in out and "1 slower" in out, out)

    # ---- kernels that compute something else ---------------------------------------------------------------------

    def kernels_with(self, file, old, new):
        folder = self.path("kernels")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.options.kernels, folder)
        path = os.path.join(folder, file)
        with open(path) as source:
            text = source.read()
        expect(old in text, "%s lacks %r" % (file, old))
        with open(path, "w") as source:
            source.write(text.replace(old, new))
        return folder

    def test_wrong_results(self):
        faulty = self.kernels_with("projection_portable.cl", "totals[r] + b", "1.001f * totals[r] + b")
        for words in (["projection", "--rows", "5"], ["mha", "--q-len", "5", "--d-model", "64", "--heads", "2"]):
            words += ["--variant", "projection_portable", "--check", *SHORT]
            row, = self.json(*words, code=1, OCLATTN_KERNEL_DIR=faulty)["results"]
            expect(not row["check"]["right"] and row["check"]["wrong"] > 0, row["check"])
            expect("the result is wrong" in self.stderr, self.stderr)
        faulty = self.kernels_with("attention_portable.cl", "state.maximum, state.total_sum,",
                                   "state.maximum, 1.001f * state.total_sum,")
        out = self.table(*TINY, "--variant", "attention_portable", "--check", code=1, OCLATTN_KERNEL_DIR=faulty)
        expect("WRONG: " in out, out)


def same(a, b):
    """But for the digits that JSON keeps."""
    return abs(a - b) <= 1e-6 * abs(b)


def pairs_of(problem):
    """Pairs of query and key that count, in plain loops over rows; kv_len = q_len where it is causal."""
    if problem.kv_lens:
        return problem.q_len * sum(problem.kv_lens)
    pairs = 0
    for i in range(problem.q_len):
        last = i if problem.causal else problem.kv_len - 1
        first = max(0, i - problem.window_left) if problem.window_left >= 0 else 0
        pairs += last - first + 1
    return problem.batch * pairs


def load_compared_suite(path):
    """Without numpy, which only its inputs need."""
    for name in ("numpy", "exact"):
        sys.modules[name] = types.ModuleType(name)
    spec = importlib.util.spec_from_file_location("compared_suite", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    parser = argparse.ArgumentParser()
    for name in ("bench", "suite", "kernels"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--part", required=True, choices=("device", "host"))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return Suite(options, folder).run_all()


if __name__ == "__main__":
    sys.exit(main())
