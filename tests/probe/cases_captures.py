"""Captures: saving, loading, and the devices that are known from public sources."""
import json
import os

from suite import chosen_device, expect, on_device

PORTABLE = ("attention_portable", "attention_portable", "projection_portable")
BLAST = ("attention_portable", "attention_portable", "projection_clblast")
TILED = ("attention_tiled_cpu", "attention_few_rows_cpu", "projection_tiled_cpu")
# The device that is taken of each capture, and what runs there: attention of many rows, of one row, and a projection.
CHOSEN = {
    "amd_radeon_rx_5500_xt_clover.json": (None, ()),
    "amd_radeon_rx_7900_xtx.json": ("1:0", BLAST),
    "arm_mali_g52.json": ("0:0", PORTABLE),
    "arm_mali_g610.json": ("0:0", BLAST),
    "intel_hd_graphics_opencl_1_2.json": ("0:0", BLAST),
    "intel_iris_xe.json": ("0:0", BLAST),
    "intel_uhd_and_fpga_emulator.json": ("2:0", BLAST),
    "laptop_nvidia_rtx_3050.json": ("1:0", BLAST),
    "qualcomm_adreno_650.json": ("0:0", BLAST),
    "qualcomm_adreno_750.json": ("0:0", PORTABLE),
}


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
                                     ("laptop_nvidia_rtx_3050.json", "gfx90c", BLAST),
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
