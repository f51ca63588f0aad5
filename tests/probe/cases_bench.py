"""Measuring."""
import os
import pty
import subprocess

from suite import expect, expect_narrow, on_device


def expect_whole(bench):
    """A number above 0, or null with a reason."""
    for key, value in bench["measures"].items():
        expect((value is None) == (key in bench["unknown"]), "%s: null without a reason" % key)
        expect(value is None or value > 0, "%s is %r" % (key, value))
        expect(value is not None or bench["unknown"][key], "%s: no reason" % key)


def read_to_end(terminal):
    """What a terminal was sent, whose other end is closed."""
    shown = b""
    try:
        while True:
            shown += os.read(terminal, 65536)
    except OSError:
        return shown


class BenchCases:
    def play(self, **what):
        return dict({"OCLATTN_LAYER_" + name: value for name, value in what.items()},
                    OPENCL_LAYERS=self.options.layer)

    @on_device
    def test_bench(self):
        bench = self.json("--bench", "--budget", "0.5")["bench"]
        expect_whole(bench)
        for kind in ("many_rows", "one_row"):
            for what in ("reachable", "reached"):
                key = "attention_%s_%s_gflops" % (kind, what)
                expect(bench["measures"][key], "%s: %s" % (key, bench["unknown"].get(key)))
            expect(len(bench["attention_shapes"][kind]) == 7, bench["attention_shapes"])
        expect(bench["measures"]["global_read_gb_per_s"] and bench["measures"]["launch_alone_us"], bench)

    @on_device
    def test_progress(self):
        """On a terminal alone, on stderr, and gone at the end."""
        here, there = pty.openpty()
        environment = dict(os.environ, OCLATTN_CACHE_DIR=self.cache)
        process = subprocess.Popen([self.options.probe, "--bench", "--budget", "0.01"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=there, env=environment)
        os.close(there)
        expect_narrow(process.stdout.read().decode("utf-8"))
        expect(process.wait() == 0, process.returncode)
        shown = read_to_end(here)
        expect(b"measuring fma_f32" in shown and shown.endswith(b"\r\x1b[K"), shown)
        os.close(here)
        self.text("--bench", "--budget", "0.01")
        expect(self.stderr == "", self.stderr)

    @on_device
    def test_event_times(self):
        """Events that took no time, or have none: no part of what is measured depends on them."""
        for played in ("zero", "fail"):
            bench = self.json("--bench", "--budget", "0.01", **self.play(EVENT_TIMES=played))["bench"]
            expect_whole(bench)
            expect(set(bench["unknown"]) <= {"fma_f16_gflops", "fma_f64_gflops"}, bench["unknown"])

    @on_device
    def test_bench_where_nothing_runs(self):
        for failing in ("clEnqueueNDRangeKernel", "clBuildProgram", "clCreateBuffer"):
            play = self.play(FAIL=failing + ":1+:-5")
            bench = self.json("--bench", "--budget", "0.01", code=4, **play)["bench"]
            expect_whole(bench)
            expect(all(value is None for value in bench["measures"].values()), bench["measures"])
            expect(failing in bench["unknown"]["fma_f32_gflops"], bench["unknown"])
            out = self.narrow("--bench", "--budget", "0.01", code=4, **play)
            expect(out.count("not known: ") == len(bench["measures"]), out)

    @on_device
    def test_bench_that_crashes(self):
        bench = self.json("--bench", "--budget", "1", code=4, **self.play(CRASH="clBuildProgram"))["bench"]
        expect_whole(bench)
        expect("crashed (SIGABRT)" in self.stderr, self.stderr)
