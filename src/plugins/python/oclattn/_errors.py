"""Exceptions: the library's statuses, each also of the built-in kind that a Python user would catch."""
from . import _structs as s


class OclattnError(Exception):
    """Whatever oclattn refuses or fails at. The text says what to change.

    status: the library's oclattn_status; cl_code: the OpenCL error code, 0 where none was involved.
    """

    status = s.OPENCL_ERROR

    def __init__(self, message: str, cl_code: int = 0) -> None:
        super().__init__(message)
        self.cl_code = cl_code


class InvalidArgumentError(OclattnError, ValueError):
    """The call contradicts itself or the documentation."""

    status = s.INVALID_ARGUMENT


class InvalidTypeError(InvalidArgumentError, TypeError):
    """An argument of the wrong type: a list for an array, integers for floats, a float mask."""


class UnsupportedError(OclattnError, NotImplementedError):
    """A valid wish that the library or the device cannot fulfil."""

    status = s.UNSUPPORTED


class NoDeviceError(OclattnError, LookupError):
    """No OpenCL device, or none that fits the request."""

    status = s.NO_DEVICE


class OutOfMemoryError(OclattnError, MemoryError):
    """Host or device memory, or a device's limit on the size of an allocation."""

    status = s.OUT_OF_MEMORY


class BuildError(OclattnError, RuntimeError):
    """The device's compiler refused a kernel; the text carries its log."""

    status = s.BUILD_FAILED


class OpenCLError(OclattnError, RuntimeError):
    """Any other failure of the driver; see cl_code."""


_BY_STATUS = {kind.status: kind for kind in (InvalidArgumentError, UnsupportedError, NoDeviceError, OutOfMemoryError,
                                             BuildError, OpenCLError)}


def from_library(error: s.Error) -> OclattnError:
    """The exception of an oclattn_error."""
    kind = _BY_STATUS.get(error.status, OpenCLError)
    return kind(error.message.decode(errors="replace"), error.cl_code)


def missing_package(name: str, what_for: str, error: ImportError) -> ImportError:
    """An ImportError that names what to install."""
    return ImportError("%s needs %s, which is not installed here (%s): pip install %s" % (what_for, name, error, name))
