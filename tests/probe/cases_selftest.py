"""The self-test and the quarantine."""
import os
import shutil

from suite import expect, on_device


class SelftestCases:
    def kernels_with(self, file, old, new):
        folder = os.path.join(self.folder, "kernels")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.options.kernels, folder)
        path = os.path.join(folder, file)
        with open(path) as source:
            text = source.read()
        expect(old in text, "%s lacks %r" % (file, old))
        with open(path, "w") as source:
            source.write(text.replace(old, new))
        return folder

    def plan_variant(self):
        return self.json("--explain")["explain"]

    def first_variant(self):
        """The variant that attention of many rows takes, and whether the library has another one."""
        variant = self.plan_variant()["variant"]
        return variant, variant != "attention_portable"

    @on_device
    def test_selftest(self):
        document = self.json("--selftest", "--variant", "merge_states")
        test = document["selftest"]
        expect(test["failed"] == 0 and test["passed"] == len(test["results"]) > 0, test)
        expect("PASS" in self.text("--selftest", "--variant", "split", "--problem", "0"), "text")

    @on_device
    def test_skip_has_a_reason(self):
        results = self.json("--selftest", "--variant", "attention_tiled_cpu", "--problem", "9")["selftest"]["results"]
        expect(results[0]["result"] == "SKIP" and "wide" in results[0]["reason"], results)

    @on_device
    def test_quarantine(self):
        variant, has_fallback = self.first_variant()
        if not has_fallback:
            return "the chosen device has one variant of attention"
        faulty = self.kernels_with(variant + ".cl", "void %s(" % variant, "__nothing void %s(" % variant)
        out = self.narrow("--selftest", "--variant", variant, "--problem", "0", code=1, OCLATTN_KERNEL_DIR=faulty)
        expect("FAIL" in out and "again: oclattn-probe" in out and "quarantine" in out, out)
        self.check_fallback(variant)
        self.check_damaged_file()
        # One problem that passes does not lift it, a whole test does.
        self.text("--selftest", "--variant", variant, "--problem", "0")
        self.check_fallback(variant)
        self.text("--selftest", "--variant", variant)
        expect(self.plan_variant()["variant"] == variant, "the quarantine is not lifted")

    def check_fallback(self, variant):
        plan = self.plan_variant()
        expect(plan["variant"] != variant, "%s is taken" % variant)
        expect(any("in quarantine" in reason for reason in plan["refusals"]), plan["refusals"])
        out = self.text("attention", "--explain", "--shape", "1,2,2,16,16,64,64", tool=self.options.run)
        expect("in quarantine since a self-test failed" in out, out)
        expect("is in quarantine" in self.stderr, "not in the log: %s" % self.stderr)
        self.text("attention", "--explain", "--shape", "1,2,2,16,16,64,64", tool=self.options.run,
                  OCLATTN_CACHE_DIR="")
        expect("quarantine" not in self.stderr, "without a cache folder there is none")

    def check_damaged_file(self):
        path = os.path.join(self.cache, "quarantine")
        with open(path, "rb") as file:
            whole = file.read()
        for damaged in (b"", b"nonsense\n", whole[:-1], whole + b"no tabs\n", whole.replace(b"\t", b" "),
                        whole + b"\0\0\n", whole + b"x" * 100000):
            with open(path, "wb") as file:
                file.write(damaged)
            out = self.text("attention", "--explain", "--shape", "1,2,2,16,16,64,64", tool=self.options.run)
            expect("in quarantine" not in out, "%r is believed" % damaged[:60])
            expect("damaged" in self.stderr or damaged == b"", self.stderr)
        with open(path, "wb") as file:
            file.write(whole)

    @on_device
    def test_wrong_results(self):
        faulty = self.kernels_with("merge_states.cl", "exp(", "1.01f * exp(")
        out = self.text("--selftest", "--variant", "merge_states", code=1, OCLATTN_KERNEL_DIR=faulty)
        expect("expected" in out and "allowed" in out, out)
        expect("quarantine" not in out, "nothing can replace it")

    @on_device
    def test_compiler_that_crashes(self):
        env = {"OPENCL_LAYERS": self.options.layer, "OCLATTN_LAYER_CRASH": "clBuildProgram",
               "OCLATTN_CACHE_DIR": os.path.join(self.folder, "crash_cache")}
        document = self.json("--selftest", "--variant", "attention_tiled_cpu", "--problem", "0", code=1, **env)
        results = document["selftest"]["results"]
        expect(len(results) == 1 and "crashed (SIGABRT)" in results[0]["reason"], results)
        with open(os.path.join(env["OCLATTN_CACHE_DIR"], "quarantine")) as file:
            expect("attention_tiled_cpu" in file.read(), "it is not in quarantine")
