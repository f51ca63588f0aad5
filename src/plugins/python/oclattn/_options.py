"""What happens between scores and softmax: the options that attention and F(H) share."""
import dataclasses
import numbers
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from . import _structs as s
from ._arrays import View, check_float, read, read_integers, read_numbers
from ._errors import InvalidArgumentError, InvalidTypeError
from ._library import lib

Align = Union[None, str, int, Sequence[int], Any]
Window = Optional[Tuple[Optional[int], Optional[int]]]
Alibi = Union[None, bool, str, Sequence[float], Any]

_ALIGN_NAMES = {"top-left": s.ALIGN_TOP_LEFT, "bottom-right": s.ALIGN_BOTTOM_RIGHT}
_ALIGN_HELP = ("align=\"top-left\" puts query 0 at key 0, \"bottom-right\" puts the last query at the last key (as in "
               "decoding with a cache), and a number is how many keys come before query 0")


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Of one problem."""

    batch: int
    heads: int
    q_len: int
    kv_len: int


@dataclasses.dataclass(frozen=True)
class Options:
    """As attention() describes them."""

    causal: bool = False
    align: Align = None
    mask: Any = None
    bias: Any = None
    window: Window = None
    softcap: Optional[float] = None
    scale: Optional[float] = None
    alibi: Alibi = None
    sinks: Any = None
    q_lens: Any = None
    kv_lens: Any = None

    @classmethod
    def of(cls, given: Dict[str, Any]) -> "Options":
        """From keyword arguments, of which unknown ones are named."""
        known = [field.name for field in dataclasses.fields(cls)]
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise InvalidTypeError("unknown options: %s; known ones are %s" % (", ".join(unknown), ", ".join(known)))
        return cls(**given)

    def fill(self, score: s.ScoreOptions, sizes: Sizes) -> Dict[str, View]:
        """Sets the descriptor's part, and returns the data of each field of oclattn_score_inputs."""
        data: Dict[str, View] = {}
        if _truth("causal", self.causal):
            score.flags |= s.CAUSAL
        score.window_left, score.window_right = _window(self.window)
        self._fill_numbers(score)
        self._fill_alibi(score, sizes, data)
        self._fill_lengths(score, sizes, data)
        self._fill_align(score, sizes, data)
        if self.mask is not None:
            data["mask"] = _read_mask(self.mask)
            score.flags |= s.MASK
            score.mask_strides = _broadcast(data["mask"], sizes)
        if self.bias is not None:
            data["bias"] = _read_bias(self.bias)
            score.flags |= s.BIAS
            score.bias_strides, score.bias_type = _broadcast(data["bias"], sizes), data["bias"].type_code
        return data

    def _fill_numbers(self, score: s.ScoreOptions) -> None:
        if self.scale is not None:
            score.flags &= ~s.DEFAULT_SCALE
            score.scale = _number("scale", self.scale)
        if self.softcap is not None:
            score.softcap = _number("softcap", self.softcap)

    def _fill_alibi(self, score: s.ScoreOptions, sizes: Sizes, data: Dict[str, View]) -> None:
        if self.sinks is not None:
            score.flags |= s.SINKS
            data["sinks"] = read_numbers("sinks", self.sinks, sizes.heads)
        if self.alibi is None or self.alibi is False:
            return
        slopes = self.alibi
        if slopes is True or isinstance(slopes, str) and slopes == "auto":
            slopes = alibi_slopes(sizes.heads)
        elif isinstance(slopes, str):
            raise InvalidArgumentError("alibi is %r; it is \"auto\" for the standard slopes, or one slope per head"
                                       % slopes)
        score.flags |= s.ALIBI
        data["alibi_slopes"] = read_numbers("alibi", slopes, sizes.heads)

    def _fill_lengths(self, score: s.ScoreOptions, sizes: Sizes, data: Dict[str, View]) -> None:
        for name, value, flag in (("q_lens", self.q_lens, s.Q_LENS), ("kv_lens", self.kv_lens, s.KV_LENS)):
            if value is not None:
                score.flags |= flag
                data[name] = read_integers(name, value, sizes.batch)

    def _fill_align(self, score: s.ScoreOptions, sizes: Sizes, data: Dict[str, View]) -> None:
        if self.align is None:
            self._check_no_align_needed(score, sizes)
        elif isinstance(self.align, str):
            name = self.align.replace("_", "-").lower()
            if name not in _ALIGN_NAMES:
                raise InvalidArgumentError("align is %r: %s" % (self.align, _ALIGN_HELP))
            score.align = _ALIGN_NAMES[name]
        else:
            offsets = np.full(sizes.batch, self.align) if isinstance(self.align, numbers.Real) else self.align
            score.align = s.ALIGN_OFFSET
            data["offsets"] = read_integers("align", offsets, sizes.batch)

    def _check_no_align_needed(self, score: s.ScoreOptions, sizes: Sizes) -> None:
        windowed = score.window_left >= 0 or score.window_right >= 0
        varies = self.q_lens is not None or self.kv_lens is not None
        asking = "causal" if score.flags & s.CAUSAL else "window" if windowed else "alibi"
        if not (windowed or score.flags & (s.CAUSAL | s.ALIBI)) or sizes.q_len == sizes.kv_len and not varies:
            return
        lengths = "there are %d queries and %d keys" % (sizes.q_len, sizes.kv_len)
        why = "q_lens or kv_lens are given" if varies else lengths
        raise InvalidArgumentError("align is needed: %s asks where queries stand among the keys, and %s. %s" % (
            asking, why, _ALIGN_HELP))


def alibi_slopes(heads: int) -> np.ndarray:
    """The standard ALiBi slopes, float32 [heads]."""
    slopes = np.empty(max(heads, 0), np.float32)
    lib.oclattn_alibi_slopes(heads, slopes.ctypes.data)
    return slopes


def _truth(name: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InvalidTypeError("%s is of type %s; it is True or False" % (name, type(value).__name__))


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidTypeError("%s is of type %s; it is one number" % (name, type(value).__name__)) from None


def _window(window: Window) -> Tuple[int, int]:
    if window is None:
        return -1, -1
    try:
        left, right = (-1 if bound is None else int(bound) for bound in window)
    except (TypeError, ValueError):
        raise InvalidTypeError("window is %r; it is (left, right), how many keys before and after its own position a "
                               "query sees, None for no bound: (4, 0)" % (window,)) from None
    return left, right


def _read_mask(value: Any) -> View:
    view = read("mask", value)
    if view.type in ("bool", "uint8"):
        return view
    if view.type.startswith(("float", "bfloat")):
        raise InvalidTypeError("mask has elements of type %s; it says which keys are attended, with True or 1. Numbers "
                               "to add to the scores go into bias=, and mask > 0 or mask == 0 makes booleans of them"
                               % view.type)
    raise InvalidTypeError("mask has elements of type %s; they are bool or uint8, where True or 1 means attend: pass "
                           "mask != 0" % view.type)


def _read_bias(value: Any) -> View:
    view = read("bias", value)
    if view.type == "bool":
        raise InvalidTypeError("bias has elements of type bool; which keys are attended goes into mask=, where True "
                               "means attend")
    check_float(view)
    return view


def _broadcast(view: View, sizes: Sizes) -> Any:
    """The strides of an array that is repeated over [batch, heads, q_len, kv_len] as numpy does it."""
    wanted = (sizes.batch, sizes.heads, sizes.q_len, sizes.kv_len)
    missing = 4 - len(view.shape)
    shape, strides = (1,) * missing + view.shape, (0,) * missing + view.strides
    if missing < 0 or any(size not in (1, target) for size, target in zip(shape, wanted)):
        hint = ": for one row of keys per batch entry, pass %s[:, None, None, :]" % view.name
        raise InvalidArgumentError("%s has shape %s, which does not broadcast to [batch, heads, queries, keys] = %s%s" %
                                   (view.name, list(view.shape), list(wanted),
                                    hint if view.shape == (sizes.batch, sizes.kv_len) else ""))
    return (s.c.c_int64 * 4)(*strides)
