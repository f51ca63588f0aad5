#!/usr/bin/env python3
"""Runs oclattn-tune as a user would, with kernels that are wrong, slow or break down for some candidates.

    run_tune_tests.py --tune PATH/oclattn-tune --run PATH/oclattn-run --kernels cl

Standard library only. The device is OCLATTN_DEVICE's, or the tool's own choice. Nothing here depends on speed but where a
kernel idles for a whole millisecond on purpose.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

CLASS = "attention_tiled_cpu.64"
# A millisecond at least, where the tiny problems take a hundredth of one.
IDLE = "{ volatile float x = 1; for (int i = 0; i < 1000000; ++i) x = x * 1.01f; }"


def condition(values):
    """Whether the kernel is compiled with these values, in C."""
    return " && ".join("%s == %d" % (name.upper(), value) for name, value in values.items())


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


class Suite:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.file = os.path.join(folder, "tuned")
        self.stderr = ""

    def tool(self, arguments, code=0, **environment):
        """Runs it, expects its exit code, and returns stdout."""
        env = dict(os.environ, OCLATTN_CACHE_DIR=os.path.join(self.folder, "cache"), **environment)
        if "OCLATTN_TUNING" not in environment:
            env.pop("OCLATTN_TUNING", None)
        done = subprocess.run([self.options.tune] + arguments, capture_output=True, text=True, env=env, check=False)
        self.stderr = done.stderr
        expect(done.returncode == code, "exit code %d, not %d, of %s:\n%s%s"
               % (done.returncode, code, arguments, done.stdout, done.stderr))
        return done.stdout

    def quick(self, *more, code=0, **environment):
        """One class, tiny, as JSON."""
        out = self.tool(["--quick", "--class", CLASS, "--out", self.file, "--json", *more], code, **environment)
        return json.loads(out)["results"]

    def kernels(self, name, statement, lines=""):
        """A folder of kernels, with a statement at the start of the tiled kernel and lines before everything."""
        folder = os.path.join(self.folder, name)
        shutil.copytree(self.options.kernels, folder)
        path = os.path.join(folder, "attention_tiled_cpu.cl")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        changed, count = re.subn(r"(void attention_tiled_cpu\([^{]*\{\n)", r"\1    " + statement + "\n", text)
        expect(count == 1, "the kernel has another form now")
        with open(path, "w", encoding="utf-8") as file:
            file.write(lines + changed)
        return folder

    def remove_file(self):
        if os.path.exists(self.file):
            os.remove(self.file)

    # ---- the cases ---------------------------------------------------------------------------------------------------

    def test_usage(self):
        expect("attention_tiled_cpu.64" in self.tool(["--help"]), "the help does not list the classes")
        expect(re.match(r"oclattn-tune \d+\.\d+\.\d+\n", self.tool(["--version"])), "no version")
        for words in (["--nonsense"], ["--class", "nonsense"], ["--budget", "much"], ["--budget", "-1"],
                      ["--show", "--dry-run"], ["--resume", "--restart"], ["extra"]):
            expect(self.tool(words, 2) == "" and self.stderr.startswith("oclattn-tune: "), words)
        self.tool(["--device", "no such device", "--show"], 3)

    def test_dry_run(self):
        self.remove_file()
        out = self.tool(["--dry-run", "--class", CLASS, "--out", self.file])
        expect("to be measured" in out and "[1, 8, 512, 64]" in out, out)
        plan = json.loads(self.tool(["--dry-run", "--json", "--out", self.file]))
        expect(plan["classes"] and all(c["problems"] for c in plan["classes"]), plan)
        expect(not os.path.exists(self.file), "a dry run writes")

    def test_show(self):
        shown = json.loads(self.tool(["--show", "--json"]))
        groups = next(p for p in shown["parameters"] if p["group"] == CLASS and p["name"] == "groups")
        expect(groups["meaning"] and groups["least"] <= groups["value"] <= groups["most"], groups)
        expect("tuning file" not in groups["origin"], groups)
        out = self.tool(["--show", "--class", CLASS])
        expect(groups["meaning"] in out and groups["origin"] in out and "projection" not in out, out)

    def test_measure_resume_restart(self):
        self.remove_file()
        result = self.quick()[0]
        expect(result["class"] == CLASS and result["search"] == "quick", result)
        expect(len(result["candidates"]) == 3, "not 3 candidates: %s" % result["candidates"])
        expect(all(c["gain"] > 0 for c in result["candidates"] if not c["skipped"]), result)
        with open(self.file, encoding="utf-8") as file:
            text = file.read()
        expect("[%s]\n" % CLASS in text and "measured = " in text and "search = quick" in text, text)
        expect(self.quick()[0]["search"] == "measured before", "a second run measures again")
        expect(len(self.quick("--restart")[0]["candidates"]) == 3, "--restart does not measure")
        expect(len(self.quick("--restart", "--budget", "0")[0]["candidates"]) == 1, "without time, one is measured")
        expect("to be continued" in self.tool(["--dry-run", "--class", CLASS, "--out", self.file]), "quick is enough?")

    def test_what_was_found_is_used(self):
        self.remove_file()
        values = self.quick("--budget", "0")[0]["values"]
        shown = json.loads(self.tool(["--show", "--json"], OCLATTN_TUNING=self.file))
        for parameter in shown["parameters"]:
            if parameter["group"] == CLASS:
                expect(parameter["value"] == values[parameter["name"]], parameter)
                expect(parameter["origin"] == "tuning file " + self.file, parameter)
        env = dict(os.environ, OCLATTN_TUNING=self.file)
        done = subprocess.run([self.options.run, "mha", "--explain", "--d-model", "128", "--heads", "2"],
                              capture_output=True, text=True, env=env, check=True)
        expect("tiles (tuning file %s)" % self.file in done.stdout, done.stdout)

    def start_values(self):
        shown = json.loads(self.tool(["--show", "--json"]))
        return {p["name"]: p["value"] for p in shown["parameters"] if p["group"] == CLASS}

    def test_candidates_that_must_not_win(self):
        """All three are faster than anything: one computes nothing, one does not compile, one crashes."""
        self.remove_file()
        start = self.start_values()
        lazy = self.kernels("lazy", "if (!(%s)) return; %s" % (condition(start), IDLE))
        result = self.quick(OCLATTN_KERNEL_DIR=lazy)[0]
        expect(all("wrong result" in c["skipped"] for c in result["candidates"]), result)
        wrong, broken, crashing = [c["values"] for c in result["candidates"]]
        folder = self.kernels(
            "planted", "if (%s) return; if (%s) *(volatile __global int *)16 = 1; %s"
            % (condition(wrong), condition(crashing), IDLE), "#if %s\n#error planted\n#endif\n" % condition(broken))
        self.remove_file()
        result = self.quick(OCLATTN_KERNEL_DIR=folder)[0]
        candidates = result["candidates"]
        expect(candidates[0]["values"] == wrong and "wrong result" in candidates[0]["skipped"], candidates)
        expect(candidates[1]["values"] == broken and "build failed" in candidates[1]["skipped"], candidates)
        expect(candidates[2]["values"] == crashing and "crashed" in candidates[2]["skipped"], candidates)
        expect(self.stderr.count("is skipped") == 3, self.stderr)
        expect(result["values"] == start and result["gain"] == 1, result)

    def test_a_faster_candidate_wins(self):
        start = self.start_values()
        slow = self.kernels("slow", "if (%s) { %s }" % (condition(start), IDLE))
        self.remove_file()
        result = self.quick(OCLATTN_KERNEL_DIR=slow)[0]
        expect(result["values"] != start and result["gain"] > 1, result)

    def test_wrong_from_the_start(self):
        self.remove_file()
        expect(self.quick(code=1, OCLATTN_KERNEL_DIR=self.kernels("wrong", "return;")) == [], "a wrong kernel is tuned")
        expect("wrong result" in self.stderr, self.stderr)
        expect(not os.path.exists(self.file), "a file is written for a wrong kernel")

    def test_other_kernels_and_damaged_files(self):
        self.remove_file()
        self.quick()
        folder = self.kernels("changed", ";")
        out = self.tool(["--dry-run", "--class", CLASS, "--out", self.file], OCLATTN_KERNEL_DIR=folder)
        expect("to be measured" in out, "what was measured with another kernel counts: %s" % out)
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("garbage\n")
        expect(len(self.quick()[0]["candidates"]) == 3, "a damaged file stops it")
        expect("does not begin with" in self.stderr, self.stderr)

    def test_clblast(self):
        """Its parameters are set once in a process, so each candidate has one of its own."""
        self.remove_file()
        words = ["--quick", "--class", "projection_clblast", "--out", self.file, "--json"]
        done = subprocess.run([self.options.run, "mha", "--explain", "--d-model", "128", "--heads", "2", "--projection",
                               "projection_clblast"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            expect("projection_clblast" in done.stderr, done.stderr)
            return print("SKIP  clblast: %s" % done.stderr.strip())
        result = json.loads(self.tool(words))["results"][0]
        expect(len(result["candidates"]) in (2, 4), "neither two candidates, nor both again: %s" % result["candidates"])
        expect(result["values"]["overrides"] in (0, 1) and result["values"]["preferred"] in (0, 1), result)
        expect("projection_clblast" not in self.tool(["--dry-run", "--out", os.path.join(self.folder, "none")]),
               "CLBlast is measured unasked")
        shown = json.loads(self.tool(["--show", "--json", "--class", "projection_clblast"], OCLATTN_TUNING=self.file))
        expect({p["name"]: p["value"] for p in shown["parameters"]} == result["values"], shown)
        return None

    def test_nowhere_to_write(self):
        self.tool(["--quick", "--class", CLASS], 2, OCLATTN_TUNING="off")
        expect("--out" in self.stderr, self.stderr)
        blocked = os.path.join(self.folder, "blocked")
        with open(blocked, "w", encoding="utf-8"):
            pass
        self.tool(["--quick", "--class", CLASS, "--out", os.path.join(blocked, "tuned")], 4)
        expect("cannot write" in self.stderr, self.stderr)


def main():
    parser = argparse.ArgumentParser()
    for name in ("tune", "run", "kernels"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(options, folder)
        for name in [n for n in dir(suite) if n.startswith("test_")]:
            try:
                getattr(suite, name)()
                print("ok    %s" % name)
            except AssertionError as trouble:
                failed += 1
                print("FAIL  %s: %s" % (name, trouble))
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
