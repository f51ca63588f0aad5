"""This machine: the screen, the facts, and what the library would do."""
import shutil

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
