"""Contexts, plans and device memory, kept between calls and safe to use from many threads."""
import collections
import contextlib
import ctypes as c
import os
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from . import _structs as s
from ._arrays import View
from ._devices import Device, from_info, refuse_after_fork
from ._errors import InvalidTypeError, OpenCLError, OutOfMemoryError
from ._library import call, fresh, lib

MOST_PLANS = 64
_READ_WRITE, _READ_ONLY, _USE_HOST_PTR, _COPY_HOST_PTR = 1 << 0, 1 << 2, 1 << 3, 1 << 5
_MAP_READ, _BLOCKING = 1 << 0, 1
_MEM_BASE_ADDR_ALIGN = 0x1019
_OUT_OF_MEMORY_CODES = (-4, -5, -6, -61)


def _check_cl(name: str, code: int) -> None:
    if code != 0:
        kind = OutOfMemoryError if code in _OUT_OF_MEMORY_CODES else OpenCLError
        raise kind("%s failed with OpenCL error %d" % (name, code), code)


def _make(name: str, *arguments: Any) -> int:
    """Calls an OpenCL function that returns an object, its last argument being the error code."""
    code = c.c_int32()
    made = getattr(lib, name)(*arguments, c.byref(code))
    _check_cl(name, code.value)
    return made


class Plan:
    """A compiled computation of one context."""

    def __init__(self, function: str, context: "Context", desc: c.Structure) -> None:
        self.handle = c.c_void_p()
        call(function, context.handle, c.byref(desc), c.byref(self.handle))
        self.workspace_bytes = lib.oclattn_plan_workspace_bytes(self.handle)

    def describe(self) -> str:
        size = lib.oclattn_plan_describe(self.handle, None, 0) + 1
        text = c.create_string_buffer(size)
        lib.oclattn_plan_describe(self.handle, text, size)
        return text.value.decode()

    def __del__(self, destroy: Callable[[Any], None] = lib.oclattn_plan_destroy) -> None:
        destroy(self.handle)


class Lane:
    """A queue and a workspace: what a call needs for itself while it runs."""

    def __init__(self, context: "Context") -> None:
        self.context = context
        self.queue = _make("clCreateCommandQueue", context.cl, context.device_id, 0)
        self.workspace: Optional[int] = None
        self.workspace_bytes = 0

    def reserve(self, size: int) -> None:
        if size <= self.workspace_bytes:
            return
        if self.workspace is not None:
            lib.clReleaseMemObject(self.workspace)
            self.workspace, self.workspace_bytes = None, 0
        self.workspace = _make("clCreateBuffer", self.context.cl, _READ_WRITE, size, None)
        self.workspace_bytes = size


class Context:
    """A device in use. Contexts live as long as the process."""

    def __init__(self, spec: Optional[str]) -> None:
        options = fresh(s.ContextOptions)
        options.device = spec.encode() if spec else None
        self.handle = c.c_void_p()
        call("oclattn_context_create", c.byref(options), c.byref(self.handle))
        self.cl = lib.oclattn_context_cl(self.handle)
        self.device_id = lib.oclattn_context_device(self.handle)
        info = fresh(s.DeviceInfo)
        call("oclattn_context_device_info", self.handle, c.byref(info))
        self.device = from_info(info)
        self.boundary = self._boundary()
        self._lock = threading.Lock()
        self._lanes: List[Lane] = []
        self._plans: "collections.OrderedDict[Tuple[str, bytes], Plan]" = collections.OrderedDict()

    def _boundary(self) -> int:
        """In bytes: where memory must begin for a CPU's driver to use it in place. Other devices may use memory in place
        in ways that reach beyond an array, so theirs is 1: wherever it begins."""
        bits = c.c_uint32()
        _check_cl("clGetDeviceInfo", lib.clGetDeviceInfo(self.device_id, _MEM_BASE_ADDR_ALIGN, c.sizeof(bits),
                                                         c.byref(bits), None))
        return max(1, bits.value // 8) if self.device.kind == "cpu" else 1

    def plan(self, function: str, desc: c.Structure) -> Plan:
        """The plan of a descriptor that holds no pointers, made at most once while it stays among the last used."""
        key = (function, bytes(desc))
        with self._lock:
            plan = self._plans.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
                return plan
        plan = Plan(function, self, desc)
        with self._lock:
            self._plans[key] = plan
            evicted = self._plans.popitem(last=False) if len(self._plans) > MOST_PLANS else None
        del evicted  # destroyed outside the lock
        return plan

    @contextlib.contextmanager
    def lane(self, workspace_bytes: int) -> Iterator[Lane]:
        with self._lock:
            lane = self._lanes.pop() if self._lanes else None
        lane = lane or Lane(self)
        try:
            lane.reserve(workspace_bytes)
            yield lane
        finally:
            with self._lock:
                self._lanes.append(lane)


_contexts: Dict[Optional[str], Context] = {}
_contexts_lock = threading.Lock()


def context_of(device: Union[None, str, Device]) -> Context:
    """The context of a Device, of a spec such as "gpu" or "0:0", or for None of OCLATTN_DEVICE's or the best one."""
    refuse_after_fork()
    spec = device.spec if isinstance(device, Device) else device
    if spec is not None and not isinstance(spec, str):
        raise InvalidTypeError("device is of type %s; it is one of oclattn.devices(), or a string: \"gpu\", \"cpu\", "
                               "\"0:0\" (platform and device), or a part of a name" % type(device).__name__)
    spec = spec or os.environ.get("OCLATTN_DEVICE") or None
    with _contexts_lock:
        if spec not in _contexts:
            _contexts[spec] = Context(spec)
        return _contexts[spec]


class Memory:
    """The buffers of one call. Inputs that overlap, as parts of a packed matrix do, become one buffer with offsets,
    since two buffers over the same memory are undefined in OpenCL."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._inputs: List[Tuple[s.Tensor, View]] = []
        self._outputs: List[Tuple[s.Tensor, View]] = []
        self._buffers: List[int] = []

    def add_input(self, tensor: s.Tensor, view: View) -> None:
        if view.nbytes > 0:
            self._inputs.append((tensor, view))

    def add_output(self, tensor: s.Tensor, view: View) -> None:
        if view.nbytes > 0:
            self._outputs.append((tensor, view))

    def _buffer(self, address: int, size: int, access: int, share: bool) -> int:
        flags = access | (_USE_HOST_PTR if share else _COPY_HOST_PTR)
        self._buffers.append(_make("clCreateBuffer", self.context.cl, flags, size, address))
        return self._buffers[-1]

    def _begin(self, address: int, itemsize: int) -> int:
        """Where the buffer of memory at `address` begins: at the boundary before it, if whole items lie between. The device
        never touches those."""
        before = address % self.context.boundary if self.context.device.host_unified_memory else 0
        return address - before if before % itemsize == 0 else address

    def _groups(self) -> Iterator[List[Tuple[s.Tensor, View]]]:
        group: List[Tuple[s.Tensor, View]] = []
        end = 0
        for item in sorted(self._inputs, key=lambda item: item[1].address):
            if group and item[1].address >= end:
                yield group
                group, end = [], 0
            group.append(item)
            end = max(end, item[1].address + item[1].nbytes)
        if group:
            yield group

    def create(self) -> None:
        share = self.context.device.host_unified_memory
        for group in self._groups():
            start = self._begin(group[0][1].address, max(view.itemsize for _, view in group))
            if any((view.address - start) % view.itemsize for _, view in group):
                for tensor, view in group:
                    tensor.buffer = self._buffer(view.address, view.nbytes, _READ_ONLY, False)
                continue
            end = max(view.address + view.nbytes for _, view in group)
            buffer = self._buffer(start, end - start, _READ_ONLY, share)
            for tensor, view in group:
                tensor.buffer, tensor.offset = buffer, (view.address - start) // view.itemsize
        for tensor, view in self._outputs:
            start = self._begin(view.address, view.itemsize)
            tensor.buffer = self._buffer(start, view.address + view.nbytes - start, _READ_WRITE, share)
            tensor.offset = (view.address - start) // view.itemsize

    def read_back(self, queue: int) -> None:
        """A map brings shared memory up to date, a read fills memory of its own."""
        for tensor, view in self._outputs:
            if not self.context.device.host_unified_memory:
                _check_cl("clEnqueueReadBuffer", lib.clEnqueueReadBuffer(
                    queue, tensor.buffer, _BLOCKING, 0, view.nbytes, view.address, 0, None, None))
                continue
            mapped = _make("clEnqueueMapBuffer", queue, tensor.buffer, _BLOCKING, _MAP_READ,
                           tensor.offset * view.itemsize, view.nbytes, 0, None, None)
            _check_cl("clEnqueueUnmapMemObject",
                      lib.clEnqueueUnmapMemObject(queue, tensor.buffer, mapped, 0, None, None))

    def release(self) -> None:
        for buffer in self._buffers:
            lib.clReleaseMemObject(buffer)
        self._buffers.clear()

    def run(self, workspace_bytes: int, work: Callable[[Lane], None]) -> None:
        """Makes the buffers, lets `work` enqueue on a lane's queue, brings the outputs back and waits."""
        with self.context.lane(workspace_bytes) as lane:
            try:
                self.create()
                work(lane)
                self.read_back(lane.queue)
            finally:
                # Not even a failed call leaves work behind that reads the caller's memory.
                lib.clFinish(lane.queue)
                self.release()


def enqueue(function: str, plan: Plan, lane: Lane, args: c.Structure) -> None:
    args.workspace = lane.workspace if plan.workspace_bytes > 0 else None
    call(function, plan.handle, lane.queue, c.byref(args), 0, None, None)
