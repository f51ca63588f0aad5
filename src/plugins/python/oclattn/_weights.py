"""Weights of an attention block as others store them."""
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ._errors import InvalidArgumentError, InvalidTypeError, UnsupportedError, missing_package

PARTS = ("q", "k", "v", "head")

# Names of the four matrices (with their biases), and whether they are stored [out, in].
_SEPARATE: List[Tuple[bool, Tuple[str, ...], Tuple[str, ...]]] = [
    (False, ("W_q", "W_k", "W_v", "W_head"), ("b_q", "b_k", "b_v", "b_head")),
    (False, ("w_q", "w_k", "w_v", "w_head"), ("b_q", "b_k", "b_v", "b_head")),
] + [(True, tuple(name + ".weight" for name in names), tuple(name + ".bias" for name in names)) for names in (
    ("q_proj", "k_proj", "v_proj", "o_proj"),
    ("q_proj", "k_proj", "v_proj", "out_proj"),
    ("self.query", "self.key", "self.value", "output.dense"),
    ("query", "key", "value", "output.dense"),
    ("q_lin", "k_lin", "v_lin", "out_lin"),
    ("q", "k", "v", "o"),
    ("to_q", "to_k", "to_v", "to_out.0"),
)]
# Q, K and V in one matrix: its names, those of the last matrix, and whether they are stored [out, in].
_PACKED = [
    (True, ("in_proj_weight", "in_proj_bias"), ("out_proj.weight", "out_proj.bias")),
    (True, ("qkv.weight", "qkv.bias"), ("proj.weight", "proj.bias")),
    (False, ("c_attn.weight", "c_attn.bias"), ("c_proj.weight", "c_proj.bias")),
]


def _from_packed(tensors: Dict[str, Any], names: Tuple[str, str], last: Tuple[str, str],
                 out_in: bool) -> Dict[str, Any]:
    found: Dict[str, Any] = {"out_in": out_in, "w_head": tensors[last[0]], "b_head": tensors.get(last[1])}
    axis = 0 if out_in else 1
    for part, matrix in zip(PARTS, np.split(tensors[names[0]], 3, axis)):
        found["w_" + part] = matrix
    if tensors.get(names[1]) is not None:
        for part, bias in zip(PARTS, np.split(tensors[names[1]], 3)):
            found["b_" + part] = bias
    return found


def find(tensors: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """Arguments of MultiHeadAttention, from tensors by name; None where no known set of names is complete."""
    for out_in, matrices, biases in _SEPARATE:
        if all(name in tensors for name in matrices):
            found = {"w_" + part: tensors[name] for part, name in zip(PARTS, matrices)}
            found.update({"b_" + part: tensors.get(name) for part, name in zip(PARTS, biases)})
            return {"out_in": out_in, **found}
    for out_in, names, last in _PACKED:
        if names[0] in tensors and last[0] in tensors:
            return _from_packed(tensors, names, last, out_in)
    return None


def read_file(path: Any, prefix: str = "") -> Tuple[Dict[str, Any], Dict[str, str]]:
    """The tensors of a .safetensors file whose names begin with prefix, which is taken off, and the file's metadata."""
    try:
        from safetensors import safe_open
    except ImportError as error:
        raise missing_package("safetensors", "reading %s" % path, error) from None
    with safe_open(str(path), framework="numpy") as file:
        names = [name for name in file.keys() if name.startswith(prefix)]
        return {name[len(prefix):]: file.get_tensor(name) for name in names}, dict(file.metadata() or {})


def from_safetensors(path: Any, prefix: str) -> Dict[str, Any]:
    tensors, metadata = read_file(path, prefix)
    found = find(tensors)
    if found is None:
        names = sorted(tensors)
        raise InvalidArgumentError(
            "%s has no attention block whose names begin with %r: W_q, W_k, W_v and W_head are looked for, or "
            "q_proj.weight and other common names. %s" % (path, prefix, "It has %s%s" % (
                ", ".join(names[:12]), ", ..." if len(names) > 12 else "") if names else "No name begins like that"))
    heads = metadata.get("heads", "")
    return {**found, "n_heads": int(heads) if heads.isdigit() else None}


def from_torch(module: Any) -> Dict[str, Any]:
    """Of a torch.nn.MultiheadAttention."""
    if not hasattr(module, "in_proj_weight") or not hasattr(module, "out_proj"):
        raise InvalidTypeError("a torch.nn.MultiheadAttention is wanted, not a %s: give the matrices of others to "
                               "MultiHeadAttention itself, with out_in=True where they are a Linear's"
                               % type(module).__name__)
    if module.bias_k is not None or module.bias_v is not None or module.add_zero_attn:
        raise UnsupportedError("add_bias_kv and add_zero_attn append keys that oclattn does not know")
    if module.training and module.dropout > 0:
        raise UnsupportedError("the module is in training mode with dropout, which oclattn does not have: call .eval()")
    found: Dict[str, Any] = {"n_heads": module.num_heads, "out_in": True, "w_head": module.out_proj.weight.detach()}
    packed = module.in_proj_weight
    parts = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight) if packed is None else packed.chunk(3)
    found.update({"w_" + part: matrix.detach() for part, matrix in zip(PARTS, parts)})
    if module.in_proj_bias is not None:
        found.update({"b_" + part: bias.detach() for part, bias in zip(PARTS, module.in_proj_bias.chunk(3))})
    if module.out_proj.bias is not None:
        found["b_head"] = module.out_proj.bias.detach()
    return found
