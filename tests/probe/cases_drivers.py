"""Drivers that are not there, that break down, and that are registered twice."""
import os
import shutil
import signal
import subprocess
import time

from suite import SHORT_TIME, chosen_device, expect


class DriverCases:
    # ---- drivers that are not there ------------------------------------------------------------------------------

    def test_no_platform(self):
        document = self.json(code=3, OCL_ICD_VENDORS=self.empty)
        expect(document["platforms"] == [] and document["choice"]["device"] is None, "something is there")
        expect("install" in document["loader"]["hint"], document["loader"])
        for words in ([], ["--list"], ["--all"]):
            out = self.narrow(*words, code=3, OCL_ICD_VENDORS=self.empty)
            expect("0 platforms" in out and "install" in out, out)
        self.text("--raw", code=3, OCL_ICD_VENDORS=self.empty)
        self.text("--selftest", code=3, OCL_ICD_VENDORS=self.empty)
        self.text("--bench", code=3, OCL_ICD_VENDORS=self.empty)
        self.text("--json", code=3, OCL_ICD_VENDORS=os.path.join(self.folder, "no such folder"))

    def test_unreadable_icd(self):
        vendors = self.make_vendors("unreadable", [("b.icd", "/no/such/library.so"), ("c.icd", "")])
        os.makedirs(os.path.join(vendors, "a.icd"), exist_ok=True)
        document = self.json(code=3, OCL_ICD_VENDORS=vendors)
        problems = [vendor["problem"] for vendor in document["loader"]["vendors"]]
        expect(len(problems) == 3 and all(problems), problems)
        expect("cannot be read" in self.narrow(code=3, OCL_ICD_VENDORS=vendors), "text")

    def test_icd_that_is_no_text(self):
        """Blanks, a long line, bytes that are no text, no library at all."""
        vendors = self.make_vendors("odd", [("a b.icd", "  " + self.options.fake + "  "), ("long.icd", "x" * 5000)])
        with open(os.path.join(vendors, "bytes.icd"), "wb") as icd:
            icd.write(bytes(range(256)) * 10)
        document = self.json(code=None, OCL_ICD_VENDORS=vendors, OCLATTN_DEVICE="")
        expect(len(document["loader"]["vendors"]) == 3, document["loader"])
        self.narrow(code=None, OCL_ICD_VENDORS=vendors, OCLATTN_DEVICE="")

    def test_driver_that_offers_nothing(self):
        """A library that is none, lacks another, is no driver, and one without platforms: each with its reason."""
        text = os.path.join(self.folder, "libtext.so")
        with open(text, "w") as file:
            file.write("no library\n")
        libraries = (text, self.options.layer, "libnone.so.1", self.options.fake, self.options.fake)
        vendors = self.make_vendors("silent", [("%d.icd" % i, library) for i, library in enumerate(libraries)])
        document = self.json(OCL_ICD_VENDORS=vendors, OCLATTN_DEVICE="")
        problems = [vendor["problem"] for vendor in document["loader"]["vendors"]]
        for problem, words in zip(problems, ("cannot be loaded", "no OpenCL driver", "libnone.so.1")):
            expect(words in problem, problems)
        expect(problems[3:] == [None, None], problems)
        document = self.json(code=3, **self.alone(FAKE_PLATFORMS="0"))
        expect("offers no platform" in document["loader"]["vendors"][0]["problem"], document["loader"])
        expect("offers no platform" in self.narrow(code=3, **self.alone(FAKE_PLATFORMS="0")), "text")

    def test_library_instead_of_a_folder(self):
        document = self.json(OCL_ICD_VENDORS=self.options.fake, OCLATTN_DEVICE="")
        expect([vendor["path"] for vendor in document["loader"]["vendors"]] == [self.options.fake], document["loader"])
        document = self.json("--timeout", 5, code=4, OCL_ICD_VENDORS=self.options.fake, OCLATTN_DEVICE="",
                             FAKE_CONSTRUCTOR="crash")
        expect(document["loader"]["vendors"][0]["culprit"] is True, document["loader"])

    def test_one_icd(self):
        """OCL_ICD_VENDORS may name a file, as Debian's loader takes it."""
        vendors = self.make_vendors("one", [("one.icd", self.options.fake), ("other.icd", "/no/such/library.so")])
        document = self.json(OCL_ICD_VENDORS=os.path.join(vendors, "one.icd"), OCLATTN_DEVICE="")
        expect([vendor["file"] for vendor in document["loader"]["vendors"]] == ["one.icd"], document["loader"])

    # ---- drivers that break down ---------------------------------------------------------------------------------

    def check_broken(self, document, trouble, others):
        """One driver broke down; `others` answer all the same, and one of them is chosen."""
        broken = [p for p in document["platforms"] if p["problem"]]
        expect(len(broken) == 1 and trouble in broken[0]["problem"], "%s: %s" % (trouble, broken))
        expect(len(document["platforms"]) == others + 1, "%s: the others are not shown" % trouble)
        expect(document["choice"]["device"] and chosen_device(document), "no device")
        return broken[0]

    def one_breaks(self, trouble, **env):
        """The fake driver beside the real ones."""
        document = self.json(OCL_ICD_VENDORS=self.beside_fake(), OCLATTN_DEVICE="", **env)
        broken = self.check_broken(document, trouble, len(self.real["platforms"]))
        expect("Fake" not in chosen_device(document)["facts"]["name"], "the fake one is chosen")
        return document, broken

    def test_hanging(self):
        """Beside another fake driver, which has time enough in what little the hanging one is given."""
        copy = os.path.join(self.folder, "libother.so")
        shutil.copy(self.options.fake, copy)
        vendors = self.make_vendors("hanging", [("00_fake.icd", self.options.fake), ("01_other.icd", copy)])
        for variable in ("FAKE_CONSTRUCTOR", "FAKE_LOAD", "FAKE_PLATFORM", "FAKE_DEVICES", "FAKE_QUERY"):
            env = {variable: "hang", "FAKE_ONLY": "libfake_driver"}
            document = self.json("--timeout", SHORT_TIME, OCL_ICD_VENDORS=vendors, OCLATTN_DEVICE="", **env)
            self.check_broken(document, "", 1)
            said = [v["problem"] for v in document["loader"]["vendors"]]
            expect("no answer within %d s" % SHORT_TIME in said[0] and said[1] is None, "%s: %s" % (env, said))
            expect("00_fake.icd away" in document["loader"]["hint"], document["loader"])

    def test_platform_that_breaks_down(self):
        if not self.real_vendors():
            return "there is no driver besides"
        for variable, what, trouble in (("FAKE_QUERY", "crash", "crashed (SIGABRT)"),
                                        ("FAKE_LATE", "segv", "crashed (SIGSEGV)"),
                                        ("FAKE_QUERY", "exit0", "exit code 0")):
            document, broken = self.one_breaks(trouble, **{variable: what})
            expect(broken["vendor_file"] == "00_fake.icd" and broken["broken"] is True, broken)
            expect(broken["facts"]["name"] == "Fake platform", "what it said before is lost: %s" % broken)
            guilty = [v["file"] for v in document["loader"]["vendors"] if v["problem"]]
            expect(guilty == ["00_fake.icd"], guilty)
            expect("00_fake.icd away" in document["loader"]["hint"], document["loader"])
        document, broken = self.one_breaks("CL_OUT_OF_HOST_MEMORY", FAKE_DEVICES="error")
        expect(broken["broken"] is False and document["loader"]["hint"] is None, document["loader"])
        out = self.narrow(OCL_ICD_VENDORS=self.beside_fake(), OCLATTN_DEVICE="", FAKE_QUERY="crash")
        expect("crashed (SIGABRT)" in out and "00_fake.icd" in out, out)
        return None

    def test_loader_that_breaks_down(self):
        """Debian's loader asks drivers for their devices itself, so that one brings down every program that lists them;
        it is left out, nothing stays in the folder for temporary files, and the others can be worked with."""
        if not self.real_vendors():
            return "there is no driver besides"
        temporary = os.path.join(self.folder, "temporary")
        os.makedirs(temporary, exist_ok=True)
        for variable, what, trouble in (("FAKE_CONSTRUCTOR", "segv", "crashed (SIGSEGV)"),
                                        ("FAKE_LOAD", "crash", "crashed (SIGABRT)"),
                                        ("FAKE_PLATFORM", "exit", "exit code 7"),
                                        ("FAKE_PLATFORM", "exit0", "exit code 0"),
                                        ("FAKE_DEVICES", "crash", "crashed (SIGABRT)")):
            env = {variable: what}
            document = self.one_breaks("the driver ", TMPDIR=temporary, **env)[0]
            expect(trouble in document["loader"]["problem"], document["loader"])
            guilty = [v["file"] for v in document["loader"]["vendors"] if v["problem"]]
            expect(guilty == ["00_fake.icd"] == document["loader"]["left_out"], guilty)
            expect("00_fake.icd away" in document["loader"]["hint"], document["loader"])
            expect(os.listdir(temporary) == [], "%s: left behind: %s" % (env, os.listdir(temporary)))
        out = self.text("--selftest", "--variant", "split", OCL_ICD_VENDORS=self.beside_fake(), OCLATTN_DEVICE="",
                        FAKE_LOAD="crash", TMPDIR=temporary)
        expect(" passed, 0 failed" in out, out)
        expect(os.listdir(temporary) == [], "left behind: %s" % os.listdir(temporary))
        return None

    def test_nothing_stays_behind_when_killed(self):
        temporary = os.path.join(self.folder, "killed")
        os.makedirs(temporary, exist_ok=True)
        env = dict(os.environ, OCL_ICD_VENDORS=self.beside_fake(), OCLATTN_DEVICE="", TMPDIR=temporary,
                   FAKE_CONSTRUCTOR="crash", OCLATTN_CACHE_DIR=self.cache)
        if not self.real_vendors():
            return "there is no driver besides"
        for number in (signal.SIGINT, signal.SIGKILL):
            process = subprocess.Popen([self.options.probe, "--selftest"], env=env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not os.listdir(temporary) and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(number)
            expect(process.wait() == -number, "it ended before: %s" % process.returncode)
            for _ in range(3000):
                if os.listdir(temporary):  # the remover is at it
                    time.sleep(0.01)
            expect(os.listdir(temporary) == [], "left behind: %s" % os.listdir(temporary))
        return None

    def test_no_folder_for_temporary_files(self):
        if not self.real_vendors():
            return "there is no driver besides"
        document = self.json(code=4, OCL_ICD_VENDORS=self.beside_fake(), OCLATTN_DEVICE="", FAKE_LOAD="crash",
                             TMPDIR="/no/such/folder")
        expect(len(document["platforms"]) == len(self.real["platforms"]) + 1, "the others are not shown")
        expect(document["choice"]["device"] is None and document["loader"]["hint"], document["choice"])
        return None

    def test_driver_failure_alone(self):
        for env in ({"FAKE_DEVICES": "crash"}, {"FAKE_LATE": "stop"}, {"FAKE_LOAD": "segv"}, {"FAKE_QUERY": "exit"}):
            document = self.json("--timeout", "1", code=4, **self.alone(**env))
            expect(document["choice"]["device"] is None, document["choice"])
            self.narrow("--timeout", "1", code=4, **self.alone(**env))

    def test_driver_that_prints(self):
        document = self.json(OCL_ICD_VENDORS=self.beside_fake(), FAKE_LOAD="print", FAKE_QUERY="print")
        expect("prints" in document["platforms"][0]["driver_output"], document["platforms"][0])

    def test_driver_that_prints_for_ever(self):
        document = self.json("--timeout", "1", code=4, **self.alone(FAKE_QUERY="flood"))
        platform = document["platforms"][0]
        expect("no answer" in platform["problem"] and "prints" in platform["driver_output"], platform)

    def test_platform_without_devices(self):
        if not self.real_vendors():
            return "there is no driver besides"
        document = self.json(OCL_ICD_VENDORS=self.beside_fake(), FAKE_DEVICES="none", OCLATTN_DEVICE="")
        fake = [p for p in document["platforms"] if p["facts"]["name"] == "Fake platform"]
        expect(len(fake) == 1 and fake[0]["devices"] == [] and fake[0]["problem"] is None, fake)
        expect(document["choice"]["device"], "no device")
        expect("no devices" in self.text("--list", OCL_ICD_VENDORS=self.beside_fake(), FAKE_DEVICES="none"), "text")
        return None

    # ---- registered twice ----------------------------------------------------------------------------------------

    def test_registered_twice(self):
        copy = os.path.join(self.folder, "libcopy.so")
        shutil.copy(self.options.fake, copy)
        vendors = self.make_vendors("twice", [("a.icd", self.options.fake), ("b.icd", copy)])
        document = self.json(OCL_ICD_VENDORS=vendors, OCLATTN_DEVICE="")
        aliases = [p["devices"][0]["alias_of"] for p in document["platforms"]]
        expect(aliases == [None, "0:0"], aliases)
        expect(document["choice"]["device"] == "0:0", document["choice"])
        expect("the same device as 0:0" in self.narrow(OCL_ICD_VENDORS=vendors), "text")

    def test_listed_twice(self):
        if not self.real_vendors():
            return "there is no driver"
        document = self.json(OPENCL_LAYERS=self.options.layer, OCLATTN_LAYER_TWICE="1", OCLATTN_DEVICE="")
        aliases = [d["alias_of"] for p in document["platforms"] for d in p["devices"]]
        half = len(aliases) // 2
        expect(aliases[:half] == [None] * half and all(aliases[half:]), aliases)
        return None

    def test_two_equal_devices(self):
        document = self.json(**self.alone(FAKE_COUNT="2"))
        aliases = [d["alias_of"] for d in document["platforms"][0]["devices"]]
        expect(aliases == [None, None], aliases)
