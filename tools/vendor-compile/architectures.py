"""The GPUs that kernels are compiled for: what a compute unit has, from which occupancy follows.

Sources: NVIDIA, CUDA C++ Programming Guide, "Compute Capabilities" (technical specifications per compute capability);
AMD, LLVM's AMDGPU usage guide and the tables of its GCNSubtarget (registers and waves per SIMD, granules), and AMD's ISA
documents for local memory; Intel, oneAPI GPU Optimization Guide, "Intel Xe GPU Architecture" (threads and shared local
memory of a Xe-core, or of a dual subslice before)."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Nvidia:
    """A streaming multiprocessor: four parts, each with a quarter of the registers and warps."""
    name: str
    warps: int
    groups: int
    local_bytes: int
    reserved_bytes: int
    clang_name: str = ""  # of the newest architecture that clang 19 knows, where it does not know this one
    vendor = "NVIDIA"
    sub_group = 32
    parts = 4
    registers_per_part = 16384
    registers_granule = 256  # per warp
    local_granule = 128
    most_local_bytes = 48 << 10  # of static local memory
    most_groups_local_bytes = None


@dataclass(frozen=True)
class Amd:
    """A compute unit, or where two of them share local memory (RDNA) both."""
    name: str
    sub_group: int
    registers: int  # vector registers of a SIMD, for one lane
    registers_granule: int
    waves: int  # per SIMD
    groups: int
    local_bytes: int
    scalar_registers: int = 0  # per SIMD; 0: never the limit
    is_cdna: bool = False
    vendor = "AMD"
    simds = 4
    local_granule = 512
    scalar_granule = 16
    most_local_bytes = 64 << 10


@dataclass(frozen=True)
class Intel:
    """A Xe-core, or dual subslice."""
    name: str
    engines: int
    threads_per_engine: int  # with 128 registers each
    vendor = "Intel"
    groups = 32
    local_bytes = 128 << 10
    most_local_bytes = 64 << 10


def _kb(count):
    return count << 10


ARCHITECTURES = [
    Nvidia("sm_75", warps=32, groups=16, local_bytes=_kb(64), reserved_bytes=0),
    Nvidia("sm_80", warps=64, groups=32, local_bytes=_kb(164), reserved_bytes=_kb(1)),
    Nvidia("sm_86", warps=48, groups=16, local_bytes=_kb(100), reserved_bytes=_kb(1)),
    Nvidia("sm_89", warps=48, groups=24, local_bytes=_kb(100), reserved_bytes=_kb(1)),
    Nvidia("sm_90", warps=64, groups=32, local_bytes=_kb(228), reserved_bytes=_kb(1)),
    Nvidia("sm_100", warps=64, groups=32, local_bytes=_kb(228), reserved_bytes=_kb(1), clang_name="sm_90"),
    Nvidia("sm_120", warps=48, groups=24, local_bytes=_kb(100), reserved_bytes=_kb(1), clang_name="sm_90"),
    Amd("gfx906", sub_group=64, registers=256, registers_granule=4, waves=10, groups=16, local_bytes=_kb(64),
        scalar_registers=800, is_cdna=False),
    Amd("gfx90a", sub_group=64, registers=512, registers_granule=8, waves=8, groups=16, local_bytes=_kb(64),
        scalar_registers=800, is_cdna=True),
    Amd("gfx942", sub_group=64, registers=512, registers_granule=8, waves=8, groups=16, local_bytes=_kb(64),
        scalar_registers=800, is_cdna=True),
    Amd("gfx1030", sub_group=32, registers=1024, registers_granule=16, waves=16, groups=32, local_bytes=_kb(128)),
    Amd("gfx1100", sub_group=32, registers=1536, registers_granule=24, waves=16, groups=32, local_bytes=_kb(128)),
    Amd("gfx1201", sub_group=32, registers=1536, registers_granule=24, waves=16, groups=32, local_bytes=_kb(128)),
    Intel("tgllp", engines=16, threads_per_engine=7),
    Intel("dg2", engines=16, threads_per_engine=8),
    Intel("pvc", engines=8, threads_per_engine=8),
]

BY_NAME = {architecture.name: architecture for architecture in ARCHITECTURES}


def _up(value, granule):
    return -(-value // granule) * granule


def _parts(whole, part):
    return -(-whole // part)


def _least(*limits):
    return min(limit for limit in limits if limit is not None)


def _by_local(architecture, local_bytes, granule, reserved=0):
    taken = _up(local_bytes + reserved, granule)
    return architecture.local_bytes // taken if taken else None


def _nvidia_groups(architecture, group, used):
    warps = _parts(group, architecture.sub_group)
    per_warp = _up(max(used.registers, 1) * architecture.sub_group, architecture.registers_granule)
    resident = architecture.registers_per_part // per_warp * architecture.parts
    return _least(resident // warps, architecture.warps // warps, architecture.groups,
                  _by_local(architecture, used.local_bytes, architecture.local_granule, architecture.reserved_bytes))


def _amd_groups(architecture, group, used):
    waves = _parts(group, architecture.sub_group)
    per_simd = architecture.registers // _up(max(used.registers, 1), architecture.registers_granule)
    if architecture.scalar_registers:
        scalars = _up(max(used.scalar_registers, 1), architecture.scalar_granule)
        per_simd = min(per_simd, architecture.scalar_registers // scalars)
    per_simd = min(per_simd, architecture.waves)
    return _least(per_simd * architecture.simds // waves, architecture.groups if waves > 1 else None,
                  _by_local(architecture, used.local_bytes, architecture.local_granule))


def _intel_groups(architecture, group, used):
    threads = architecture.engines * architecture.threads_per_engine * 128 // max(used.registers, 128)
    taken = 1 << max(used.local_bytes - 1, 1023).bit_length() if used.local_bytes else 0
    return _least(threads // _parts(group, used.sub_group or 8), architecture.groups,
                  architecture.local_bytes // taken if taken else None)


def groups_per_unit(architecture, group, used):
    """How many work-groups of `group` work-items fit a compute unit at a time."""
    by_vendor = {"NVIDIA": _nvidia_groups, "AMD": _amd_groups, "Intel": _intel_groups}
    return by_vendor[architecture.vendor](architecture, group, used)
