#!/usr/bin/env python3
"""Speed of oclattn and of what people use otherwise, on the same problems, in one process.

    tools/compare/environment.sh python tools/compare/compare.py [--quick] [--type f32] [--json FILE]

Peers: PyTorch (scaled_dot_product_attention; for layers, linear products around it, and nn.MultiheadAttention), ONNX
Runtime (MultiHeadAttention, Attention), ggml (flash_attn_ext), and on the same OpenCL device CLBlast's batched products
with a softmax between. All get the same numbers and as many threads.

In each round every peer is called in turn: 20 ms of idling, or 300 ms after one that is not ours, whose threads look for
work that long before they sleep; one call that is not counted, which brings inputs and code near (left out where calls
take seconds); and one that is timed. A decoding call finds another copy of the cache each time. A peer that has used up
--budget seconds on a problem stops after 3 rounds at the earliest. The first peer that is not ours gives the result that
the others are held to.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
IDLE_SECONDS = 0.02
LEAST_ROUNDS = 3
LONG_CALL_SECONDS = 1.0  # what a call before it brought near is no part of so long a one
# Largest difference from another peer's result, as a share of the largest number in it.
TOLERANCES = {"f32": 1e-4, "f16": 2e-2, "bf16": 5e-2}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default: build)")
    parser.add_argument("--device", action="append", help="P:D, or a part of a name; may be repeated (default: all)")
    parser.add_argument("--type", action="append", choices=TOLERANCES, help="may be repeated (default: all)")
    parser.add_argument("--group", action="append", choices=("prefill", "decode", "layer"), help="may be repeated")
    parser.add_argument("--only", default="", help="problems whose title contains this")
    parser.add_argument("--quick", action="store_true", help="a few problems, and f32 alone unless --type says more")
    parser.add_argument("--rounds", type=int, default=10, help="timed calls of each peer (default: 10)")
    parser.add_argument("--budget", type=float, default=60, help="seconds for a peer on one problem (default: 60)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="of every peer (default: the processors this process may use)")
    parser.add_argument("--brief", action="store_true", help="a narrow table: PyTorch's better way, and ours")
    parser.add_argument("--json", type=pathlib.Path, help="writes all times there")
    return parser.parse_args()


def limit_threads(count):
    """Before anything that makes threads is loaded: most read these once."""
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:count]))
    for name in ("OMP_NUM_THREADS", "POCL_MAX_PTHREAD_COUNT", "DPCPP_CPU_NUM_CUS"):
        os.environ[name] = str(count)


class Field:
    """All peers, made anew for each problem."""

    def __init__(self, options):
        import clblast_peer
        import oclattn_ctypes
        import peers
        peers.torch.set_num_threads(options.threads)
        peers.OnnxPeer.threads = options.threads
        self.refusal = peers.Refusal
        library = oclattn_ctypes.Library(options.build / "lib/liboclattn.so")
        devices = options.device or [device.spec for device in library.devices()]
        self.contexts = [library.context(device) for device in devices]
        ggml = peers.Ggml(options.threads)
        self.makers = [(maker.name, maker) for maker in (
            peers.TorchAttention, peers.TorchLayer, peers.TorchModule, peers.OnnxAttention, peers.OnnxLayer)]
        self.makers.append((peers.GgmlAttention.name, lambda *problem: peers.GgmlAttention(ggml, *problem)))
        clblast = oclattn_ctypes.c.CDLL("libclblast.so.1")
        for number, context in enumerate(self.contexts):
            self.add_device(context, number, clblast, clblast_peer, peers)

    def add_device(self, context, number, clblast, clblast_peer, peers):
        softmax = clblast_peer.SoftmaxKernel(context)
        self.makers.insert(number, (ours(number), lambda *problem: peers.Oclattn(context, *problem)))
        self.makers.append(("CLBlast #%d" % number, lambda *problem: clblast_peer.ClblastAttention(
            clblast, softmax, context, *problem)))

    def enter(self, problem, kind):
        """Runners of those that take the problem, and why the others do not."""
        inputs = problem.inputs(kind)
        runners, refusals = [], {}
        for name, maker in self.makers:
            try:
                runners.append(Runner(name, maker(problem, inputs, kind), len(inputs)))
            except self.refusal as refusal:
                refusals.setdefault(name, str(refusal))
        taken = {runner.name for runner in runners}
        return runners, {name: why for name, why in refusals.items() if name not in taken}


def ours(number):
    return "oclattn #%d" % number


class Runner:
    """A peer on one problem, its times in seconds."""

    def __init__(self, name, peer, copies):
        self.name, self.peer, self.copies = name, peer, copies
        self.times, self.spent, self.calls = [], 0.0, 0

    def call(self):
        copy = self.calls % self.copies
        start = time.perf_counter()
        self.peer.run(copy)
        seconds = time.perf_counter() - start
        self.calls += 1
        self.spent += seconds
        return seconds

    def round(self, budget):
        if self.spent > budget and len(self.times) >= LEAST_ROUNDS:
            return
        time.sleep(IDLE_SECONDS)
        if self.spent < LONG_CALL_SECONDS * self.calls:
            self.call()
        self.times.append(self.call())
        time.sleep(getattr(self.peer, "spins_seconds", 0))

    def figures(self):
        return {"median": statistics.median(self.times), "min": min(self.times), "times": self.times,
                "variant": getattr(self.peer, "variant", None)}


def largest_difference(result, other):
    """As a share of the largest number; infinite where one of them is not a number."""
    import numpy as np
    difference = np.abs(result - other).max() / np.abs(other).max()
    return float(difference) if np.isfinite(difference) else float("inf")


def check_results(runners):
    """Differences from the first peer that is not ours, by name."""
    judge = next(runner for runner in runners if not runner.name.startswith("oclattn"))
    expected = judge.peer.result()
    return {runner.name: largest_difference(runner.peer.result(), expected) for runner in runners}


def measure(field, problem, kind, options):
    runners, refusals = field.enter(problem, kind)
    for runner in runners:
        runner.call()  # first calls allocate and choose
    differences = check_results(runners)
    for _ in range(options.rounds):
        for runner in runners:
            runner.round(options.budget)
    row = {"problem": problem.title, "group": problem.group, "type": kind, "flops": problem.flops,
           "peers": {runner.name: runner.figures() for runner in runners},
           "differences": differences, "refusals": refusals,
           "wrong": [name for name, difference in differences.items() if difference > TOLERANCES[kind]]}
    for runner in runners:
        runner.peer.close()
    return row


# ---- the report ------------------------------------------------------------------------------------------------------


GROUP_TITLES = {"prefill": "", "decode": "decode ", "layer": "F(H) "}


def ratio(row, number):
    """How many times PyTorch's better way takes as long as ours; None without both."""
    peers = row["peers"]
    torch = [figures["median"] for name, figures in peers.items() if name.startswith("PyTorch")]
    mine = peers.get(ours(number))
    return min(torch) / mine["median"] if torch and mine else None


def cell(figures):
    return "%.2f (%.2f)" % (1e3 * figures["median"], 1e3 * figures["min"]) if figures else ""


def markdown(rows, contexts):
    lines = []
    for group in ("prefill", "decode", "layer"):
        members = [row for row in rows if row["group"] == group]
        if members:
            lines += table(group, members, len(contexts)) + [""]
    return "\n".join(lines)


def table(group, rows, devices):
    names = [name for name in all_names(rows) if any(name in row["peers"] for row in rows)]
    shape = {"prefill": "batch, heads, length, head_dim", "decode": "decode", "layer": "batch, length, d_model, heads"}
    titles = [shape[group], "type"] + names + ["PyTorch / #%d" % number for number in range(devices)]
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    for row in rows:
        cells = [row["problem"], row["type"]]
        cells += [cell(row["peers"].get(name)) + (" wrong" if name in row["wrong"] else "") for name in names]
        cells += ["%.2f x" % ratio(row, number) if ratio(row, number) else "" for number in range(devices)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines + means(rows, devices, len(names))


def brief_table(rows, devices):
    """Least times of both, and how many times PyTorch's better way takes as long as ours."""
    titles = ["problem", "type", "PyTorch"] + ["oclattn #%d" % number for number in range(devices)]
    lines = ["| " + " | ".join(titles) + " |", "|---|---|" + "---:|" * (devices + 1)]
    for row in rows:
        torch = [figures["min"] for name, figures in row["peers"].items() if name.startswith("PyTorch")]
        cells = [GROUP_TITLES[row["group"]] + row["problem"], row["type"], "%.2f ms" % (1e3 * min(torch))]
        for number in range(devices):
            mine = row["peers"][ours(number)]["min"]
            cells.append("%.2f ms, %.2f x" % (1e3 * mine, min(torch) / mine))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def means(rows, devices, peers):
    lines = []
    for kind in dict.fromkeys(row["type"] for row in rows):
        cells = []
        for number in range(devices):
            ratios = [ratio(row, number) for row in rows if row["type"] == kind and ratio(row, number)]
            cells.append("%.2f x" % statistics.geometric_mean(ratios) if ratios else "")
        lines.append("| geometric mean | %s |%s %s |" % (kind, " |" * peers, " | ".join(cells)))
    return lines


def all_names(rows):
    return dict.fromkeys(name for row in rows for name in row["peers"])


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def describe(options, contexts):
    import importlib.metadata
    versions = {name: importlib.metadata.version(name) for name in ("torch", "onnxruntime", "libggml-python")}
    return {"date": datetime.date.today().isoformat(), "processor": processor(), "threads": options.threads,
            "rounds": options.rounds, "versions": versions,
            "devices": {"#%d" % number: context.info.title for number, context in enumerate(contexts)}}


def warn_if_busy(threads):
    load = os.getloadavg()[0]
    if load > threads / 4:
        print("warning: other programs keep %.1f processors busy; the times will be theirs too" % load, file=sys.stderr)


def chosen_problems(options):
    import suite
    problems = suite.QUICK if options.quick else suite.SUITE
    return [problem for problem in problems
            if options.only in problem.title and (not options.group or problem.group in options.group)]


def main():
    options = parse_arguments()
    limit_threads(options.threads)
    warn_if_busy(options.threads)
    field = Field(options)
    about = describe(options, field.contexts)
    kinds = options.type or (["f32"] if options.quick else list(TOLERANCES))
    rows = []
    for problem in chosen_problems(options):
        for kind in kinds:
            print("%s %s %s ..." % (problem.group, problem.title, kind), file=sys.stderr, flush=True)
            rows.append(measure(field, problem, kind, options))
    print("%(date)s, %(processor)s, %(threads)d threads. Median (least) of %(rounds)d calls, in ms." % about)
    print("%s. %s.\n" % (", ".join("%s %s" % item for item in about["versions"].items()),
                         ", ".join("%s: %s" % item for item in about["devices"].items())))
    print(brief_table(rows, len(field.contexts)) if options.brief else markdown(rows, field.contexts))
    if options.json:
        options.json.write_text(json.dumps(dict(about, rows=rows), indent=1))
    wrong = [(row["problem"], row["type"], name) for row in rows for name in row["wrong"]]
    for entry in wrong:
        print("wrong: %s %s by %s" % entry, file=sys.stderr)
    return 1 if any(name.startswith("oclattn") for _, _, name in wrong) or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
