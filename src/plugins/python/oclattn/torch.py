"""oclattn inside PyTorch. Importing this registers the operator torch.ops.oclattn.attention, for tensors on the CPU:

    attention(q, k, v, mask=None, bias=None, alibi=None, sinks=None, q_lens=None, kv_lens=None, offsets=None,
              causal=False, align=0, window_left=-1, window_right=-1, softcap=0.0, scale=None) -> Tensor

Options mean what they mean in oclattn.attention(), but align is 0 (unset), 1 (top-left) or 2 (bottom-right), offsets
are how many keys come before query 0 in each batch entry, and alibi and sinks (float32) and lengths and offsets (int32)
are tensors. It runs on the device that OCLATTN_DEVICE names, or the best one. torch.export and
torch.compile(fullgraph=True) take it; it has no backward pass.

enable() makes models of others use it, unmodified, wherever they call scaled_dot_product_attention.
"""
import ctypes as c
import pathlib
import threading
from typing import Any, Callable, Optional

from . import _structs as s
from ._devices import refuse_after_fork
from ._errors import from_library, missing_package
from ._library import path

try:
    import torch
except ImportError as error:
    raise missing_package("torch", "oclattn.torch", error) from None

__all__ = ["enable", "disable", "calls"]

TOP_LEFT = s.ALIGN_TOP_LEFT
_WIDEST_HEAD = 1024
_TYPES = (torch.float32, torch.float16, torch.bfloat16)


# ---- the operator ----------------------------------------------------------------------------------------------------


def _register() -> c.CDLL:
    """Loads the plugin that lies beside the library, and lets it register the operator."""
    file = str(pathlib.Path(path()).with_name("liboclattn_torch.so"))
    try:
        plugin = c.CDLL(file)
    except OSError as failure:
        raise ImportError("oclattn cannot load its PyTorch operator %s: %s" % (file, failure)) from None
    plugin.oclattn_torch_calls.restype = c.c_uint64
    failed = s.Error()
    if plugin.oclattn_torch_register(c.byref(failed)) != s.OK:
        raise ImportError(str(from_library(failed)))
    return plugin


_plugin = _register()


@torch.library.register_fake("oclattn::attention")
def _fake_attention(q: Any, k: Any, v: Any, *options: Any, **named_options: Any) -> Any:
    """The result's shape and type, for tracing."""
    torch._check(q.dim() == 4 and k.dim() == 4 and v.dim() == 4, lambda: "q, k and v are [batch, heads, length, width]")
    return q.new_empty((q.shape[0], q.shape[1], q.shape[2], v.shape[3]))


def _no_backward(context: Any, *gradients: Any) -> Any:
    raise NotImplementedError("oclattn::attention has no backward pass: call it inside torch.no_grad(), or detach its "
                              "inputs")


torch.library.register_autograd("oclattn::attention", _no_backward)


def calls() -> int:
    """How many calls of the operator have been computed in this process, those in compiled code included."""
    return _plugin.oclattn_torch_calls()


# ---- in the place of scaled_dot_product_attention --------------------------------------------------------------------

_lock = threading.Lock()
_original: Callable[..., Any] = torch.nn.functional.scaled_dot_product_attention
_enabled = False
_fast_path_before = True


def _is_plain(tensor: Any) -> bool:
    return (tensor.device.type == "cpu" and tensor.layout is torch.strided and not tensor.is_nested
            and not (tensor.requires_grad and torch.is_grad_enabled()))


def _fits(query: Any, key: Any, value: Any, enable_gqa: bool) -> bool:
    tensors = (query, key, value)
    if not all(tensor.dim() == 4 and tensor.dtype == query.dtype and _is_plain(tensor) for tensor in tensors):
        return False
    same = key.shape[:3] == value.shape[:3] and query.shape[0] == key.shape[0] and query.shape[3] == key.shape[3]
    heads = query.shape[1], key.shape[1]
    heads_fit = heads[1] > 0 and (heads[0] % heads[1] == 0 if enable_gqa else heads[0] == heads[1])
    widths_fit = 0 < query.shape[3] <= _WIDEST_HEAD and 0 < value.shape[3] <= _WIDEST_HEAD
    return query.dtype in _TYPES and same and heads_fit and widths_fit and query.shape[1] > 0


def _mask_fits(mask: Any, is_causal: bool) -> bool:
    if mask is None:
        return True
    return not is_causal and 2 <= mask.dim() <= 4 and mask.dtype in _TYPES + (torch.bool,) and _is_plain(mask)


def _is_ordinary_call(*tensors: Any) -> bool:
    """Neither under autocast nor inside a function transform, whose rules the operator does not have."""
    return not (torch.is_autocast_enabled("cpu") or torch._C._are_functorch_transforms_active()
                or torch.overrides.has_torch_function(tensors))


def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: Optional[float] = None,
                                 enable_gqa: bool = False) -> Any:
    """PyTorch's function of the same name. What oclattn does not take goes to PyTorch."""
    if not (_enabled and dropout_p == 0.0 and _is_ordinary_call(query, key, value, attn_mask)
            and _fits(query, key, value, enable_gqa) and _mask_fits(attn_mask, is_causal)):
        return _original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    is_mask = attn_mask is not None and attn_mask.dtype == torch.bool
    return torch.ops.oclattn.attention(query, key, value, mask=attn_mask if is_mask else None,
                                       bias=None if is_mask else attn_mask, causal=is_causal,
                                       align=TOP_LEFT if is_causal else 0, scale=scale)


def enable() -> None:
    """Replaces torch.nn.functional.scaled_dot_product_attention, for models that call it, as nn.MultiheadAttention,
    nn.TransformerEncoder and most of others' do.

    Taken are float32, float16 and bfloat16 tensors on the CPU, [batch, heads, length, width], without gradient, dropout
    and autocast; everything else goes to PyTorch as before. PyTorch's fused inference path of
    nn.TransformerEncoderLayer and nn.MultiheadAttention is switched off meanwhile, as it calls no function that could
    be replaced. Modules that took the function by `from torch.nn.functional import` before keep the one they have.
    calls() tells how many were taken.
    """
    global _enabled, _fast_path_before, _original
    with _lock:
        if _enabled:
            return
        refuse_after_fork()
        if torch.nn.functional.scaled_dot_product_attention is not scaled_dot_product_attention:
            _original = torch.nn.functional.scaled_dot_product_attention
        _fast_path_before = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        torch.nn.functional.scaled_dot_product_attention = scaled_dot_product_attention
        _enabled = True


def disable() -> None:
    """Takes enable() back. Where somebody else has replaced the function since, theirs stays, and ours passes on."""
    global _enabled
    with _lock:
        if not _enabled:
            return
        _enabled = False
        torch.backends.mha.set_fastpath_enabled(_fast_path_before)
        if torch.nn.functional.scaled_dot_product_attention is scaled_dot_product_attention:
            torch.nn.functional.scaled_dot_product_attention = _original
