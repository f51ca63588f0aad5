"""What the compilers say of a kernel. Words and order differ between versions, so each number is looked for alone."""
import re
from dataclasses import dataclass


class NotUnderstood(Exception):
    """The output does not hold what every version so far has said."""


@dataclass
class Used:
    """What one work-item or, where it says so, work-group needs. Spills count registers on AMD, bytes on NVIDIA, and on
    Intel what its compiler's warning says."""
    registers: int
    spills: int
    private_bytes: int  # arrays and spills in memory
    local_bytes: int  # of the group
    sub_group: int = 0
    scalar_registers: int = 0
    accumulator_copies: int = 0


def _number(pattern, text, otherwise=None):
    found = re.findall(pattern, text)
    if not found and otherwise is None:
        raise NotUnderstood("nothing like \"%s\" in:\n%s" % (pattern, text[-2000:]))
    return max(map(int, found)) if found else otherwise


def parse_ptxas(text):
    """The lines of ptxas -v for a file with one kernel."""
    spills = sum(map(int, re.findall(r"(\d+) bytes spill (?:stores|loads)", text)))
    return Used(registers=_number(r"Used (\d+) registers", text), spills=spills,
                private_bytes=_number(r"(\d+) bytes stack frame", text, 0),
                local_bytes=_number(r"(\d+)(?:\+\d+)? bytes smem", text, 0), sub_group=32)


def parse_amdgcn(text):
    """Assembly for amdgcn-amd-amdhsa, which ends in the metadata that the driver reads."""
    start = text.find(".amdgpu_metadata")
    if start < 0:
        raise NotUnderstood("the assembly has no .amdgpu_metadata")
    metadata = text[start:]

    def field(name, otherwise=None):
        return _number(r"\.%s:\s*(\d+)" % name, metadata, otherwise)

    # Where scalar registers move into vector ones, memory is set aside for them and never used.
    uses_private = re.search(r"^\s*(?:scratch|buffer|flat)_(?:load|store)", text, re.MULTILINE)
    return Used(registers=field("vgpr_count"), spills=field("vgpr_spill_count", 0),
                private_bytes=field("private_segment_fixed_size") if uses_private else 0, local_bytes=field("group_segment_fixed_size"),
                sub_group=field("wavefront_size"), scalar_registers=field("sgpr_count"),
                accumulator_copies=len(re.findall(r"^\s*v_accvgpr_(?:read|write|mov)", text, re.MULTILINE)))


def _ocloc_private_bytes(info, sub_group):
    """Memory of a work-item: what the binary asks for is counted for one, or for all of a sub-group."""
    _, _, buffers = info.partition("per_thread_memory_buffers:")
    total = 0
    for entry in re.split(r"\n\s*- type:", buffers)[1:]:
        entry = re.split(r"\n\S", entry)[0]
        size = _number(r"size:\s*(\d+)", entry)
        total += size if re.search(r"is_simt_thread:\s*true", entry) else -(-size // sub_group)
    return total


def parse_ocloc(text, info):
    """What ocloc prints, and the .ze_info of the binary that it made. Spills are but a warning."""
    sub_group = _number(r"simd_size:\s*(\d+)", info)
    return Used(registers=_number(r"grf_count:\s*(\d+)", info),
                spills=max(_number(r"spilled around (\d+)", text, 0), _number(r"spill_size:\s*(\d+)", info, 0)),
                private_bytes=_ocloc_private_bytes(info, sub_group),
                local_bytes=_number(r"slm_size:\s*(\d+)", info, 0), sub_group=sub_group)


def elf_section(data, wanted):
    """The bytes of a section of a 64-bit little-endian ELF file; None where there is none."""
    def word(at, size):
        return int.from_bytes(data[at:at + size], "little")

    if data[:4] != b"\x7fELF":
        return None
    table, entry_size, count, names_index = word(0x28, 8), word(0x3a, 2), word(0x3c, 2), word(0x3e, 2)
    headers = [table + i * entry_size for i in range(count)]
    names = word(headers[names_index] + 0x18, 8)
    for header in headers:
        start = names + word(header, 4)
        if data[start:data.index(b"\0", start)].decode() == wanted:
            offset, size = word(header + 0x18, 8), word(header + 0x20, 8)
            return data[offset:offset + size]
    return None
