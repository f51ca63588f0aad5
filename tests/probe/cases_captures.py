"""Captures: saving, loading, and the devices that are known from public sources."""
import json
import os
import random

from suite import chosen_device, expect, on_device

PORTABLE = ("attention_portable", "attention_portable", "projection_portable")
GPU = ("attention_tiled_gpu", "attention_tiled_gpu", "projection_clblast")
TILED = ("attention_tiled_cpu", "attention_few_rows_cpu", "projection_tiled_cpu")
# The device that is taken of each capture, and what runs there: attention of many rows, of one row, and a projection.
CHOSEN = {
    "amd_radeon_rx_5500_xt_clover.json": (None, ()),
    "amd_radeon_rx_7900_xtx.json": ("1:0", GPU),
    "arm_mali_g52.json": ("0:0", PORTABLE),
    "arm_mali_g610.json": ("0:0", GPU),
    "intel_hd_graphics_opencl_1_2.json": ("0:0", GPU),
    "intel_iris_xe.json": ("0:0", GPU),
    "intel_uhd_and_fpga_emulator.json": ("2:0", GPU),
    "laptop_nvidia_rtx_3050.json": ("1:0", GPU),
    "qualcomm_adreno_650.json": ("0:0", GPU),
    "qualcomm_adreno_750.json": ("0:0", PORTABLE),
}


def in_platforms(text):
    return '{"schema_version": 1, "platforms": [%s]}' % text


def in_facts(text):
    return in_platforms('{"facts": {}, "devices": [{"facts": {%s}}]}' % text)


class CaptureCases:
    @on_device
    def test_save_and_load(self):
        path = os.path.join(self.folder, "here.json")
        document = self.json("--save", path)
        loaded = self.json("--load", path, OCL_ICD_VENDORS=self.empty)
        expect(loaded["platforms"] == document["platforms"], "platforms differ")
        expect(loaded["choice"]["device"] == document["choice"]["device"], "choice differs")
        expect(loaded["choice"]["operations"] == document["choice"]["operations"], "operations differ")
        self.narrow("--load", path, "--all", OCL_ICD_VENDORS=self.empty)

    def load(self, name, *words, code=0):
        path = os.path.join(self.options.captures, name)
        return self.json("--load", path, *words, code=code, OCL_ICD_VENDORS=self.empty, OCLATTN_DEVICE="")

    def test_known_captures(self):
        found = sorted(os.listdir(self.options.captures))
        expect(found == sorted(CHOSEN), "captures: %s" % found)
        for name, (device, variants) in CHOSEN.items():
            document = self.load(name, code=0 if device else 3)
            operations = document["choice"]["operations"]
            expect(any("https://" in source for source in document["source"]), "%s has no source" % name)
            expect(document["choice"]["device"] == device, "%s: %s" % (name, document["choice"]))
            expect(tuple(o["variant"] for o in operations) == variants, "%s: %s" % (name, operations))
            for operation in operations:
                expect(operation["refusals"] or operation["variant"] == "projection_clblast", "%s: no refusals" % name)
            for words in ([], ["--all"], ["--explain"]):
                self.narrow("--load", os.path.join(self.options.captures, name), *words, code=0 if device else 3,
                            OCL_ICD_VENDORS=self.empty, OCLATTN_DEVICE="")

    def test_known_captures_by_device(self):
        """Devices that the choice passes over, asked for by name."""
        for name, spec, variants in (("laptop_nvidia_rtx_3050.json", "cpu", TILED),
                                     ("laptop_nvidia_rtx_3050.json", "gfx90c", GPU),
                                     ("arm_mali_g610.json", "cortex", TILED)):
            document = self.load(name, "--device", spec)
            expect(tuple(o["variant"] for o in document["choice"]["operations"]) == variants,
                   "%s, %s: %s" % (name, spec, document["choice"]))
        document = self.load("amd_radeon_rx_7900_xtx.json", "--device", "0:0", code=3)
        expect("older than OpenCL 1.2" in document["choice"]["why"], document["choice"])

    def test_choice_among_captures(self):
        """The card with memory of its own and most of it is taken, wherever it stands; phones share theirs."""
        names = sorted(CHOSEN)
        path = os.path.join(self.folder, "many.json")
        for turn in range(len(names)):
            machine = {"schema_version": 1, "platforms": []}
            for name in names[turn:] + names[:turn]:
                with open(os.path.join(self.options.captures, name)) as file:
                    machine["platforms"] += json.load(file)["platforms"]
            with open(path, "w") as file:
                json.dump(machine, file)
            document = self.json("--load", path, OCLATTN_DEVICE="")
            expect(chosen_device(document)["facts"]["name"] == "gfx1100", document["choice"])
            document = self.json("--load", path, "--device", "adreno")
            expect("Adreno" in chosen_device(document)["facts"]["name"], document["choice"])

    def test_captures_that_cannot_be(self):
        path = os.path.join(self.folder, "bad.json")
        for content in ("", "{", "[]", "{}", '{"schema_version": 2, "platforms": []}', '{"schema_version": "1"}',
                        '{"schema_version": 1}', *map(in_platforms, (
                            "1", '{"facts": {}}', '{"devices": []}', '{"facts": {}, "devices": [1]}',
                            '{"facts": [], "devices": []}', '{"facts": {"name": 1}, "devices": []}',
                            '{"facts": {}, "devices": [], "problem": 1}',
                            '{"facts": {}, "devices": [], "same_as": "x"}',
                            '{"facts": {}, "devices": []}], "loader": 1, "x": [1',
                            '{"facts": {}, "devices": []}], "loader": {"vendors": [1]}, "x": [1',
                            '{"facts": {}, "devices": []}], "source": "x", "x": [1')),
                        *map(in_facts, ('"name": 1', '"max_work_group_size": -1.5', '"max_work_group_size": -1',
                                        '"max_work_group_size": 0', '"clock_mhz": 4000000000', '"type": "banana"',
                                        '"max_work_item_sizes": [1, "x", 1]', '"max_work_item_sizes": [1, -1, 1]',
                                        '"queue_abilities": ["fly"]', '"available": 1', '"has_fp16": "yes"',
                                        '"extensions": ["x"]', '"compute_units": 1e999', '"name": "a\\u0000b"'))):
            with open(path, "w") as file:
                file.write(content)
            out = self.text("--load", path, code=2)
            expect(out == "" and path in self.stderr, "%s: %s" % (content, self.stderr))
        for path in (self.folder, "/dev/null", os.path.join(self.folder, "no such file")):
            expect(self.text("--load", path, code=2) == "", path)

    def test_capture_without_facts(self):
        path = os.path.join(self.folder, "few.json")
        for content in (in_facts(""), in_facts('"name": null, "max_work_item_sizes": []')):
            with open(path, "w") as file:
                file.write(content)
            document = self.json("--load", path, code=3, OCLATTN_DEVICE="")
            device = document["platforms"][0]["devices"][0]
            expect(device["unknown"]["name"] and device["facts"]["name"] is None, device)
            self.narrow("--load", path, "--all", code=3, OCLATTN_DEVICE="")

    def test_texts_of_captures_are_made_safe(self):
        """A capture may come from anywhere: nothing in it is obeyed by the terminal."""
        path = os.path.join(self.folder, "texts.json")
        bad = "\x1b[31mred\x07\n\x9b1m\N{RIGHT-TO-LEFT OVERRIDE}"
        with open(os.path.join(self.options.captures, "intel_iris_xe.json")) as file:
            document = json.load(file)
        platform = document["platforms"][0]
        document.update(source=[bad], loader={"problem": bad, "hint": bad, "vendors": [{"path": bad, "problem": bad}]})
        platform.update(problem=bad, driver_output=bad, vendor_file=bad)
        platform["facts"].update(name=bad, version=bad)
        platform["devices"][0]["facts"].update(name=bad, driver_version=bad, extensions=bad)
        platform["devices"][0]["unknown"].update(clock_mhz=bad)
        del platform["devices"][0]["facts"]["clock_mhz"]
        with open(path, "w") as file:
            json.dump(document, file)
        for words in ([], ["--all"], ["--list"], ["--raw"], ["--prop", "name"], ["--explain"], ["--device", "x"]):
            out = self.text("--load", path, *words, code=None, OCLATTN_DEVICE="")
            expect(all(line.isprintable() for line in out.split("\n")), "%s: %r" % (words, out))

    def test_damaged_captures(self):
        """Cut at every byte, and with bytes that flipped: refused, or a document that holds together."""
        path = os.path.join(self.folder, "damaged.json")
        with open(os.path.join(self.options.captures, "arm_mali_g52.json")) as file:
            whole = json.dumps(json.load(file), separators=(",", ":")).encode()
        for length in range(len(whole)):
            with open(path, "wb") as file:
                file.write(whole[:length])
            expect(self.text("--load", path, code=2) == "", "cut at %d" % length)
        draw = random.Random(21)
        for _ in range(150):
            damaged = bytearray(whole)
            for _ in range(draw.randint(1, 4)):
                damaged[draw.randrange(len(damaged))] = draw.choice(b"0123456789-\"{}[]:,ex\x00\x1b\xff")
            with open(path, "wb") as file:
                file.write(damaged)
            result = self.run("--load", path, "--json", OCLATTN_DEVICE="")
            expect(result.returncode in (0, 2, 3), "%d: %r" % (result.returncode, damaged))
            if result.returncode == 2:
                expect(result.stdout == b"" and result.stderr != b"", damaged)
            else:
                self.json("--load", path, code=result.returncode, OCLATTN_DEVICE="")
                self.narrow("--load", path, "--all", code=result.returncode, OCLATTN_DEVICE="")
