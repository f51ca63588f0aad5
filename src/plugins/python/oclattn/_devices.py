"""The OpenCL devices of this machine."""
import ctypes as c
import dataclasses
import os
from typing import List, Optional

from . import _structs as s
from ._errors import OpenCLError
from ._library import call, fresh

_KINDS = {1 << 1: "cpu", 1 << 2: "gpu", 1 << 3: "accelerator"}
_first_process: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Device:
    """One OpenCL device. Pass it, or its spec, as `device` anywhere.

    spec: "P:D", the indexes of platform and device; kind: "cpu", "gpu", "accelerator" or "other".
    """

    spec: str
    name: str
    vendor: str
    platform: str
    driver: str
    kind: str
    compute_units: int
    global_memory_bytes: int
    max_allocation_bytes: int
    local_memory_bytes: int
    host_unified_memory: bool
    has_fp16: bool
    has_fp64: bool
    has_subgroups: bool

    def __str__(self) -> str:
        return "%s %s (%s)" % (self.spec, self.name, self.platform)


def refuse_after_fork() -> None:
    """OpenCL drivers do not survive fork(), so a child may not go on with what its parent began."""
    global _first_process
    if _first_process is None:
        _first_process = os.getpid()
    if _first_process != os.getpid():
        raise OpenCLError("this process was forked from one that had used oclattn already, and OpenCL drivers do not "
                          "work in such a child: start it with multiprocessing.get_context(\"spawn\") (in PyTorch, "
                          "DataLoader(multiprocessing_context=\"spawn\")), or use oclattn in the children alone")


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def from_info(info: s.DeviceInfo) -> Device:
    """The Device of an oclattn_device_info."""
    return Device("%d:%d" % (info.platform_index, info.device_index), _text(info.name), _text(info.vendor),
                  _text(info.platform), _text(info.driver),
                  next((name for bit, name in _KINDS.items() if info.type & bit), "other"), info.compute_units,
                  info.global_memory_bytes, info.max_allocation_bytes, info.local_memory_bytes,
                  bool(info.host_unified_memory), bool(info.has_fp16), bool(info.has_fp64), bool(info.has_subgroups))


def devices() -> List[Device]:
    """Every OpenCL device, each once though two drivers may reach it. An empty list: no driver is installed."""
    refuse_after_fork()
    count = c.c_size_t()
    call("oclattn_devices_list", None, 0, c.byref(count))
    infos = (s.DeviceInfo * count.value)(*[fresh(s.DeviceInfo) for _ in range(count.value)])
    call("oclattn_devices_list", infos, len(infos), c.byref(count))
    return [from_info(info) for info in infos[:count.value] if info.alias_of < 0]
