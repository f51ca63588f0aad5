"""Drivers that lie."""
import os
import random

from suite import as_raw, expect

TEXT_LIES = ("empty_texts", "unterminated", "not_utf8", "controls", "wide", "long", "huge_text", "blank", "percent")
OTHER_LIES = ("zero_clock", "huge_clock", "zeros", "huge_numbers", "short_numbers", "claims_much", "announces_more",
              "announces_less", "grows", "fail_all", "old_device", "counts_more")
VERSIONS = ("OpenCL 99.7", "OpenCL", "", "OpenCL 3", "3.0", "OpenCL 1.1 x", "OpenCL 1.2", "OpenCL 4294967297.0")
EXTENSIONS = ("", " ", "cl_khr_fp16cl_khr_fp64", "  cl_khr_fp16   cl_khr_fp64  ", "cl_khr_fp64x cl_x_matrix",
              "x" * 3000 + "matrix")
MISBEHAVIOUR = ("FAKE_QUERY", "FAKE_LATE", "FAKE_DEVICES", "FAKE_PLATFORM", "FAKE_LOAD", "FAKE_CONSTRUCTOR")


class LieCases:
    def whole(self, words, env, codes):
        """A document that holds together, whatever the driver says."""
        result = self.run("--json", *words, **env)
        expect(result.returncode in codes, "%s: exit code %d: %s" % (env, result.returncode, result.stderr[-300:]))
        document = self.json(*words, code=result.returncode, **env)
        for platform in document["platforms"]:
            for record in [platform] + platform["devices"]:
                for key, value in record["facts"].items():
                    expect((value is None) == (key in record["unknown"]), "%s: %s without a reason" % (env, key))
                    expect(value is not None or record["unknown"][key], "%s: no reason for %s" % (env, key))
        return document, result.returncode

    def lie(self, lies, code=0, **env):
        environment = self.alone(FAKE_LIES=lies, **env)
        document, _ = self.whole([], environment, [code])
        for words in ([], ["--all"], ["--list"]):
            self.narrow(*words, code=code, **environment)
        return document["platforms"][0]["devices"]

    def unknown(self, lies, keys, code=0):
        device = self.lie(lies, code)[0]
        for key in keys:
            expect(device["facts"][key] is None, "%s: %s is %r" % (lies, key, device["facts"][key]))
        return device

    def test_honest(self):
        facts = self.lie("")[0]["facts"]
        expect(facts["clock_mhz"] == 1500 and facts["has_fp16"] is True and facts["name"] == "Fake GPU", facts)

    def test_numbers_that_cannot_be(self):
        self.unknown("zero_clock", ["clock_mhz"])
        self.unknown("huge_clock", ["clock_mhz"])
        self.unknown("zeros", ["compute_units", "global_memory_bytes", "max_work_group_size", "max_work_item_sizes",
                               "profiling_timer_ns"])
        self.unknown("huge_numbers", ["global_memory_bytes", "compute_units", "local_memory_bytes",
                                      "max_work_item_sizes"])
        self.unknown("short_numbers", ["compute_units", "global_memory_bytes", "max_work_item_sizes"])

    def test_sizes_that_lie(self):
        device = self.unknown("claims_much", ["name", "extensions", "has_fp16"], code=3)
        expect("2^40" in device["unknown"]["name"] or str(2 ** 40) in device["unknown"]["name"], device["unknown"])
        device = self.unknown("announces_more", ["compute_units", "type"], code=3)
        expect(device["facts"]["name"] == "Fake GPU" and "28 bytes instead of 4" in device["unknown"]["compute_units"],
               device["unknown"]["compute_units"])
        device = self.unknown("announces_less", ["name", "compute_units", "extensions"], code=3)
        expect("writes more than the 4 bytes" in device["unknown"]["name"], device["unknown"]["name"])
        device = self.unknown("grows", ["name", "compute_units"], code=3)
        expect("CL_INVALID_VALUE (-30)" in device["unknown"]["name"], device["unknown"]["name"])

    def test_texts(self):
        self.unknown("empty_texts", ["name", "vendor", "driver_version"])
        self.unknown("blank", ["name", "vendor", "driver_version"])
        device = self.unknown("huge_text", ["name", "extensions", "has_fp16"])
        expect("1048" in device["unknown"]["name"], device["unknown"]["name"])
        expect(self.lie("unterminated")[0]["facts"]["name"] == "Fake GPU", "unterminated")
        for lie in ("not_utf8", "controls", "wide", "long", "percent"):
            name = self.lie(lie)[0]["facts"]["name"]
            expect(name and name.isprintable(), "%s: %r" % (lie, name))
            expect(self.text("--prop", "name", **self.alone(FAKE_LIES=lie)) == name + "\n", lie)
        expect("\N{RIGHT-TO-LEFT OVERRIDE}" not in self.lie("controls")[0]["facts"]["name"], "turned")
        expect(len(self.lie("long")[0]["facts"]["name"]) > 600, "long")

    def test_every_query_fails(self):
        self.unknown("fail_all", ["compute_units", "type", "extensions"], code=3)

    def test_versions(self):
        for version in VERSIONS:
            old = version.startswith("OpenCL 1.1")
            device = self.lie("", code=3 if old else 0, FAKE_VERSION=version)[0]
            expect(device["facts"]["device_version"] == (version or None), device["facts"]["device_version"])
            expect((device["unusable_because"] == "older than OpenCL 1.2") == old, device["unusable_because"])

    def test_extensions(self):
        for extensions in EXTENSIONS:
            words = extensions.split()
            facts = self.lie("", FAKE_EXTENSIONS=extensions)[0]["facts"]
            expect(facts["has_fp16"] == ("cl_khr_fp16" in words), facts)
            expect(facts["has_fp64"] == ("cl_khr_fp64" in words), facts)
            expect(facts["matrix_extensions"] == [w for w in words if "matrix" in w and len(w) < 128], facts)

    def test_platform_newer_than_its_device(self):
        device = self.lie("old_device")[0]
        expect(device["facts"]["max_sub_groups"] is None and "-30" in device["unknown"]["max_sub_groups"], "sub-groups")
        expect(device["facts"]["has_subgroups"] is False and device["unusable_because"] is None, "unusable")

    def test_counts_that_lie(self):
        document = self.json(**self.alone(FAKE_LIES="counts_more", FAKE_COUNT="2"))
        expect(len(document["platforms"][0]["devices"]) == 2, "devices")
        expect("counts 4294967295" in document["platforms"][0]["problem"], document["platforms"][0]["problem"])
        document = self.json(**self.alone(FAKE_COUNT="300"))
        expect(len(document["platforms"][0]["devices"]) == 64, "devices")
        expect("counts 300" in document["platforms"][0]["problem"], document["platforms"][0]["problem"])
        document = self.json(**self.alone(FAKE_PLATFORMS="10000"))
        expect(len(document["platforms"]) == 64, "platforms")
        expect("counts 10000" in document["loader"]["problem"], document["loader"])
        expect([p["devices"][0]["alias_of"] for p in document["platforms"]] == [None] + 63 * ["0:0"], "aliases")

    # ---- any of them together ------------------------------------------------------------------------------------

    def test_lies_by_seed(self):
        """Query by query another lie. What one output says, the others say, and a capture of it answers the same."""
        path = os.path.join(self.folder, "lies.json")
        for seed in range(40):
            env = self.alone(FAKE_SEED=str(seed), FAKE_COUNT=str(1 + seed % 3))
            document, code = self.whole(["--save", path], env, (0, 3, 4))
            self.narrow("--all", code=code, **env)
            self.narrow(code=code, **env)
            raw = dict((line.split(" ", 1) + [""])[:2] for line in self.text("--raw", code=code, **env).splitlines())
            for d, device in enumerate(document["platforms"][0]["devices"]):
                for key, value in device["facts"].items():
                    expect(raw["0:%d.%s" % (d, key)] == as_raw(value), "seed %d: %s" % (seed, key))
            again = self.json("--load", path, code=code, OCL_ICD_VENDORS=self.empty, OCLATTN_DEVICE="")
            expect(again["platforms"] == document["platforms"], "seed %d: the capture differs" % seed)
            expect(again["choice"] == document["choice"] or code == 0, "seed %d: %s" % (seed, again["choice"]))

    def test_lies_together(self):
        draw = random.Random(20)
        for round_number in range(40):
            lies = draw.sample(TEXT_LIES + OTHER_LIES, draw.randint(1, 5))
            env = self.alone(FAKE_LIES=",".join(lies), FAKE_COUNT=str(draw.randint(0, 3)),
                             FAKE_VERSION=draw.choice(VERSIONS), FAKE_EXTENSIONS=draw.choice(EXTENSIONS),
                             FAKE_TYPE=str(draw.choice((0, 1, 2, 4, 8, 16, 6, 2 ** 40))))
            if round_number % 3 == 0:
                env[draw.choice(MISBEHAVIOUR)] = draw.choice(("crash", "segv", "exit", "exit0", "print"))
            _, code = self.whole([], env, (0, 3, 4))
            self.narrow("--all", code=code, **env)

    def test_library_survives_lies(self):
        """The same in the library, in whose process drivers run."""
        for seed in range(40):
            result = self.run(tool=self.options.list_devices, **self.alone(FAKE_SEED=str(seed), FAKE_COUNT="3"))
            expect(result.returncode == 0, "seed %d: %s" % (seed, result))
        result = self.run(tool=self.options.list_devices, **self.alone(FAKE_LIES="counts_more", FAKE_COUNT="2"))
        expect(result.returncode == 0 and len(result.stdout.splitlines()) == 2, result)
