#!/usr/bin/env python3
"""Runs oclattn-probe as a user would, on this machine, on captures, and beside a driver that lies and breaks down.

    run_probe_tests.py --part device|host --probe PATH --run PATH --fake PATH --layer PATH --kernels FOLDER
                       --captures FOLDER [--only WORD]

Part "device" asks about the chosen device, part "host" about everything else, so once is enough.

Standard library only. The device is OCLATTN_DEVICE's, or the tool's own choice.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

COLUMNS = 100
# What the library chooses for the captures: attention of many rows, of one row, and a projection.
CHOSEN = {
    "amd_radeon_rx_7900_xtx.json": ("defaults", "attention_portable", "attention_portable", "projection_clblast"),
    "arm_mali_g52.json": ("defaults", "attention_portable", "attention_portable", "projection_portable"),
    "qualcomm_adreno_750.json": ("defaults", "attention_portable", "attention_portable", "projection_portable"),
}


DEVICE_CASES = {"screen", "one_table", "library_chooses_the_same", "explain", "save_and_load", "selftest",
                "skip_has_a_reason", "quarantine", "wrong_results", "compiler_that_crashes", "bench",
                "bench_that_crashes"}


def no_constant(word):
    raise ValueError("%s is no strict JSON" % word)


def strict(text):
    return json.loads(text, parse_constant=no_constant)


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


class Suite:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.failed = self.done = self.skipped = 0
        self.empty = self.make_vendors("no_vendors", [])
        self.cache = os.path.join(folder, "cache")

    def make_vendors(self, name, libraries):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        for file, library in libraries:
            with open(os.path.join(path, file), "w") as icd:
                icd.write(library + "\n")
        return path

    def real_vendors(self):
        """The .icd files of this machine: [(name, library)]."""
        folder = os.environ.get("OCL_ICD_VENDORS") or "/etc/OpenCL/vendors"
        found = []
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if name.endswith(".icd"):
                with open(os.path.join(folder, name)) as icd:
                    found.append((name, icd.readline().strip()))
        return found

    def run(self, *words, tool=None, **env):
        environment = dict(os.environ, OCLATTN_CACHE_DIR=self.cache)
        environment.update(env)
        return subprocess.run([tool or self.options.probe, *map(str, words)], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900)

    def text(self, *words, code=0, tool=None, **env):
        result = self.run(*words, tool=tool, **env)
        out, err = result.stdout.decode("utf-8"), result.stderr.decode("utf-8")
        expect(result.returncode == code, "%s: exit code %d, expected %d\n%s%s" %
               (" ".join(map(str, words)), result.returncode, code, out[-2000:], err))
        self.stderr = err
        return out

    def json(self, *words, code=0, **env):
        document = strict(self.text("--json", *words, code=code, **env))
        expect(document["schema_version"] == 1, "schema_version")
        return document

    def narrow(self, out):
        for line in out.splitlines():
            expect(len(line) <= COLUMNS, "%d columns: %s" % (len(line), line))

    def beside_fake(self, name="beside_fake"):
        """A folder with the fake driver first and this machine's real ones after it."""
        return self.make_vendors(name, [("00_fake.icd", self.options.fake)] + self.real_vendors())

    def cases(self):
        return [(name[5:], getattr(self, name)) for name in dir(self) if name.startswith("test_")]

    def run_all(self):
        for name, case in self.cases():
            if self.options.only not in name or (name in DEVICE_CASES) != (self.options.part == "device"):
                continue
            self.done += 1
            try:
                reason = case()
            except Exception as problem:  # whatever it is, the other cases run
                self.failed += 1
                print("FAILED %s: %s: %s" % (name, type(problem).__name__, problem))
                continue
            if reason:
                self.skipped += 1
                print("SKIP %s: %s" % (name, reason))
        print("probe: %d cases, %d failed, %d skipped" % (self.done, self.failed, self.skipped))
        return 1 if self.failed else 0

    # ---- usage ---------------------------------------------------------------------------------------------------

    def test_help(self):
        out = self.text("--help")
        self.narrow(out)
        for word in ("--selftest", "--load", "Exit codes", "Try"):
            expect(word in out, word)
        expect(re.match(r"oclattn-probe \d+\.\d+\.\d+\n$", self.text("--version")), "version")

    def test_usage(self):
        for words in (["--nonsense"], ["word"], ["--prop", "nonsense"], ["--list", "--raw"], ["--json", "--raw"],
                      ["--budget", "0"], ["--budget", "x"], ["--timeout", "-1"], ["--shape", "1,2"],
                      ["--load", "missing.json"], ["--problem", "1"], ["--selftest", "--load", "x"],
                      ["--selftest", "--variant", "nonsense"], ["--save", "/no/such/folder/x.json"]):
            out = self.text(*words, code=2, OCL_ICD_VENDORS=self.options.real)
            expect(len(self.stderr.strip().splitlines()) == 1, "%s: stderr is %r" % (words, self.stderr))
            expect(not out or words[0] == "--save", "%s: stdout is %r" % (words, out))

    def test_no_such_device(self):
        document = self.json("--device", "no such device", code=3)
        expect(document["choice"]["device"] is None, "a device was chosen")
        expect("there are" in self.stderr, self.stderr)

    # ---- this machine --------------------------------------------------------------------------------------------

    def test_screen(self):
        for words in ([], ["--list"], ["--all"], ["--explain"]):
            out = self.text(*words)
            self.narrow(out)
            expect(not re.search(r"\b(nan|inf)\b", out), "%s shows nan or inf" % words)

    def test_one_table(self):
        """The same facts in --json, --raw and --prop."""
        document = self.json()
        raw = dict((line.split(" ", 1) + [""])[:2] for line in self.text("--raw").splitlines())
        for p, platform in enumerate(document["platforms"]):
            for d, device in enumerate(platform["devices"]):
                for key, value in device["facts"].items():
                    expect(raw["%d:%d.%s" % (p, d, key)] == as_raw(value), "%s: %r" % (key, value))
                    expect((value is None) == (key in device["unknown"]), "%s: null without a reason" % key)
        expect(raw["choice.device"] == document["choice"]["device"], "choice")
        chosen = chosen_device(document)
        for key in ("name", "local_memory_bytes", "max_work_item_sizes", "has_fp16"):
            expect(self.text("--prop", key).rstrip("\n") == as_raw(chosen["facts"][key]), key)

    def test_agrees_with_clinfo(self):
        if not shutil.which("clinfo"):
            return "clinfo is not installed"
        said = self.text("--raw", tool=shutil.which("clinfo"))
        document = self.json()
        pairs = {"CL_DEVICE_NAME": "name", "CL_DRIVER_VERSION": "driver_version",
                 "CL_DEVICE_MAX_COMPUTE_UNITS": "compute_units", "CL_DEVICE_GLOBAL_MEM_SIZE": "global_memory_bytes",
                 "CL_DEVICE_MAX_MEM_ALLOC_SIZE": "max_allocation_bytes",
                 "CL_DEVICE_LOCAL_MEM_SIZE": "local_memory_bytes",
                 "CL_DEVICE_MAX_WORK_GROUP_SIZE": "max_work_group_size",
                 "CL_DEVICE_MAX_WORK_ITEM_SIZES": "max_work_item_sizes",
                 "CL_DEVICE_MAX_PARAMETER_SIZE": "max_parameter_bytes", "CL_DEVICE_EXTENSIONS": "extensions",
                 "CL_DEVICE_ADDRESS_BITS": "address_bits", "CL_DEVICE_VERSION": "device_version",
                 "CL_DEVICE_GLOBAL_MEM_CACHE_SIZE": "global_cache_bytes",
                 "CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT": "native_float_width"}
        compared = 0
        # clinfo also tells what the loader answers, after the last device.
        devices = [device for platform in document["platforms"] for device in platform["devices"]]
        for query, key in pairs.items():
            # Lines begin with "[PLATFORM/DEVICE]"; platforms in the loader's order.
            values = [line.split(None, 2)[2].strip() for line in said.splitlines()
                      if line.startswith("[") and "/*]" not in line and len(line.split(None, 2)) == 3
                      and line.split(None, 2)[1] == query]
            for device, value in zip(devices, values):
                expect(value.split() == as_raw(device["facts"][key]).split(),
                       "%s: clinfo has %r, we have %r" % (query, value, device["facts"][key]))
                compared += 1
        expect(compared >= len(devices) * 10, "only %d facts compared" % compared)

    def test_library_chooses_the_same(self):
        document = self.json()
        out = self.text("attention", "--explain", "--shape", "1,12,12,512,512,64,64", tool=self.options.run)
        expect(document["choice"]["device"] == out.split()[1], out)
        expect("variant    %s\n" % document["choice"]["operations"][0]["variant"] in out, out)

    def test_explain(self):
        document = self.json("--explain", "--shape", "1,32,8,1,4096,128,128")
        expect(document["explain"]["shape"] == [1, 32, 8, 1, 4096, 128, 128], "shape")
        expect(any("workspace" in line for line in document["explain"]["plan"]), "plan")
        expect("workspace" in self.text("--explain"), "text")
        self.text("--explain", "--variant", "nonsense", code=2)

    # ---- captures ------------------------------------------------------------------------------------------------

    def test_save_and_load(self):
        path = os.path.join(self.folder, "here.json")
        document = self.json("--save", path)
        loaded = self.json("--load", path, OCL_ICD_VENDORS=self.empty)
        expect(loaded["platforms"] == document["platforms"], "platforms differ")
        expect(loaded["choice"]["device"] == document["choice"]["device"], "choice differs")
        expect(loaded["choice"]["operations"] == document["choice"]["operations"], "operations differ")
        self.narrow(self.text("--load", path, "--all", OCL_ICD_VENDORS=self.empty))

    def test_known_captures(self):
        found = sorted(os.listdir(self.options.captures))
        expect(found == sorted(CHOSEN), "captures: %s" % found)
        for name, (tuning, many, one, projection) in CHOSEN.items():
            path = os.path.join(self.options.captures, name)
            document = self.json("--load", path, OCL_ICD_VENDORS=self.empty, OCLATTN_DEVICE="")
            operations = document["choice"]["operations"]
            expect(any("https://" in source for source in document["source"]), "%s has no source" % name)
            expect(document["choice"]["tuning"] == tuning, "%s: %s" % (name, document["choice"]["tuning"]))
            expect([o["variant"] for o in operations] == [many, one, projection],
                   "%s: %s" % (name, [o["variant"] for o in operations]))
            for operation in operations:
                expect(operation["refusals"] or operation["variant"] == projection, "%s: no refusals" % name)
            self.narrow(self.text("--load", path, "--explain", OCL_ICD_VENDORS=self.empty, OCLATTN_DEVICE=""))

    def test_choice_among_captures(self):
        """The card with memory of its own is taken, wherever it stands; phones share theirs with the host."""
        names = sorted(CHOSEN)
        for turn in range(len(names)):
            machine = {"schema_version": 1, "platforms": []}
            for name in names[turn:] + names[:turn]:
                with open(os.path.join(self.options.captures, name)) as file:
                    machine["platforms"] += json.load(file)["platforms"]
            path = os.path.join(self.folder, "three.json")
            with open(path, "w") as file:
                json.dump(machine, file)
            document = self.json("--load", path, OCLATTN_DEVICE="")
            expect(chosen_device(document)["facts"]["name"] == "gfx1100", document["choice"])
            document = self.json("--load", path, "--device", "adreno")
            expect("Adreno" in chosen_device(document)["facts"]["name"], document["choice"])

    def test_bad_captures(self):
        path = os.path.join(self.folder, "bad.json")
        for content in ("", "{", "[]", "{}", '{"schema_version": 2, "platforms": []}',
                        '{"schema_version": 1, "platforms": [1]}', '{"schema_version": 1, "platforms": {}}',
                        '{"schema_version": 1, "platforms": [{"facts": {}}]}',
                        '{"schema_version": 1, "platforms": [{"facts": {}, "devices": [{"facts": {"name": 1}}]}]}',
                        '{"schema_version": 1, "platforms": [{"facts": {}, "devices": '
                        '[{"facts": {"max_work_group_size": -1.5}}]}]}'):
            with open(path, "w") as file:
                file.write(content)
            out = self.text("--load", path, code=2)
            expect(out == "" and path in self.stderr, self.stderr)
        with open(path, "w") as file:
            file.write('{"schema_version": 1, "platforms": [{"facts": {}, "devices": [{"facts": {}}]}]}')
        self.json("--load", path, code=3, OCLATTN_DEVICE="")

    # ---- drivers that are not there ------------------------------------------------------------------------------

    def test_no_platform(self):
        document = self.json(code=3, OCL_ICD_VENDORS=self.empty)
        expect(document["platforms"] == [] and document["choice"]["device"] is None, "something is there")
        expect("install" in document["loader"]["hint"], document["loader"])
        for words in ([], ["--list"], ["--all"]):
            out = self.text(*words, code=3, OCL_ICD_VENDORS=self.empty)
            expect("0 platforms" in out and "install" in out, out)
        self.text("--raw", code=3, OCL_ICD_VENDORS=self.empty)
        self.text("--selftest", code=3, OCL_ICD_VENDORS=self.empty)
        self.text("--json", code=3, OCL_ICD_VENDORS=os.path.join(self.folder, "no such folder"))

    def test_unreadable_icd(self):
        vendors = self.make_vendors("unreadable", [("b.icd", "/no/such/library.so"), ("c.icd", "")])
        os.makedirs(os.path.join(vendors, "a.icd"), exist_ok=True)
        document = self.json(code=3, OCL_ICD_VENDORS=vendors)
        problems = [vendor["problem"] for vendor in document["loader"]["vendors"]]
        expect(len(problems) == 3 and all(problems), problems)
        expect("cannot be read" in self.text(code=3, OCL_ICD_VENDORS=vendors), "text")

    # ---- drivers that break down ---------------------------------------------------------------------------------

    def one_breaks(self, trouble, **env):
        """The fake driver breaks down; the real ones answer all the same. Debian's loader asks for devices itself, so
        that a driver that breaks down there brings down every program: then it is left out."""
        document = self.json("--timeout", "5", OCL_ICD_VENDORS=self.beside_fake(), OCLATTN_DEVICE="", **env)
        broken = [p for p in document["platforms"] if p["problem"]]
        expect(len(broken) == 1 and trouble in broken[0]["problem"], "%s: %s" % (env, broken))
        expect(document["choice"]["device"], "no device")
        expect("Fake" not in chosen_device(document)["facts"]["name"], "the fake one is chosen")

    def test_breakdowns(self):
        if not self.real_vendors():
            return "there is no driver besides"
        self.one_breaks("crashed (SIGABRT)", FAKE_DEVICES="crash")
        self.one_breaks("no answer within 5 s", FAKE_DEVICES="hang")
        self.one_breaks("exit code 7", FAKE_DEVICES="exit")
        self.one_breaks("CL_OUT_OF_HOST_MEMORY", FAKE_DEVICES="error")
        self.one_breaks("crashed (SIGABRT)", FAKE_QUERY="crash")
        for env in ({"FAKE_QUERY": "crash"}, {"FAKE_DEVICES": "crash"}):
            out = self.text("--timeout", "5", OCL_ICD_VENDORS=self.beside_fake(), OCLATTN_DEVICE="", **env)
            self.narrow(out)
            expect("crashed (SIGABRT)" in out, out)

    def test_driver_that_prints(self):
        document = self.json(OCL_ICD_VENDORS=self.beside_fake(), FAKE_LOAD="print", FAKE_QUERY="print")
        expect("prints" in document["platforms"][0]["driver_output"], document["platforms"][0])

    def test_driver_failure_alone(self):
        vendors = self.make_vendors("fake", [("fake.icd", self.options.fake)])
        for env in ({"FAKE_DEVICES": "crash"}, {"FAKE_DEVICES": "hang"}, {"FAKE_LOAD": "crash"}):
            document = self.json("--timeout", "2", code=4, OCL_ICD_VENDORS=vendors, **env)
            expect(document["choice"]["device"] is None, document["choice"])

    def test_driver_that_brings_down_the_loader(self):
        for what, trouble in (("crash", "crashed"), ("hang", "no answer"), ("exit", "exit code 7")):
            document = self.json("--timeout", "5", OCL_ICD_VENDORS=self.beside_fake(), FAKE_LOAD=what)
            expect(trouble in document["loader"]["problem"], document["loader"])
            guilty = [v["file"] for v in document["loader"]["vendors"] if v["problem"]]
            expect(guilty == ["00_fake.icd"] == document["loader"]["left_out"], guilty)
            expect(len(document["platforms"]) == len(self.real_vendors()) + 1, "the others are not shown")
            expect(document["choice"]["device"] and document["loader"]["hint"], document["choice"])
        out = self.text("--selftest", "--variant", "split", OCL_ICD_VENDORS=self.beside_fake(), FAKE_LOAD="crash")
        expect("3 passed" in out, out)

    def test_platform_without_devices(self):
        if not self.real_vendors():
            return "there is no driver besides"
        document = self.json(OCL_ICD_VENDORS=self.beside_fake(), FAKE_DEVICES="none", OCLATTN_DEVICE="")
        fake = [p for p in document["platforms"] if p["facts"]["name"] == "Fake platform"]
        expect(len(fake) == 1 and fake[0]["devices"] == [] and fake[0]["problem"] is None, fake)
        expect(document["choice"]["device"], "no device")
        expect("no devices" in self.text("--list", OCL_ICD_VENDORS=self.beside_fake(), FAKE_DEVICES="none"), "text")

    # ---- drivers that lie ----------------------------------------------------------------------------------------

    def lie(self, lies, code=0, **env):
        vendors = self.make_vendors("fake", [("fake.icd", self.options.fake)])
        document = self.json(code=code, OCL_ICD_VENDORS=vendors, OCLATTN_DEVICE="", FAKE_LIES=lies, **env)
        for words in ([], ["--all"]):
            out = self.text(*words, code=code, OCL_ICD_VENDORS=vendors, OCLATTN_DEVICE="", FAKE_LIES=lies, **env)
            self.narrow(out)
            expect(not re.search(r"\b(nan|inf)\b", out), out)
        return document["platforms"][0]["devices"]

    def unknown(self, lies, keys, code=0):
        device = self.lie(lies, code)[0]
        for key in keys:
            expect(device["facts"][key] is None, "%s: %s is %r" % (lies, key, device["facts"][key]))
            expect(device["unknown"][key], "%s: no reason for %s" % (lies, key))

    def test_lies(self):
        device = self.lie("")[0]
        expect(device["facts"]["clock_mhz"] == 1500 and device["facts"]["has_fp16"] is True, device["facts"])
        self.unknown("zero_clock", ["clock_mhz"])
        self.unknown("huge_clock", ["clock_mhz"])
        self.unknown("empty_texts", ["name", "vendor", "driver_version"])
        self.unknown("zeros", ["compute_units", "global_memory_bytes", "max_work_group_size"])
        self.unknown("huge_numbers", ["global_memory_bytes", "compute_units", "local_memory_bytes"])
        self.unknown("short_numbers", ["compute_units", "global_memory_bytes"])
        self.unknown("claims_much", ["name", "extensions", "has_fp16"])
        self.unknown("fail_all", ["compute_units", "type", "extensions"], code=3)
        expect(self.lie("unterminated")[0]["facts"]["name"] == "Fake GPU", "unterminated")
        expect(self.lie("not_utf8")[0]["facts"]["name"].isprintable(), "not UTF-8")

    def test_platform_newer_than_its_device(self):
        device = self.lie("old_device")[0]
        expect(device["facts"]["max_sub_groups"] is None and "-30" in device["unknown"]["max_sub_groups"], "sub-groups")
        expect(device["facts"]["has_subgroups"] is False and device["unusable_because"] is None, "unusable")

    # ---- registered twice ----------------------------------------------------------------------------------------

    def test_registered_twice(self):
        copy = os.path.join(self.folder, "libcopy.so")
        shutil.copy(self.options.fake, copy)
        vendors = self.make_vendors("twice", [("a.icd", self.options.fake), ("b.icd", copy)])
        document = self.json(OCL_ICD_VENDORS=vendors, OCLATTN_DEVICE="")
        aliases = [p["devices"][0]["alias_of"] for p in document["platforms"]]
        expect(aliases == [None, "0:0"], aliases)
        expect(document["choice"]["device"] == "0:0", document["choice"])
        expect("the same device as 0:0" in self.text(OCL_ICD_VENDORS=vendors), "text")

    def test_listed_twice(self):
        if not self.real_vendors():
            return "there is no driver"
        document = self.json(OPENCL_LAYERS=self.options.layer, OCLATTN_LAYER_TWICE="1", OCLATTN_DEVICE="")
        aliases = [d["alias_of"] for p in document["platforms"] for d in p["devices"]]
        half = len(aliases) // 2
        expect(aliases[:half] == [None] * half and all(aliases[half:]), aliases)

    def test_two_equal_devices(self):
        devices = self.lie("", FAKE_COUNT="2")
        expect([d["alias_of"] for d in devices] == [None, None], devices)

    # ---- the self-test and the quarantine ------------------------------------------------------------------------

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

    def test_selftest(self):
        document = self.json("--selftest", "--variant", "merge_states")
        test = document["selftest"]
        expect(test["failed"] == 0 and test["passed"] == len(test["results"]) > 0, test)
        expect("PASS" in self.text("--selftest", "--variant", "split", "--problem", "0"), "text")

    def test_skip_has_a_reason(self):
        results = self.json("--selftest", "--variant", "attention_tiled_cpu", "--problem", "6")["selftest"]["results"]
        expect(results[0]["result"] == "SKIP" and "chunks" in results[0]["reason"], results)

    def test_quarantine(self):
        variant, has_fallback = self.first_variant()
        if not has_fallback:
            return "the chosen device has one variant of attention"
        faulty = self.kernels_with(variant + ".cl", "__kernel void", "__kernel __nothing void")
        out = self.text("--selftest", "--variant", variant, "--problem", "0", code=1, OCLATTN_KERNEL_DIR=faulty)
        expect("FAIL" in out and "again: oclattn-probe" in out and "quarantine" in out, out)
        self.narrow(out)
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

    def test_wrong_results(self):
        faulty = self.kernels_with("merge_states.cl", "exp(", "1.01f * exp(")
        out = self.text("--selftest", "--variant", "merge_states", code=1, OCLATTN_KERNEL_DIR=faulty)
        expect("expected" in out and "allowed" in out, out)
        expect("quarantine" not in out, "nothing can replace it")

    def test_compiler_that_crashes(self):
        env = {"OPENCL_LAYERS": self.options.layer, "OCLATTN_LAYER_CRASH": "clBuildProgram",
               "OCLATTN_CACHE_DIR": os.path.join(self.folder, "crash_cache")}
        document = self.json("--selftest", "--variant", "attention_tiled_cpu", "--problem", "0", code=1, **env)
        results = document["selftest"]["results"]
        expect(len(results) == 1 and "crashed (SIGABRT)" in results[0]["reason"], results)
        with open(os.path.join(env["OCLATTN_CACHE_DIR"], "quarantine")) as file:
            expect("attention_tiled_cpu" in file.read(), "it is not in quarantine")

    # ---- measuring -----------------------------------------------------------------------------------------------

    def test_bench(self):
        bench = self.json("--bench", "--budget", "1")["bench"]
        for key, value in bench["measures"].items():
            expect((value is None) == (key in bench["unknown"]), "%s: null without a reason" % key)
            expect(value is None or value > 0, "%s is %r" % (key, value))
        for key in ("fma_f32_gflops", "global_read_gb_per_s", "attention_many_rows_reached_gflops"):
            expect(bench["measures"][key], "%s: %s" % (key, bench["unknown"].get(key)))

    def test_bench_that_crashes(self):
        self.json("--bench", "--budget", "1", code=4, OPENCL_LAYERS=self.options.layer,
                  OCLATTN_LAYER_CRASH="clBuildProgram")


def as_raw(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return " ".join(as_raw(item) for item in value)
    return str(value)


def chosen_device(document):
    platform, device = map(int, document["choice"]["device"].split(":"))
    return document["platforms"][platform]["devices"][device]


def main():
    parser = argparse.ArgumentParser()
    for name in ("probe", "run", "fake", "layer", "kernels", "captures"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--part", required=True, choices=("device", "host"))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.real = os.environ.get("OCL_ICD_VENDORS") or "/etc/OpenCL/vendors"
    with tempfile.TemporaryDirectory() as folder:
        return Suite(options, folder).run_all()


if __name__ == "__main__":
    sys.exit(main())
