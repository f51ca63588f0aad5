"""softmax(scale q k^T + ...) v."""
import ctypes as c
from typing import Any, Dict, Optional, Sequence, Tuple, Union

from . import _structs as s
from ._arrays import View, new_like, read_floats, shape_view
from ._context import Context, Lane, Memory, context_of, enqueue
from ._devices import Device
from ._errors import InvalidArgumentError
from ._library import fresh
from ._options import Align, Alibi, Options, Sizes, Window

_DIMS = {"q": ("batch", "heads", "queries", "head_dim"), "k": ("batch", "kv_heads", "keys", "head_dim"),
         "v": ("batch", "kv_heads", "keys", "v_dim")}
_LAYOUT = ("arrays are [batch, heads, length, width]; x.transpose(0, 2, 1, 3) makes such a one of "
           "[batch, length, heads, width]")


def _disagree(what: str, a: str, a_size: int, b: str, b_size: int) -> InvalidArgumentError:
    return InvalidArgumentError("%s has %d %s and %s has %d: they must be the same (%s)" % (
        a, a_size, what, b, b_size, _LAYOUT))


def _check_shapes(q: View, k: View, v: View) -> None:
    for what, dim, first, second in (("batch entries", 0, q, k), ("batch entries", 0, q, v), ("heads", 1, k, v),
                                     ("keys", 2, k, v)):
        if first.shape[dim] != second.shape[dim]:
            raise _disagree(what, first.name, first.shape[dim], second.name, second.shape[dim])
    if q.shape[3] != k.shape[3]:
        raise _disagree("columns", "q", q.shape[3], "k", k.shape[3])
    for view in (q, k, v):
        if view.shape[1] == 0 or view.shape[3] == 0:
            raise InvalidArgumentError("%s has shape %s; heads and the width of a head are at least 1 (batch and "
                                       "lengths may be 0)" % (view.name, list(view.shape)))
    if q.shape[1] % k.shape[1] != 0:
        raise InvalidArgumentError("q has %d heads and k has %d: the number in q must be a multiple of that in k, so "
                                   "that each head of k and v serves as many of q (%s)" % (
                                       q.shape[1], k.shape[1], _LAYOUT))


class Problem:
    """One problem, checked: its descriptor and the memory it reads."""

    def __init__(self, inputs: Dict[str, View], options: Options, return_lse: bool, return_probs: bool) -> None:
        q, k, v = inputs.values()
        _check_shapes(q, k, v)
        self.inputs = inputs
        self.sizes = Sizes(q.shape[0], q.shape[1], q.shape[2], k.shape[2])
        self.desc = desc = fresh(s.AttentionDesc)
        desc.q_type, desc.k_type, desc.v_type, desc.o_type = q.type_code, k.type_code, v.type_code, q.type_code
        desc.batch, desc.q_heads, desc.q_len, desc.head_dim = q.shape
        desc.kv_heads, desc.kv_len, desc.v_dim = v.shape[1:]
        for name, view in self.inputs.items():
            setattr(desc, name + "_strides", (c.c_int64 * 3)(*view.strides[:3]))
        desc.want_lse = int(return_lse)
        desc.scores_kind = s.PROBABILITIES if return_probs else 0
        self.score_data = options.fill(desc.score, self.sizes)

    def outputs(self) -> Dict[str, View]:
        """Fresh arrays in the order in which they are returned."""
        q, sizes = self.inputs["q"], self.sizes
        rows = (sizes.batch, sizes.heads, sizes.q_len)
        made = {"o": new_like("o", q, rows + (self.desc.v_dim,))}
        if self.desc.want_lse:
            made["lse"] = new_like("lse", q, rows, "float32")
        if self.desc.scores_kind:
            made["scores"] = new_like("scores", q, rows + (sizes.kv_len,), "float32")
        return made

    def run(self, context: Context) -> Tuple[Any, ...]:
        plan = context.plan("oclattn_attention_plan", self.desc)
        args, memory, outputs = fresh(s.AttentionArgs), Memory(context), self.outputs()
        for name, view in self.inputs.items():
            memory.add_input(getattr(args, name), view)
        for name, view in self.score_data.items():
            memory.add_input(getattr(args.score, name), view)
        for name, view in outputs.items():
            memory.add_output(getattr(args, name), view)

        def work(lane: Lane) -> None:
            enqueue("oclattn_attention_enqueue", plan, lane, args)

        memory.run(plan.workspace_bytes, work)
        return tuple(view.owner for view in outputs.values())


def attention(q: Any, k: Any, v: Any, *, causal: bool = False, align: Align = None, mask: Any = None, bias: Any = None,
              window: Window = None, softcap: Optional[float] = None, scale: Optional[float] = None,
              alibi: Alibi = None, sinks: Any = None, q_lens: Any = None, kv_lens: Any = None, return_lse: bool = False,
              return_probs: bool = False, device: Union[None, str, Device] = None) -> Any:
    """softmax(scale q k^T + ...) v, on an OpenCL device.

    Arrays are numpy's, torch's (on the CPU), or anything with DLPack or the buffer protocol, of float32, float16 or
    bfloat16, each with its own type. Sums are float32 always. They are read in place, whatever their strides, unless
    the last dimension is not contiguous or a stride is negative.

    q: [batch, heads, queries, head_dim]
    k: [batch, kv_heads, keys, head_dim]; heads is a multiple of kv_heads, and head h reads h // (heads // kv_heads)
    v: [batch, kv_heads, keys, v_dim]
    causal: hide the keys after a query's own position
    align: where queries stand among the keys: "top-left" (query 0 at key 0), "bottom-right" (the last query at the last
        key), or how many keys come before query 0, one number or one per batch entry. Needed for causal, window and
        alibi unless there are as many queries as keys, and no q_lens or kv_lens.
    mask: bool or uint8, True = attend; broadcasts to [batch, heads, queries, keys]
    bias: added to the scores, -inf hides; broadcasts to [batch, heads, queries, keys]
    window: (left, right): how many keys before and after its own position a query sees; None = no bound
    softcap: c > 0 replaces a score s by c tanh(s / c)
    scale: of q k^T; 1 / sqrt(head_dim) unless given
    alibi: "auto" for the standard slopes, or slopes [heads]
    sinks: [heads], logits that take part in the softmax's denominator alone
    q_lens, kv_lens: whole numbers [batch]: rows from q_lens[b] on are 0, keys from kv_lens[b] on are hidden
    device: one of devices(), or "gpu", "cpu", "P:D", a part of a name; otherwise OCLATTN_DEVICE's, or the best one

    Returns o [batch, heads, queries, v_dim], of q's kind and type. With return_lse and return_probs, a tuple: o, then
    the natural logarithm of each row's denominator [batch, heads, queries], then the probabilities [batch, heads,
    queries, keys], both float32. A row that sees no key is 0.
    """
    options = Options(causal, align, mask, bias, window, softcap, scale, alibi, sinks, q_lens, kv_lens)
    views = {name: read_floats(name, value, _DIMS[name]) for name, value in (("q", q), ("k", k), ("v", v))}
    results = Problem(views, options, bool(return_lse), bool(return_probs)).run(context_of(device))
    return results if len(results) > 1 else results[0]


def _array_or_shape(name: str, value: Any) -> View:
    if isinstance(value, (tuple, list)) and all(isinstance(size, int) for size in value):
        if len(value) != 4:
            raise InvalidArgumentError("%s has %d dimensions; it is [%s]" % (name, len(value), ", ".join(_DIMS[name])))
        return shape_view(name, value, "float32")
    return read_floats(name, value, _DIMS[name])


def explain_attention(q: Union[Any, Sequence[int]], k: Any, v: Any, *, return_lse: bool = False,
                      return_probs: bool = False, device: Union[None, str, Device] = None, **options: Any) -> str:
    """The plan of attention() with the same arguments; shapes, of float32, may stand for arrays."""
    context = context_of(device)
    views = {name: _array_or_shape(name, value) for name, value in (("q", q), ("k", k), ("v", v))}
    problem = Problem(views, Options.of(options), return_lse, return_probs)
    return "device: %s\n%s" % (context.device, context.plan("oclattn_attention_plan", problem.desc).describe())
