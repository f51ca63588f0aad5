#!/usr/bin/env python3
"""Tests of tools/vendor-compile without the vendors' compilers: what it reads, what it computes, and the whole of it with
programs in their place that print what they would.

    run_tests.py --tool tools/vendor-compile --recorder PATH/vendor_kernels
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

import canned

OPTIONS = None


def load():
    sys.path.insert(0, OPTIONS.tool)
    global architectures, gate, jobs, parsers, report
    import architectures
    import gate
    import jobs
    import parsers
    import report


def make_job(name, kernel="attention_tiled_gpu", group=256):
    return jobs.Job(architecture=architectures.BY_NAME[name], kernel=kernel, source="", options=(), group=group,
                    local_arguments=0, types=("f16",), head_dims=(64,), switches=("plain",), by_default=True)


class Parsing(unittest.TestCase):
    def test_ptxas(self):
        used = parsers.parse_ptxas(canned.PTXAS % {"stack": 16, "spill": 8, "local": 26624})
        self.assertEqual((used.registers, used.spills, used.private_bytes, used.local_bytes), (96, 16, 16, 26624))
        used = parsers.parse_ptxas(canned.PTXAS_OLD)
        self.assertEqual((used.registers, used.spills, used.private_bytes, used.local_bytes), (255, 0, 0, 26624))
        used = parsers.parse_ptxas(canned.PTXAS_NO_LOCAL)
        self.assertEqual((used.registers, used.private_bytes, used.local_bytes), (34, 176, 0))

    def test_amdgcn(self):
        copies = "\tv_accvgpr_write_b32 a3, v1\n\tv_accvgpr_read_b32 v65, a31\n\tv_accvgpr_mov_b32 a1, a2\n"
        unused = canned.AMDGCN % {"copies": "", "local": 0, "stack": 68, "spill": 0, "wave": 32}
        self.assertEqual(parsers.parse_amdgcn(unused).private_bytes, 0)
        copies += "\tscratch_store_b32 off, v1, s32\n"
        used = parsers.parse_amdgcn(canned.AMDGCN % {"copies": copies, "local": 512, "stack": 24, "spill": 3, "wave": 64})
        self.assertEqual(used, parsers.Used(registers=118, spills=3, private_bytes=24, local_bytes=512, sub_group=64,
                                            scalar_registers=50, accumulator_copies=3))

    def test_ocloc(self):
        info = canned.ZE_INFO % {"local": 8192, "buffers": canned.ZE_BUFFERS_OF_ITEM}
        used = parsers.parse_ocloc(canned.OCLOC_SPILLED, info)
        self.assertEqual((used.registers, used.spills, used.private_bytes, used.local_bytes, used.sub_group),
                         (128, 23, 256, 8192, 16))
        info = canned.ZE_INFO % {"local": 0, "buffers": canned.ZE_BUFFERS_OF_THREAD}
        self.assertEqual(parsers.parse_ocloc(canned.OCLOC_QUIET, info).private_bytes, 512)
        used = parsers.parse_ocloc(canned.OCLOC_QUIET, canned.ZE_INFO % {"local": 0, "buffers": ""})
        self.assertEqual((used.spills, used.private_bytes), (0, 0))

    def test_what_is_not_understood_is_said(self):
        for parse in (lambda: parsers.parse_ptxas("ptxas: a new kind of line"),
                      lambda: parsers.parse_amdgcn("s_endpgm"), lambda: parsers.parse_ocloc("Build succeeded.", "")):
            self.assertRaises(parsers.NotUnderstood, parse)

    def test_elf(self):
        file = canned.elf(".ze_info", b"simd_size: 16")
        self.assertEqual(parsers.elf_section(file, ".ze_info"), b"simd_size: 16")
        self.assertIsNone(parsers.elf_section(file, ".text"))
        self.assertIsNone(parsers.elf_section(b"CTNI, and more", ".ze_info"))


class Occupancy(unittest.TestCase):
    def groups(self, name, group, **used):
        wanted = dict({"registers": 32, "spills": 0, "private_bytes": 0, "local_bytes": 0, "sub_group": 32}, **used)
        return architectures.groups_per_unit(architectures.BY_NAME[name], group, parsers.Used(**wanted))

    def test_nvidia(self):
        # 16384 / (128 * 32) = 4 warps in each of 4 parts; a group of 256 has 8 warps.
        self.assertEqual(self.groups("sm_80", 256, registers=128), 2)
        self.assertEqual(self.groups("sm_80", 256, registers=129), 1)
        # 64 warps, 8 a group; 32 warps on sm_75
        self.assertEqual(self.groups("sm_80", 256), 8)
        self.assertEqual(self.groups("sm_75", 256), 4)
        # 164 KB, and 1 KB beside the 40 of each group
        self.assertEqual(self.groups("sm_80", 128, local_bytes=40 << 10), 4)
        self.assertEqual(self.groups("sm_86", 128, local_bytes=48 << 10), 2)

    def test_amd(self):
        # 1536 / 120 (of granules of 24) = 12 waves in each of 4 SIMDs; a group of 256 has 8.
        self.assertEqual(self.groups("gfx1100", 256, registers=118), 6)
        # 256 / 88 = 2 waves of 64, 4 a group
        self.assertEqual(self.groups("gfx906", 256, registers=85), 2)
        self.assertEqual(self.groups("gfx90a", 256, registers=256, scalar_registers=100), 2)
        # 800 / 112 = 7 waves
        self.assertEqual(self.groups("gfx942", 256, scalar_registers=100), 7)
        self.assertEqual(self.groups("gfx942", 256, local_bytes=30 << 10), 2)

    def test_intel(self):
        # 16 engines of 8 threads; a group of 256 has 16 of 16
        self.assertEqual(self.groups("dg2", 256, registers=128, sub_group=16), 8)
        self.assertEqual(self.groups("dg2", 256, registers=256, sub_group=16), 4)
        # 33 KB of local memory take 64
        self.assertEqual(self.groups("dg2", 64, registers=128, sub_group=16, local_bytes=33 << 10), 2)


class Gate(unittest.TestCase):
    def faults(self, name, kernel="attention_tiled_gpu", groups=2, **used):
        wanted = dict({"registers": 96, "spills": 0, "private_bytes": 0, "local_bytes": 0}, **used)
        return gate.faults(make_job(name, kernel), parsers.Used(**wanted), groups)

    def test_what_fails(self):
        self.assertEqual(self.faults("sm_80"), [])
        for name, used in (("sm_80", {"spills": 4}), ("sm_80", {"private_bytes": 16}), ("sm_80", {"groups": 1}),
                           ("sm_80", {"local_bytes": 49 << 10}), ("gfx942", {"local_bytes": 33 << 10}),
                           ("gfx90a", {"accumulator_copies": 1}), ("pvc", {"spills": 23})):
            self.assertEqual(len(self.faults(name, **used)), 1, used)
        self.assertEqual(self.faults("gfx1100", local_bytes=33 << 10), [])

    def test_portable_kernels_only_have_to_fit(self):
        self.assertEqual(self.faults("gfx90a", "attention_portable", spills=4, private_bytes=99, groups=1), [])
        self.assertEqual(len(self.faults("sm_80", "attention_portable", local_bytes=49 << 10)), 1)
        self.assertEqual(len(self.faults("sm_80", "attention_portable", groups=0)), 1)


class Recorder(unittest.TestCase):
    def record(self, *names, code=0):
        done = subprocess.run([OPTIONS.recorder, *names], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_kernels(self):
        names = list(architectures.BY_NAME)
        recorded = json.loads(self.record(*names).stdout)
        self.assertEqual(sorted(recorded["devices"]), sorted(names))
        for name, kernels in recorded["devices"].items():
            found = {kernel["kernel"] for kernel in kernels}
            self.assertLessEqual({"attention_portable", "attention_combine", "attention_scores", "projection_portable",
                                  "broadcast_bias", "pack_weights", "split", "merge", "merge_states"}, found, name)
            self.assertFalse([kernel for kernel in found if kernel.endswith("_cpu")])
            for kernel in kernels:
                self.assertIn("-cl-std=", kernel["options"])
                source = recorded["sources"][kernel["source"]]
                self.assertTrue(kernel["kernel"] + "(" in source and "#include" not in source, kernel["kernel"])
        with tempfile.TemporaryDirectory() as folder:
            made = jobs.make_jobs(recorded, folder)
        self.assertEqual(len({(job.key) for job in made}), len(made), "two lines of the report have the same name")

    def test_usage(self):
        self.assertIn("there is no architecture", self.record("sm_1", code=2).stderr)
        self.assertIn("Usage", self.record(code=2).stderr)
        self.assertIn("sm_75", self.record("--help").stdout)


# Each prints or copies what lies beside it. The file to write comes last, but for ocloc, which is told a folder.
FAKE_CLANG = """#!/bin/sh
[ "$1" = --version ] && { echo "Debian clang version %(version)s"; exit; }
for last; do :; done
cp "$0.s" "$last"
"""
FAKE_PTXAS = """#!/bin/sh
case $1 in
    --version) echo "Cuda compilation tools, release 13.0, V13.0.88" ;;
    --help) echo "Allowed values: 'sm_75','sm_80'" ;;
    *) cat "$0.txt" ;;
esac
"""
FAKE_OCLOC = """#!/bin/sh
[ "$1" = query ] && { printf 22.43 > OCL_DRIVER_VERSION; exit; }
while [ "$1" != -out_dir ]; do shift; done
cp "$0.bin" "$2/kernel"
cat "$0.txt"
"""


class Whole(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.addCleanup(self.temporary.cleanup)
        os.makedirs(os.path.join(self.folder, "bin"))
        os.makedirs(os.path.join(self.folder, "lib", "clc"))
        for name in ("nvptx64--nvidiacl.bc", "amdgcn--amdhsa.bc"):
            open(os.path.join(self.folder, "lib", "clc", name), "w", encoding="utf-8").close()

    def write(self, name, content):
        path = os.path.join(self.folder, "bin", name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, 0o755)

    def compilers(self, version="19.1.7", nvidia_spill=0, amd_spill=0, intel=canned.OCLOC_QUIET):
        self.write("clang-99", FAKE_CLANG % {"version": version})
        self.write("clang-99.s", canned.AMDGCN % {"copies": "", "local": 0, "stack": 0, "spill": amd_spill, "wave": 64})
        self.write("ptxas", FAKE_PTXAS)
        self.write("ptxas.txt", canned.PTXAS % {"stack": 0, "spill": nvidia_spill, "local": 0})
        self.write("ocloc", FAKE_OCLOC)
        self.write("ocloc.txt", intel)
        self.write("ocloc.bin", canned.elf(".ze_info", (canned.ZE_INFO % {"local": 0, "buffers": ""}).encode()))

    def run_tool(self, *arguments, code=0):
        command = [sys.executable, "-B", os.path.join(OPTIONS.tool, "vendor_compile.py"), "--recorder", OPTIONS.recorder]
        for name in ("clang-99", "ptxas", "ocloc"):
            command += ["--" + name.split("-")[0], os.path.join(self.folder, "bin", name)]
        if "--report" not in arguments:
            command += ["--report", os.path.join(self.folder, "report")]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def write_report(self, lines=(), version="19.1.7"):
        report.write(os.path.join(self.folder, "report"),
                     {"NVIDIA": "clang %s, ptxas 13.0.88" % version, "AMD": "clang " + version, "Intel": "ocloc 22.43"},
                     lines)

    some = ("--arch", "sm_80", "--arch", "gfx906", "--arch", "dg2", "--kernel", "merge", "--verbose", "--all")

    def lines(self):
        return [line for line in self.run_tool(*self.some).splitlines() if " merge " in line and line[0] != "+"]

    def test_a_report_that_holds(self):
        self.compilers()
        self.write_report()
        lines = self.lines()
        self.assertEqual(len(lines), 3)
        self.write_report(lines)
        self.assertNotIn("out of date", self.run_tool(*self.some))

    def test_a_report_that_is_out_of_date(self):
        self.compilers()
        self.write_report()
        lines = self.lines()
        self.write_report([lines[0].replace(" 96 ", " 95 "), *lines[1:]])
        out = self.run_tool(*self.some)
        self.assertIn("SKIP comparing with the report: it is out of date in 2 lines", out)
        self.assertIn("- " + lines[0].replace(" 96 ", " 95 "), out)
        self.assertIn("+ " + lines[0], out)
        self.assertNotIn("+ " + lines[1], out)

    def test_lines_that_are_no_more(self):
        kept = ["sm_80 old f32 64 1 1 0 0 0 0 32 2 plain", "sm_90 old f32 64 1 1 0 0 0 0 32 2 plain"]
        self.assertEqual(report.differences(kept, [], {"sm_80"}), ["- " + kept[0]])
        self.assertEqual(report.differences(kept, [], None), [])

    def test_planted_spills_fail(self):
        for planted, name in (({"nvidia_spill": 4}, "sm_80"), ({"amd_spill": 4}, "gfx906"),
                              ({"intel": canned.OCLOC_SPILLED}, "dg2")):
            self.compilers()
            self.write_report()
            self.write_report(self.lines())
            self.compilers(**planted)
            out = self.run_tool(*self.some, code=1)
            self.assertRegex(out, "FAIL %s merge .*: spills: [1-9]" % name)
            self.assertEqual(out.count("FAIL"), 1, out)

    def test_other_versions_are_not_compared(self):
        self.compilers(version="20.1")
        self.write_report()
        out = self.run_tool(*self.some)
        self.assertIn("SKIP the report's lines for AMD: they are of clang 19.1.7, and here is clang 20.1", out)
        self.assertNotIn("+ gfx906", out)
        self.assertIn("+ dg2", out)

    def test_what_is_missing_is_skipped(self):
        self.compilers()
        self.write_report()
        os.remove(os.path.join(self.folder, "bin", "ocloc"))
        out = self.run_tool("--arch", "dg2", "--arch", "sm_120")
        self.assertIn("SKIP Intel (dg2): no ocloc", out)
        self.assertIn("SKIP NVIDIA sm_120: this ptxas does not know it", out)

    def test_a_kernel_that_does_not_compile(self):
        self.compilers()
        self.write_report()
        self.write("ptxas", "#!/bin/sh\ncase $1 in --version|--help) exit 0 ;; esac\necho 'syntax error'; exit 1\n")
        out = self.run_tool("--arch", "sm_80", "--kernel", "merge", code=1)
        self.assertIn("does not compile", out)
        self.assertIn("syntax error", out)

    def test_usage(self):
        self.compilers()
        self.run_tool("--arch", "sm_1", code=2)
        self.run_tool("--update", "--arch", "sm_80", code=2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--recorder", required=True)
    OPTIONS, rest = parser.parse_known_args()
    load()
    unittest.main(argv=[sys.argv[0], *rest])
