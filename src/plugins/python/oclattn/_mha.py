"""F(H) = Merge(head_1, ..., head_n) W_head, with its weights prepared once."""
import contextlib
import ctypes as c
import threading
import weakref
from typing import Any, Dict, List, MutableMapping, Optional, Tuple, Union

import numpy as np

from . import _structs as s
from . import _weights
from ._arrays import View, check_float, is_torch, new_like, read, read_floats
from ._attention import attention
from ._context import Context, Lane, Memory, Plan, context_of, enqueue
from ._devices import Device
from ._errors import InvalidArgumentError, InvalidTypeError
from ._library import call, fresh, lib
from ._options import Options, Sizes
from ._stages import Stage, explain_text, mha_stages

_BIAS_FLAGS = {"b_q": s.MHA_B_Q, "b_k": s.MHA_B_K, "b_v": s.MHA_B_V, "b_head": s.MHA_B_HEAD}


class _Prepared:
    """Weights on the device, in the form that a plan's variant reads."""

    def __init__(self, plan: Plan, context: Context, weights: Dict[str, View]) -> None:
        self.handle = c.c_void_p()
        args, memory = fresh(s.MhaWeightsArgs), Memory(context)
        for name, view in weights.items():
            memory.add_input(getattr(args, name), view)

        def work(lane: Lane) -> None:
            call("oclattn_mha_weights", plan.handle, lane.queue, c.byref(args), c.byref(self.handle))

        memory.run(0, work)

    def __del__(self, destroy: Any = lib.oclattn_weights_destroy) -> None:
        destroy(self.handle)


class MultiHeadAttention:
    """The attention block of a layer: F(H) = Merge(head_1, ..., head_n) W_head + b_head.

    w_q: [d_model, n_heads * head_dim]
    w_k: [kv_width, n_kv_heads * head_dim]
    w_v: [kv_width, n_kv_heads * v_dim]
    w_head: [n_heads * v_dim, d_model]
    b_q, b_k, b_v, b_head: one number per column of their matrix
    n_kv_heads: n_heads unless given
    head_dim: d_model / n_heads unless given; v_dim: head_dim unless given
    out_in: the matrices are stored [out, in] instead, as PyTorch's Linear has them

    All weights are of one type, float32, float16 or bfloat16. They are copied: changing the arrays later changes
    nothing. An instance may be called from many threads at once.
    """

    def __init__(self, w_q: Any, w_k: Any, w_v: Any, w_head: Any, n_heads: int, *, n_kv_heads: Optional[int] = None,
                 head_dim: Optional[int] = None, v_dim: Optional[int] = None, b_q: Any = None, b_k: Any = None,
                 b_v: Any = None, b_head: Any = None, out_in: bool = False,
                 device: Union[None, str, Device] = None) -> None:
        given = {"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_head": w_head, "b_q": b_q, "b_k": b_k, "b_v": b_v,
                 "b_head": b_head}
        self.device, self.out_in = device, bool(out_in)
        self._weights = {name: _weight(name, value) for name, value in given.items() if value is not None}
        self.d_model, self.kv_width = self._in_out("w_q")[0], self._in_out("w_k")[0]
        self.n_heads = _count("n_heads", n_heads)
        self.n_kv_heads = self.n_heads if n_kv_heads is None else _count("n_kv_heads", n_kv_heads)
        self.head_dim = self._head_dim() if head_dim is None else _count("head_dim", head_dim)
        self.v_dim = self.head_dim if v_dim is None else _count("v_dim", v_dim)
        self._check()
        self._lock = threading.Lock()
        self._prepared: Dict[Context, List[_Prepared]] = {}
        self._fitting: MutableMapping[Plan, _Prepared] = weakref.WeakKeyDictionary()

    # ---- where weights come from -----------------------------------------------------------------------------------

    @classmethod
    def from_torch(cls, module: Any, *, device: Union[None, str, Device] = None) -> "MultiHeadAttention":
        """Of a torch.nn.MultiheadAttention. Inputs are [batch, rows, d_model] whatever its batch_first says."""
        return cls(device=device, **_weights.from_torch(module))

    @classmethod
    def from_safetensors(cls, path: Any, prefix: str = "", *, n_heads: Optional[int] = None,
                         n_kv_heads: Optional[int] = None, head_dim: Optional[int] = None,
                         device: Union[None, str, Device] = None) -> "MultiHeadAttention":
        """Of the tensors in a file whose names begin with `prefix`: W_q, W_k, W_v, W_head and b_*, stored [in, out], or
        q_proj.weight and other names that models use. n_heads may be left out where the file's metadata says "heads".
        """
        given = _weights.from_safetensors(path, prefix)
        n_heads = given.pop("n_heads") if n_heads is None else n_heads
        if n_heads is None:
            raise InvalidArgumentError("%s does not say how many heads there are: pass n_heads" % path)
        return cls(n_heads=n_heads, n_kv_heads=n_kv_heads, head_dim=head_dim, device=device,
                   **{name: value for name, value in given.items() if name != "n_heads"})

    # ---- shapes ----------------------------------------------------------------------------------------------------

    def _in_out(self, name: str) -> Tuple[int, int]:
        shape = self._weights[name].shape
        return (shape[1], shape[0]) if self.out_in else (shape[0], shape[1])

    def _head_dim(self) -> int:
        if self.d_model % self.n_heads != 0:
            raise InvalidArgumentError("d_model is %d, which %d heads do not divide: head_dim is d_model / n_heads; "
                                       "choose n_heads so that it divides, or give head_dim where it is set apart"
                                       % (self.d_model, self.n_heads))
        return self.d_model // self.n_heads

    def _check(self) -> None:
        widths = {"q": self.n_heads * self.head_dim, "k": self.n_kv_heads * self.head_dim,
                  "v": self.n_kv_heads * self.v_dim, "head": self.d_model}
        wanted = {"q": self.d_model, "k": self.kv_width, "v": self.kv_width, "head": self.n_heads * self.v_dim}
        for part, out_dim in widths.items():
            shape = self._in_out("w_" + part)
            if shape != (wanted[part], out_dim):
                raise InvalidArgumentError(
                    "w_%s is [in, out] = %s, and should be %s for d_model %d, n_heads %d, n_kv_heads %d, head_dim %d, "
                    "v_dim %d; out_in=True takes matrices stored [out, in]" % (
                        part, list(shape), [wanted[part], out_dim], self.d_model, self.n_heads, self.n_kv_heads,
                        self.head_dim, self.v_dim))
            bias = self._weights.get("b_" + part)
            if bias is not None and bias.shape != (out_dim,):
                raise InvalidArgumentError("b_%s has shape %s; it is [%d], one number per column of w_%s" % (
                    part, list(bias.shape), out_dim, part))
        types = {name: view.type for name, view in self._weights.items()}
        if len(set(types.values())) > 1:
            raise InvalidTypeError("weights have one type, and these have several: %s" % types)

    # ---- running ---------------------------------------------------------------------------------------------------

    def __call__(self, x: Any, kv: Any = None, **options: Any) -> Any:
        """F(x).

        x: [batch, rows, d_model], or [rows, d_model]
        kv: [batch, keys, kv_width], or [keys, kv_width]: where keys and values come from; x unless given
        options: causal, align, mask, bias, window, softcap, scale, alibi, sinks, q_lens, kv_lens, as in attention()

        Returns an array like x, of its kind, type and shape.
        """
        inputs, single = self._read_inputs(x, kv)
        desc, data = self._describe(inputs, Options.of(options))
        context = context_of(self.device)
        plan = context.plan("oclattn_mha_plan", desc)
        y = new_like("y", inputs["x"], inputs["x"].shape)
        args, memory = fresh(s.MhaArgs), Memory(context)
        for name, view in inputs.items():
            memory.add_input(getattr(args, name), view)
        for name, view in data.items():
            memory.add_input(getattr(args.score, name), view)
        memory.add_output(args.y, y)
        memory.run(plan.workspace_bytes, lambda lane: self._enqueue(context, plan, lane, args))
        return y.owner[0] if single else y.owner

    def _read_inputs(self, x: Any, kv: Any) -> Tuple[Dict[str, View], bool]:
        single = len(getattr(x, "shape", ())) == 2
        inputs = {"x": _rows("x", x, single, self.d_model)}
        if kv is not None:
            inputs["kv"] = _rows("kv", kv, single, self.kv_width)
            if inputs["kv"].shape[0] != inputs["x"].shape[0]:
                raise InvalidArgumentError("x has %d batch entries and kv has %d: they must be the same" % (
                    inputs["x"].shape[0], inputs["kv"].shape[0]))
        elif self.kv_width != self.d_model:
            raise InvalidArgumentError("w_k takes rows of %d and x has rows of %d: pass kv, where keys and values lie"
                                       % (self.kv_width, self.d_model))
        return inputs, single

    def _describe(self, inputs: Dict[str, View], options: Options) -> Tuple[s.MhaDesc, Dict[str, View]]:
        x, kv = inputs["x"], inputs.get("kv")
        desc = fresh(s.MhaDesc)
        desc.flags |= s.MHA_WEIGHTS_OUT_IN if self.out_in else 0
        for name, flag in _BIAS_FLAGS.items():
            desc.flags |= flag if name in self._weights else 0
        desc.x_type = desc.y_type = x.type_code
        desc.w_type = self._weights["w_q"].type_code
        desc.batch, desc.q_len, desc.d_model = x.shape
        desc.n_heads, desc.n_kv_heads, desc.head_dim, desc.v_dim = (self.n_heads, self.n_kv_heads, self.head_dim,
                                                                    self.v_dim)
        desc.x_strides = (c.c_int64 * 2)(*x.strides[:2])
        if kv is not None:
            desc.flags |= s.MHA_CROSS
            desc.kv_len, desc.kv_width = kv.shape[1:]
            desc.kv_strides = (c.c_int64 * 2)(*kv.strides[:2])
        sizes = Sizes(x.shape[0], self.n_heads, x.shape[1], (kv or x).shape[1])
        return desc, options.fill(desc.score, sizes)

    def _enqueue(self, context: Context, plan: Plan, lane: Lane, args: s.MhaArgs) -> None:
        """Weights prepared for one plan fit others with the same variants and tiles; the library says whether."""
        with self._lock:
            known = self._fitting.get(plan)
            candidates = [known] if known else list(self._prepared.get(context, ()))
        for prepared in candidates:
            args.weights = prepared.handle
            with contextlib.suppress(InvalidArgumentError):
                enqueue("oclattn_mha_enqueue", plan, lane, args)
                self._remember(context, plan, prepared)
                return
        prepared = _Prepared(plan, context, self._weights)
        args.weights = prepared.handle
        enqueue("oclattn_mha_enqueue", plan, lane, args)
        self._remember(context, plan, prepared)

    def _remember(self, context: Context, plan: Plan, prepared: _Prepared) -> None:
        with self._lock:
            self._fitting[plan] = prepared
            known = self._prepared.setdefault(context, [])
            if prepared not in known:
                known.append(prepared)

    # ---- looking inside --------------------------------------------------------------------------------------------

    def probabilities(self, x: Any, kv: Any = None, **options: Any) -> np.ndarray:
        """Who attends to whom: float32 [batch, n_heads, rows, keys], without the batch where x has none.

        Arguments are those of a call. F(H) itself never makes this matrix; here Q and K are computed by numpy.
        """
        inputs, single = self._read_inputs(x, kv)
        heads = {"q": self._project("q", inputs["x"], self.n_heads),
                 "k": self._project("k", inputs.get("kv", inputs["x"]), self.n_kv_heads)}
        probs = attention(heads["q"], heads["k"], heads["k"], return_probs=True, device=self.device, **options)[1]
        return probs[0] if single else probs

    def _project(self, part: str, rows: View, heads: int) -> np.ndarray:
        weights = as_float32(self._weights["w_" + part])
        packed = as_float32(rows) @ (weights.T if self.out_in else weights)
        if "b_" + part in self._weights:
            packed += as_float32(self._weights["b_" + part])
        return packed.reshape(*packed.shape[:2], heads, packed.shape[2] // heads).transpose(0, 2, 1, 3)

    def stages(self, x: Any, kv: Any = None) -> List[Stage]:
        """The shape at every stage from H to F(H). Shapes may stand for arrays."""
        sizes = _shape_of(x)
        keys = sizes[-2] if kv is None else _shape_of(kv)[-2]
        return mha_stages(batch=sizes[0] if len(sizes) == 3 else 1, rows=sizes[-2], keys=keys, d_model=self.d_model,
                          kv_width=self.kv_width, n_heads=self.n_heads, n_kv_heads=self.n_kv_heads,
                          head_dim=self.head_dim, v_dim=self.v_dim, cross=kv is not None)

    def explain(self, x: Any, kv: Any = None, **options: Any) -> str:
        """The shape at every stage, and the plan. Arguments are those of a call; shapes may stand for arrays."""
        inputs, _ = self._read_inputs(*(_as_array(value) for value in (x, kv)))
        desc, _ = self._describe(inputs, Options.of(options))
        context = context_of(self.device)
        plan = context.plan("oclattn_mha_plan", desc)
        return explain_text(self.stages(x, kv), context.device, plan.describe())

    def __repr__(self) -> str:
        return "MultiHeadAttention(d_model=%d, n_heads=%d, n_kv_heads=%d, head_dim=%d, v_dim=%d)" % (
            self.d_model, self.n_heads, self.n_kv_heads, self.head_dim, self.v_dim)


# ---- arguments -------------------------------------------------------------------------------------------------------


def _count(name: str, value: Any) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value > 0:
        return int(value)
    raise InvalidArgumentError("%s is %r; it is a whole number, at least 1" % (name, value))


def _weight(name: str, value: Any) -> View:
    """A copy, so that a later change of the original does not reach half of the calls."""
    view = read(name, value.detach() if is_torch(value) else value)
    check_float(view)
    rank = 1 if name.startswith("b_") else 2
    if len(view.shape) != rank:
        raise InvalidArgumentError("%s has shape %s; it is %s" % (
            name, list(view.shape), "[in, out]" if rank == 2 else "one number per column of its matrix"))
    copy = view.owner.contiguous().clone() if is_torch(view.owner) else np.array(view.owner, order="C")
    return read(name, copy)


def _rows(name: str, value: Any, single: bool, width: int) -> View:
    dims = ("batch", "rows", "d_model" if name == "x" else "kv_width")
    view = read_floats(name, value[None] if single else value, dims)
    if view.shape[2] != width:
        raise InvalidArgumentError("%s has rows of %d, and the weights take rows of %d: %s is [batch, rows, %d] or "
                                   "[rows, %d]" % (name, view.shape[2], width, name, width, width))
    return view


def _shape_of(value: Any) -> Tuple[int, ...]:
    return tuple(value.shape) if hasattr(value, "shape") else tuple(value)


def _as_array(value: Any) -> Any:
    """A shape as an array that takes no memory."""
    if isinstance(value, (tuple, list)) and all(isinstance(size, int) for size in value):
        return np.broadcast_to(np.zeros(value[-1:], np.float32), value)
    return value


def as_float32(view: View) -> np.ndarray:
    """The elements in numpy's float32."""
    return view.owner.float().numpy() if is_torch(view.owner) else np.asarray(view.owner, np.float32)
