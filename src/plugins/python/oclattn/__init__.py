"""Multi-head attention on any OpenCL device, for numpy and PyTorch.

    import numpy as np, oclattn
    q = k = v = np.random.rand(1, 8, 128, 64).astype(np.float32)    # [batch, heads, length, head_dim]
    o = oclattn.attention(q, k, v, causal=True)

attention(), MultiHeadAttention, devices() and explain() are here; pictures in oclattn.plot, which needs matplotlib; the
operator torch.ops.oclattn.attention and the replacement of scaled_dot_product_attention in oclattn.torch.
"""
from ._attention import attention
from ._devices import Device, devices
from ._errors import (BuildError, InvalidArgumentError, InvalidTypeError, NoDeviceError, OclattnError, OpenCLError,
                      OutOfMemoryError, UnsupportedError)
from ._library import version as __version__
from ._mha import MultiHeadAttention
from ._options import alibi_slopes
from ._stages import Stage, explain

__all__ = ["attention", "MultiHeadAttention", "devices", "Device", "explain", "Stage", "alibi_slopes", "OclattnError",
           "InvalidArgumentError", "InvalidTypeError", "UnsupportedError", "NoDeviceError", "OutOfMemoryError",
           "BuildError", "OpenCLError", "__version__"]


def __getattr__(name: str) -> object:
    """oclattn.plot and oclattn.torch, imported when they are first named."""
    if name in ("plot", "torch"):
        import importlib
        return importlib.import_module("." + name, __name__)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
