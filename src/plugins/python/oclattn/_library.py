"""liboclattn.so by ctypes. Loading it is all that happens at import; ctypes releases the GIL in every call."""
import ctypes as c
import os
import pathlib
from typing import Any, Type, TypeVar

from . import _structs as s
from ._errors import OclattnError, from_library

Struct = TypeVar("Struct", bound=c.Structure)
VERSION = (0, 1)


def path() -> str:
    """OCLATTN_LIBRARY, else the library in this package, else the system's."""
    beside = pathlib.Path(__file__).with_name("liboclattn.so")
    return os.environ.get("OCLATTN_LIBRARY") or (str(beside) if beside.exists() else "liboclattn.so.0")


def _load() -> c.CDLL:
    try:
        return c.CDLL(path())
    except OSError as error:
        raise ImportError("oclattn cannot load its library %s: %s. It needs the OpenCL loader and CLBlast; on Debian "
                          "and Ubuntu: apt install ocl-icd-libopencl1 libclblast1. OCLATTN_LIBRARY names another file."
                          % (path(), error)) from None


lib = _load()

_HANDLE, _POINTER = c.c_void_p, c.c_void_p
_PROTOTYPES = {
    "oclattn_version": (c.c_char_p, []),
    "oclattn_alibi_slopes": (None, [c.c_int64, _POINTER]),
    "oclattn_devices_list": (c.c_int, [_POINTER, c.c_size_t, _POINTER, _POINTER]),
    "oclattn_context_create": (c.c_int, [_POINTER, _POINTER, _POINTER]),
    "oclattn_context_destroy": (None, [_HANDLE]),
    "oclattn_context_cl": (_HANDLE, [_HANDLE]),
    "oclattn_context_device": (_HANDLE, [_HANDLE]),
    "oclattn_context_device_info": (c.c_int, [_HANDLE, _POINTER, _POINTER]),
    "oclattn_plan_destroy": (None, [_HANDLE]),
    "oclattn_plan_workspace_bytes": (c.c_size_t, [_HANDLE]),
    "oclattn_plan_describe": (c.c_size_t, [_HANDLE, c.c_char_p, c.c_size_t]),
    "oclattn_attention_plan": (c.c_int, [_HANDLE, _POINTER, _POINTER, _POINTER]),
    "oclattn_attention_enqueue": (c.c_int, [_HANDLE, _HANDLE, _POINTER, c.c_uint32, _POINTER, _POINTER, _POINTER]),
    "oclattn_mha_plan": (c.c_int, [_HANDLE, _POINTER, _POINTER, _POINTER]),
    "oclattn_mha_weights": (c.c_int, [_HANDLE, _HANDLE, _POINTER, _POINTER, _POINTER]),
    "oclattn_mha_enqueue": (c.c_int, [_HANDLE, _HANDLE, _POINTER, c.c_uint32, _POINTER, _POINTER, _POINTER]),
    "oclattn_weights_destroy": (None, [_HANDLE]),
    # Of the OpenCL loader that the library itself is linked with: the dynamic linker finds them through it.
    "clGetDeviceInfo": (c.c_int32, [_HANDLE, c.c_uint32, c.c_size_t, _POINTER, _POINTER]),
    "clCreateCommandQueue": (_HANDLE, [_HANDLE, _HANDLE, c.c_uint64, _POINTER]),
    "clReleaseCommandQueue": (c.c_int32, [_HANDLE]),
    "clCreateBuffer": (_HANDLE, [_HANDLE, c.c_uint64, c.c_size_t, _POINTER, _POINTER]),
    "clReleaseMemObject": (c.c_int32, [_HANDLE]),
    "clEnqueueReadBuffer": (c.c_int32, [_HANDLE, _HANDLE, c.c_uint32, c.c_size_t, c.c_size_t, _POINTER, c.c_uint32,
                                        _POINTER, _POINTER]),
    "clEnqueueMapBuffer": (_HANDLE, [_HANDLE, _HANDLE, c.c_uint32, c.c_uint64, c.c_size_t, c.c_size_t, c.c_uint32,
                                     _POINTER, _POINTER, _POINTER]),
    "clEnqueueUnmapMemObject": (c.c_int32, [_HANDLE, _HANDLE, _HANDLE, c.c_uint32, _POINTER, _POINTER]),
    "clFinish": (c.c_int32, [_HANDLE]),
}


def _declare() -> None:
    for name, (result, arguments) in _PROTOTYPES.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    for name in s.INIT_FUNCTIONS.values():
        function = getattr(lib, name)
        function.restype, function.argtypes = None, [_POINTER]


_declare()
version: str = lib.oclattn_version().decode()
if tuple(int(part) for part in version.split(".")[:2]) != VERSION:
    raise ImportError("this package is for oclattn %d.%d, and %s is %s: install the package again, or unset "
                      "OCLATTN_LIBRARY" % (*VERSION, path(), version))


def fresh(struct: Type[Struct]) -> Struct:
    """A struct filled by its init function."""
    value = struct()
    getattr(lib, s.INIT_FUNCTIONS[struct])(c.byref(value))
    if value.struct_size != c.sizeof(struct):
        raise OclattnError("%s has %d bytes in this package and %d in the library that was loaded: install both of one "
                           "version" % (struct.__name__, c.sizeof(struct), value.struct_size))
    return value


def call(name: str, *arguments: Any) -> None:
    """Calls a function whose last argument is an oclattn_error, and raises what it says."""
    error = s.Error()
    if getattr(lib, name)(*arguments, c.byref(error)) != s.OK:
        raise from_library(error)
