"""Measuring."""
from suite import expect, on_device


class BenchCases:
    @on_device
    def test_bench(self):
        bench = self.json("--bench", "--budget", "1")["bench"]
        for key, value in bench["measures"].items():
            expect((value is None) == (key in bench["unknown"]), "%s: null without a reason" % key)
            expect(value is None or value > 0, "%s is %r" % (key, value))
        for key in ("fma_f32_gflops", "global_read_gb_per_s", "attention_many_rows_reached_gflops"):
            expect(bench["measures"][key], "%s: %s" % (key, bench["unknown"].get(key)))

    @on_device
    def test_bench_that_crashes(self):
        self.json("--bench", "--budget", "1", code=4, OPENCL_LAYERS=self.options.layer,
                  OCLATTN_LAYER_CRASH="clBuildProgram")
