"""Arrays of others as memory: address, shape, strides and type, without a copy wherever the contract allows it."""
import sys
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from . import _structs as s
from ._errors import InvalidArgumentError, InvalidTypeError

TYPE_CODES = {"float32": s.F32, "float16": s.F16, "bfloat16": s.BF16}
FLOAT_TYPES = "float32, float16 or bfloat16"
Shape = Tuple[int, ...]


class View:
    """Memory that a call reads or writes. Strides count elements, and are 0 where a dimension has one element."""

    __slots__ = ("name", "owner", "type", "itemsize", "address", "shape", "strides")

    def __init__(self, name: str, owner: Any, kind: str, itemsize: int, address: int, shape: Shape,
                 strides: Shape) -> None:
        self.name, self.owner, self.type, self.itemsize, self.address = name, owner, kind, itemsize, address
        self.shape = shape
        self.strides = tuple(0 if size <= 1 else stride for size, stride in zip(shape, strides))

    @property
    def type_code(self) -> int:
        return TYPE_CODES[self.type]

    @property
    def nbytes(self) -> int:
        """From the first element to the end of the last one, gaps included."""
        if 0 in self.shape:
            return 0
        return self.itemsize * (1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides)))


def torch_if_loaded() -> Any:
    """The module torch where somebody has imported it: a tensor cannot exist before that."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "Tensor") else None


def is_torch(value: Any) -> bool:
    torch = torch_if_loaded()
    return torch is not None and isinstance(value, torch.Tensor)


# ---- reading ---------------------------------------------------------------------------------------------------------


def _from_dlpack(name: str, value: Any) -> np.ndarray:
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        if hasattr(value, "__array__"):
            return np.asarray(value)
        raise InvalidTypeError("%s is a %s that DLPack does not hand over to the CPU (%s): copy it to the CPU first, "
                               "or convert it to a numpy array" % (name, type(value).__name__, error)) from None


def _to_numpy(name: str, value: Any) -> np.ndarray:
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidTypeError("%s is a masked array, whose mask would be lost: pass %s.data, and say with mask= which "
                               "keys are attended" % (name, name))
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(name, value)
    if hasattr(value, "__array__"):
        return np.asarray(value)
    try:
        return np.asarray(memoryview(value))
    except TypeError:
        raise InvalidTypeError("%s is of type %s, not an array: np.asarray(%s, np.float32) makes one of a list"
                               % (name, type(value).__name__, name)) from None


def _is_usable(strides: Sequence[int], shape: Sequence[int], last_contiguous: bool) -> bool:
    if any(stride < 0 and size > 1 for stride, size in zip(strides, shape)):
        return False
    return not last_contiguous or not shape or shape[-1] <= 1 or strides[-1] == 1


def _read_numpy(name: str, value: Any, last_contiguous: bool) -> View:
    array = _to_numpy(name, value)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    size = array.itemsize
    whole = array.flags.aligned and size > 0 and not any(stride % size for stride in array.strides)
    strides = tuple(stride // size for stride in array.strides) if whole else ()
    if not whole or not _is_usable(strides, array.shape, last_contiguous):
        array = np.array(array, order="C")
        strides = tuple(stride // max(size, 1) for stride in array.strides)
    return View(name, array, array.dtype.name, size, array.ctypes.data, array.shape, strides)


def _read_torch(name: str, tensor: Any, last_contiguous: bool) -> View:
    torch = torch_if_loaded()
    if tensor.layout is not torch.strided:
        raise InvalidTypeError("%s is a %s tensor: %s.to_dense() makes it one that can be read" % (
            name, str(tensor.layout).replace("torch.", ""), name))
    if tensor.device.type != "cpu":
        raise InvalidTypeError("%s is on %s; tensors on the CPU are taken: %s.cpu()" % (name, tensor.device, name))
    if tensor.requires_grad and torch.is_grad_enabled():
        raise InvalidArgumentError("%s requires a gradient, and there is no backward pass: call this inside "
                                   "torch.no_grad(), or pass %s.detach()" % (name, name))
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if not _is_usable(tensor.stride(), tensor.shape, last_contiguous):
        tensor = tensor.contiguous()
    return View(name, tensor, str(tensor.dtype).replace("torch.", ""), tensor.element_size(), tensor.data_ptr(),
                tuple(tensor.shape), tuple(tensor.stride()))


def read(name: str, value: Any, last_contiguous: bool = False) -> View:
    """Memory of a numpy array, a torch tensor, or anything with DLPack, __array__ or the buffer protocol."""
    reader = _read_torch if is_torch(value) else _read_numpy
    return reader(name, value, last_contiguous)


def check_float(view: View) -> None:
    """Refuses all types but float32, float16 and bfloat16, saying how to convert."""
    if view.type in TYPE_CODES:
        return
    convert = "%s.float()" % view.name if is_torch(view.owner) else "%s.astype(np.float32)" % view.name
    if view.type.startswith("complex"):
        convert = "%s.real and %s.imag as arrays of their own" % (view.name, view.name)
    raise InvalidTypeError("%s has elements of type %s; oclattn computes with %s: pass %s" % (
        view.name, view.type, FLOAT_TYPES, convert))


_RANK_HELP = {
    (4, 3): "%s[None] adds a batch of one, and %s[:, None] adds a head",
    (4, 2): "%s[None, None] adds a batch and a head of one",
    (4, 5): "%s.reshape(-1, *%s.shape[2:]) joins the first two",
    (3, 1): "%s[None, None] adds the rest",
    (3, 4): "%s.reshape(-1, *%s.shape[2:]) joins the first two",
}


def read_floats(name: str, value: Any, dims: Sequence[str]) -> View:
    """An input of floats whose dimensions are those named, the last one contiguous."""
    view = read(name, value, last_contiguous=True)
    check_float(view)
    if len(view.shape) != len(dims):
        advice = _RANK_HELP.get((len(dims), len(view.shape)), "")
        advice = advice.replace("%s", name)
        raise InvalidArgumentError("%s has %d dimensions, %s; it is [%s]%s" % (
            name, len(view.shape), list(view.shape), ", ".join(dims), advice and ": " + advice))
    return view


def shape_view(name: str, shape: Sequence[int], kind: str) -> View:
    """A contiguous array that is not there, of which only the shape matters."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return View(name, None, kind, 4 if kind == "float32" else 2, 0, tuple(shape), tuple(strides))


# ---- small vectors ---------------------------------------------------------------------------------------------------


def _vector(name: str, value: Any, length: int, per: str) -> np.ndarray:
    array = np.asarray(value.detach().float() if is_torch(value) and value.is_floating_point() else value)
    if array.shape != (length,):
        raise InvalidArgumentError("%s has shape %s; it is [%d], one number per %s" % (
            name, list(array.shape), length, per))
    return array


def read_integers(name: str, value: Any, length: int) -> View:
    """int32 [batch], from a sequence or an array of any integer type."""
    array = _vector(name, value, length, "batch entry")
    if array.dtype.kind not in "iu" and array.size > 0:
        raise InvalidTypeError("%s has elements of type %s; they are whole numbers: np.asarray(%s, np.int32)" % (
            name, array.dtype.name, name))
    limits = np.iinfo(np.int32)
    if array.size > 0 and (array.min() < limits.min or array.max() > limits.max):
        raise InvalidArgumentError("%s has numbers that do not fit 32 bits" % name)
    return read(name, np.ascontiguousarray(array, np.int32))


def read_numbers(name: str, value: Any, heads: int) -> View:
    """float32 [heads], from a sequence or an array of any real type."""
    array = _vector(name, value, heads, "query head")
    if array.dtype.kind in "bcOSU":
        raise InvalidTypeError("%s has elements of type %s; they are real numbers" % (name, array.dtype.name))
    return read(name, np.ascontiguousarray(array, np.float32))


# ---- results ---------------------------------------------------------------------------------------------------------


def new_like(name: str, model: View, shape: Shape, kind: Optional[str] = None) -> View:
    """A result of the model's kind, torch or numpy, and of its type unless `kind` names another; its owner is returned
    to the user."""
    if is_torch(model.owner):
        torch = torch_if_loaded()
        return read(name, torch.empty(shape, dtype=getattr(torch, kind or model.type)))
    return read(name, np.empty(shape, np.dtype(kind) if kind else model.owner.dtype))
