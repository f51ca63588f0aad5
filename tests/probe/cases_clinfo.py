"""Every fact that clinfo tells as well, on every device there is."""
import json
import shutil

from suite import expect

PLATFORM = {"name": "NAME", "vendor": "VENDOR", "version": "VERSION", "profile": "PROFILE", "extensions": "EXTENSIONS"}

# Our key: clinfo's, without CL_DEVICE_. Of several names, the one that it uses for the device.
DEVICE = {
    "name": "NAME", "vendor": "VENDOR", "vendor_id": "VENDOR_ID", "driver_version": "CL_DRIVER_VERSION",
    "device_version": "VERSION", "c_version": "OPENCL_C_VERSION", "type": "TYPE", "profile": "PROFILE",
    "available": "AVAILABLE", "compiler_available": "COMPILER_AVAILABLE", "linker_available": "LINKER_AVAILABLE",
    "compute_units": "MAX_COMPUTE_UNITS", "clock_mhz": "MAX_CLOCK_FREQUENCY", "address_bits": "ADDRESS_BITS",
    "little_endian": "ENDIAN_LITTLE", "global_memory_bytes": "GLOBAL_MEM_SIZE",
    "max_allocation_bytes": "MAX_MEM_ALLOC_SIZE", "global_cache_bytes": "GLOBAL_MEM_CACHE_SIZE",
    "global_cache_line_bytes": "GLOBAL_MEM_CACHELINE_SIZE", "host_unified_memory": "HOST_UNIFIED_MEMORY",
    "error_correction": "ERROR_CORRECTION_SUPPORT", "local_memory_bytes": "LOCAL_MEM_SIZE",
    "local_memory_is_dedicated": "LOCAL_MEM_TYPE", "constant_buffer_bytes": "MAX_CONSTANT_BUFFER_SIZE",
    "max_work_group_size": "MAX_WORK_GROUP_SIZE", "max_work_item_sizes": "MAX_WORK_ITEM_SIZES",
    "max_parameter_bytes": "MAX_PARAMETER_SIZE", "memory_base_align_bits": "MEM_BASE_ADDR_ALIGN",
    "preferred_float_width": "PREFERRED_VECTOR_WIDTH_FLOAT", "native_float_width": "NATIVE_VECTOR_WIDTH_FLOAT",
    "native_half_width": "NATIVE_VECTOR_WIDTH_HALF", "native_double_width": "NATIVE_VECTOR_WIDTH_DOUBLE",
    "single_float_abilities": "SINGLE_FP_CONFIG", "half_float_abilities": "HALF_FP_CONFIG",
    "double_float_abilities": "DOUBLE_FP_CONFIG", "queue_abilities": ("QUEUE_PROPERTIES", "QUEUE_ON_HOST_PROPERTIES"),
    "profiling_timer_ns": "PROFILING_TIMER_RESOLUTION", "printf_buffer_bytes": "PRINTF_BUFFER_SIZE",
    "max_sub_devices": "PARTITION_MAX_SUB_DEVICES", "max_sub_groups": "MAX_NUM_SUB_GROUPS",
    "sub_group_progress": "SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS", "svm_abilities": "SVM_CAPABILITIES",
    "il_version": ("IL_VERSION", "IL_VERSION_KHR"), "nv_capability_major": "COMPUTE_CAPABILITY_MAJOR_NV",
    "nv_capability_minor": "COMPUTE_CAPABILITY_MINOR_NV", "nv_registers_per_block": "REGISTERS_PER_BLOCK_NV",
    "nv_warp_size": "WARP_SIZE_NV", "amd_board_name": "BOARD_NAME_AMD",
    "amd_simd_per_compute_unit": "SIMD_PER_COMPUTE_UNIT_AMD", "amd_wavefront_width": "WAVEFRONT_WIDTH_AMD",
    "intel_sub_group_sizes": "SUB_GROUP_SIZES_INTEL", "extensions": "EXTENSIONS",
}
# What we derive from the extensions, which are compared.
DERIVED = {"has_fp16", "has_fp64", "has_subgroups", "matrix_extensions"}

WORDS = {
    "CL_DEVICE_TYPE_GPU": "gpu", "CL_DEVICE_TYPE_CPU": "cpu", "CL_DEVICE_TYPE_ACCELERATOR": "accelerator",
    "CL_DEVICE_TYPE_CUSTOM": "custom", "CL_FP_DENORM": "denormals", "CL_FP_INF_NAN": "inf_nan",
    "CL_FP_ROUND_TO_NEAREST": "round_to_nearest", "CL_FP_ROUND_TO_ZERO": "round_to_zero",
    "CL_FP_ROUND_TO_INF": "round_to_inf", "CL_FP_FMA": "fma", "CL_FP_SOFT_FLOAT": "soft_float",
    "CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT": "correctly_rounded_divide",
    "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE": "out_of_order", "CL_QUEUE_PROFILING_ENABLE": "profiling",
    "CL_DEVICE_SVM_COARSE_GRAIN_BUFFER": "coarse_buffer", "CL_DEVICE_SVM_FINE_GRAIN_BUFFER": "fine_buffer",
    "CL_DEVICE_SVM_FINE_GRAIN_SYSTEM": "fine_system", "CL_DEVICE_SVM_ATOMICS": "atomics",
}


def as_ours(key, said):
    """A value of clinfo's in our form."""
    if isinstance(said, dict):
        words = [WORDS[word] for value in said.values() if isinstance(value, list) for word in value]
        return words[0] if key == "type" else words
    if key == "local_memory_is_dedicated":
        return said == "CL_LOCAL"
    return said.strip() if isinstance(said, str) else said


class ClinfoCases:
    def same(self, record, key, said):
        """A fact that we do not believe is null, and the reason tells the number."""
        ours, theirs = record["facts"][key], as_ours(key, said)
        if ours is None:
            expect(str(theirs) in record["unknown"][key] or theirs == "", "%s: clinfo has %r, our reason is %r" %
                   (key, theirs, record["unknown"][key]))
        else:
            expect(ours == theirs, "%s: clinfo has %r, we have %r" % (key, theirs, ours))

    def compare(self, record, table, prefix, said):
        compared = set()
        for key, names in table.items():
            for name in names if isinstance(names, tuple) else (names,):
                name = name if name.startswith("CL_") else prefix + name
                if name in said:
                    self.same(record, key, said[name])
                    compared.add(key)
        missed = {key for key, value in record["facts"].items() if value is not None} - compared - DERIVED
        if not record["facts"].get("has_fp16"):
            missed.discard("half_float_abilities")  # clinfo does not ask then
        expect(not missed, "clinfo does not tell %s" % missed)
        return len(compared)

    def test_agrees_with_clinfo(self):
        if not shutil.which("clinfo"):
            return "clinfo is not installed"
        result = self.run("--json", tool=shutil.which("clinfo"))
        if result.returncode != 0:
            return "this clinfo has no --json"
        said, document = json.loads(result.stdout.decode("utf-8")), self.json(code=None)
        expect(len(said["platforms"]) == len(document["platforms"]), "platforms")
        compared = 0
        for ours, theirs, devices in zip(document["platforms"], said["platforms"], said["devices"]):
            compared += self.compare(ours, PLATFORM, "CL_PLATFORM_", theirs)
            expect(len(ours["devices"]) == len(devices.get("online", [])), "devices")
            for device, facts in zip(ours["devices"], devices.get("online", [])):
                expect(set(device["facts"]) == set(DEVICE) | DERIVED, "a fact that is compared with nothing")
                compared += self.compare(device, DEVICE, "CL_DEVICE_", facts)
        expect(compared >= 40 * len(document["platforms"]), "only %d facts compared" % compared)
        return None
