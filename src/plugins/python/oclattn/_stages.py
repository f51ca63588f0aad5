"""From H to F(H): the shape at every stage, in words."""
import dataclasses
from typing import Any, List, Sequence, Tuple, Union

from ._attention import explain_attention
from ._context import context_of
from ._devices import Device
from ._errors import InvalidArgumentError


@dataclasses.dataclass(frozen=True)
class Stage:
    """One stage: the name of what it makes, its shape, and how it is made."""

    name: str
    shape: Tuple[int, ...]
    how: str


def mha_stages(*, batch: int, rows: int, keys: int, d_model: int, kv_width: int, n_heads: int, n_kv_heads: int,
               head_dim: int, v_dim: int, cross: bool) -> List[Stage]:
    source = "H_kv" if cross else "H"
    first = [Stage("H", (batch, rows, d_model), "input")]
    if cross:
        first.append(Stage("H_kv", (batch, keys, kv_width), "input of keys and values"))
    return first + [
        Stage("Q", (batch, rows, n_heads * head_dim), "H W_q"),
        Stage("K", (batch, keys, n_kv_heads * head_dim), source + " W_k"),
        Stage("V", (batch, keys, n_kv_heads * v_dim), source + " W_v"),
        Stage("Q split", (batch, n_heads, rows, head_dim), "columns shared out among %d heads" % n_heads),
        Stage("K split", (batch, n_kv_heads, keys, head_dim), "among %d heads" % n_kv_heads),
        Stage("V split", (batch, n_kv_heads, keys, v_dim), "among %d heads" % n_kv_heads),
        Stage("probabilities", (batch, n_heads, rows, keys), "softmax(scale Q_j K_j^T), never stored"),
        Stage("heads", (batch, n_heads, rows, v_dim), "probabilities times V_j"),
        Stage("merged", (batch, rows, n_heads * v_dim), "heads side by side: %d x %d columns" % (n_heads, v_dim)),
        Stage("F(H)", (batch, rows, d_model), "merged W_head"),
    ]


def width_sentence(d_model: int, n_heads: int, head_dim: int, v_dim: int) -> str:
    if n_heads * head_dim == d_model and v_dim == head_dim:
        return ("d_model = n_heads x head_dim: %d = %d x %d. A head is %d wide; only the merged row is %d wide again."
                % (d_model, n_heads, head_dim, head_dim, d_model))
    return "A head is %d wide in q and k and %d in v; the merged row is %d wide, and W_head makes F(H) %d wide." % (
        head_dim, v_dim, n_heads * v_dim, d_model)


def explain_text(stages: Sequence[Stage], device: Device, plan: str) -> str:
    width = max(len(str(list(stage.shape))) for stage in stages)
    lines = ["%-14s %-*s  %s" % (stage.name, width, list(stage.shape), stage.how) for stage in stages]
    sizes = {stage.name: stage.shape for stage in stages}
    sentence = width_sentence(sizes["H"][2], sizes["Q split"][1], sizes["Q split"][3], sizes["V split"][3])
    return "\n".join(lines + [sentence, "device: %s" % device, plan])


def explain(*what: Any, device: Union[None, str, Device] = None, **options: Any) -> str:
    """What would be computed: the shape at every stage, the plan, and why faster variants were refused. Nothing runs.

    explain(q, k, v, ...): attention() with the same arguments; shapes may stand for arrays
    explain(layer, x, ...): a MultiHeadAttention's call; a shape may stand for x
    """
    if len(what) == 3:
        return explain_attention(*what, device=device, **options)
    if len(what) == 2 and hasattr(what[0], "stages"):
        if device is not None and context_of(device) is not context_of(what[0].device):
            raise InvalidArgumentError("a layer is explained for its own device: give device to MultiHeadAttention")
        return what[0].explain(what[1], **options)
    raise InvalidArgumentError("explain takes q, k and v (arrays or shapes), or a MultiHeadAttention and its input")
