"""This machine: the screen, the facts, and what the library would do."""
from suite import as_raw, chosen_device, expect, on_device


class MachineCases:
    @on_device
    def test_screen(self):
        for words in ([], ["--list"], ["--all"], ["--explain"]):
            self.narrow(*words)

    @on_device
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

    @on_device
    def test_library_chooses_the_same(self):
        document = self.json()
        out = self.text("attention", "--explain", "--shape", "1,12,12,512,512,64,64", tool=self.options.run)
        expect(document["choice"]["device"] == out.split()[1], out)
        expect("variant    %s\n" % document["choice"]["operations"][0]["variant"] in out, out)

    @on_device
    def test_explain(self):
        document = self.json("--explain", "--shape", "1,32,8,1,4096,128,128")
        expect(document["explain"]["shape"] == [1, 32, 8, 1, 4096, 128, 128], "shape")
        expect(any("workspace" in line for line in document["explain"]["plan"]), "plan")
        expect("workspace" in self.text("--explain"), "text")
        self.text("--explain", "--variant", "nonsense", code=2)
