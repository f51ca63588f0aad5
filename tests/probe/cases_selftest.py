"""The self-test and the quarantine."""
import os
import shutil

from suite import expect, on_device


# A fault in a kernel, and the problem of the self-test that has to see it: file, old text, new text, variant, problem.
FAULTS = (
    ("attention_portable.cl", "max(row.key_begin, chunk * p->kv_chunk)", "chunk * p->kv_chunk",
     "attention_portable", 5),
    ("attention_scores.cl", "score = cap_score(p, score);", ";", "attention_scores", 1),
    ("attention_combine.cl", "/ p->kv_chunk + 1;", "/ p->kv_chunk;", "attention_combine", 0),
    ("split.cl", "+ h * p->head_dim;", "+ h;", "split", 0),
    ("split.cl", "+ h * p->head_dim;", "+ h;", "mha", 1),
    ("merge.cl", "p->packed_strides[1] + h * p->head_dim;", "p->packed_strides[1];", "merge", 0),
    ("pack_weights.cl", "column * p->in_dim + k :", "k * p->out_dim + column :", "projection_portable", 2),
    ("merge_states.cl", "exp(", "1.01f * exp(", "merge_states", 2),
)


class SelftestCases:
    def copy_kernels(self):
        folder = os.path.join(self.folder, "kernels")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.options.kernels, folder)
        return folder

    def kernels_with(self, file, old, new):
        folder = self.copy_kernels()
        path = os.path.join(folder, file)
        with open(path) as source:
            text = source.read()
        expect(old in text, "%s lacks %r" % (file, old))
        with open(path, "w") as source:
            source.write(text.replace(old, new))
        return folder

    def broken_kernel(self, file):
        """The kernels, and one among them that no compiler takes."""
        folder = self.copy_kernels()
        with open(os.path.join(folder, file), "a") as source:
            source.write("#error planted\n")
        return folder

    def projection(self):
        """What the library would run for projections, of which few problems compile few programs."""
        return self.json()["choice"]["operations"][2]

    def explain_in_library(self, **env):
        return self.text("mha", "--explain", "--d-model", "64", "--heads", "4", tool=self.options.run, **env)

    @on_device
    def test_selftest(self):
        """All of it, with the compiled kernels that the tests share where there are some."""
        cache = os.environ.get("OCLATTN_CACHE_DIR") or self.cache
        test = self.json("--selftest", OCLATTN_CACHE_DIR=cache)["selftest"]
        results = test["results"]
        expect(test["failed"] == 0 and test["passed"] + test["skipped"] == len(results) > 50, test)
        self.text("--selftest", "--variant", "nonsense", code=2)
        known = " ".join(self.stderr.split()).split("known: ")[1].split(", ")
        expect({result["variant"] for result in results} == set(known), "a kernel is left out")
        kernels = {os.path.splitext(name)[0] for name in os.listdir(self.options.kernels) if name.endswith(".cl")}
        expect(kernels - set(known) == {"broadcast_bias", "pack_weights"}, "not under test by themselves: %s" %
               (kernels - set(known)))
        for result in results:
            expect(result["result"] == "PASS" or result["reason"], result)
            expect(result["repeat"].startswith("oclattn-probe --selftest --device "), result)
            expect(result["result"] == "SKIP" or 0 <= result["error_of_tolerance"] <= 1, result)
        words = results[-1]["repeat"].split()[1:]
        out = self.narrow(*words, OCLATTN_CACHE_DIR=cache)
        expect("PASS" in out and "1 passed, 0 failed" in out, out)

    @on_device
    def test_skip_has_a_reason(self):
        results = self.json("--selftest", "--variant", "attention_tiled_cpu", "--problem", "9")["selftest"]["results"]
        expect(results[0]["result"] == "SKIP" and "wide" in results[0]["reason"], results)

    @on_device
    def test_device_with_little_memory(self):
        """What does not fit is no fault of the kernel."""
        env = {"OPENCL_LAYERS": self.options.layer, "OCLATTN_LAYER_MAX_ALLOCATION": "100000"}
        test = self.json("--selftest", "--variant", "attention_portable", "--problem", "3", **env)["selftest"]
        result = test["results"][0]
        expect(result["result"] == "SKIP" and "largest buffer" in result["reason"], result)

    @on_device
    def test_quarantine(self):
        variant = self.projection()["variant"]
        if variant == "projection_portable":
            return "the chosen device has one variant of projections"
        if not os.path.exists(os.path.join(self.options.kernels, variant + ".cl")):
            return "%s is no kernel of this library" % variant
        faulty = self.broken_kernel(variant + ".cl")
        out = self.narrow("--selftest", "--variant", variant, "--problem", "0", code=1, OCLATTN_KERNEL_DIR=faulty)
        expect("FAIL" in out and "again: oclattn-probe" in out and "quarantine" in out, out)
        self.check_fallback(variant)
        self.check_damaged_file()
        # One problem that passes does not lift it, a whole test does.
        self.text("--selftest", "--variant", variant, "--problem", "0")
        self.check_fallback(variant)
        self.text("--selftest", "--variant", variant)
        expect(self.projection()["variant"] == variant, "the quarantine is not lifted")
        return None

    def check_fallback(self, variant):
        projection = self.projection()
        expect(projection["variant"] != variant, "%s is taken" % variant)
        expect(any("in quarantine" in reason for reason in projection["refusals"]), projection["refusals"])
        out = self.explain_in_library()
        expect("in quarantine since a self-test failed" in out, out)
        expect("is in quarantine" in self.stderr, "not in the log: %s" % self.stderr)
        self.explain_in_library(OCLATTN_CACHE_DIR="")
        expect("quarantine" not in self.stderr, "without a cache folder there is none")

    @on_device
    def test_quarantine_that_cannot_be_written(self):
        """No cache folder, and one that is a file: said, and not more."""
        faulty = self.broken_kernel("projection_tiled_cpu.cl")
        path = os.path.join(self.folder, "a file instead")
        with open(path, "w"):
            pass
        for cache in ("", path):
            out = self.narrow("--selftest", "--variant", "projection_tiled_cpu", "--problem", "0", code=1,
                              OCLATTN_KERNEL_DIR=faulty, OCLATTN_CACHE_DIR=cache)
            expect("not put in quarantine" in out or "cannot be put in quarantine" in out, out)

    def check_damaged_file(self):
        path = os.path.join(self.cache, "quarantine")
        with open(path, "rb") as file:
            whole = file.read()
        for damaged in (b"", b"nonsense\n", whole[:-1], whole + b"no tabs\n", whole.replace(b"\t", b" "),
                        whole + b"\0\0\n", whole + b"x" * 100000):
            with open(path, "wb") as file:
                file.write(damaged)
            out = self.explain_in_library()
            expect("in quarantine" not in out, "%r is believed" % damaged[:60])
            expect("damaged" in self.stderr or damaged == b"", self.stderr)
        with open(path, "wb") as file:
            file.write(whole)

    @on_device
    def test_wrong_results(self):
        for file, old, new, variant, problem in FAULTS:
            faulty = self.kernels_with(file, old, new)
            out = self.narrow("--selftest", "--variant", variant, "--problem", problem, code=1,
                              OCLATTN_KERNEL_DIR=faulty)
            expect("expected" in out and "allowed" in out, "%s: %s" % (file, out))
            expect("quarantine" not in out, "%s: nothing can replace it" % file)

    @on_device
    def test_compiler_that_crashes(self):
        env = {"OPENCL_LAYERS": self.options.layer, "OCLATTN_LAYER_CRASH": "clBuildProgram",
               "OCLATTN_CACHE_DIR": os.path.join(self.folder, "crash_cache")}
        document = self.json("--selftest", "--variant", "attention_tiled_cpu", code=1, **env)
        results = document["selftest"]["results"]
        expect(results[0]["result"] == "FAIL" and "crashed (SIGABRT)" in results[0]["reason"], results[0])
        expect(len(results) > 10 and all("not run" in result["reason"] for result in results[1:]), results)
        with open(os.path.join(env["OCLATTN_CACHE_DIR"], "quarantine")) as file:
            expect("attention_tiled_cpu" in file.read(), "it is not in quarantine")
