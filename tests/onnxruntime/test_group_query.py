"""com.microsoft GroupQueryAttention: prompts, caches, windows and rotary positions, against float64 and onnxruntime's
CPU provider."""
import dataclasses

import numpy as np
import pytest

import checks
import hosting
import reference

INPUTS = ("query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length", "cos_cache",
          "sin_cache", "position_ids", "attention_bias", "head_sink")


@dataclasses.dataclass
class Options:
    kind: str = "f32"
    batch: int = 2
    heads: int = 4
    kv_heads: int = 2
    q_len: int = 5
    head_dim: int = 16
    packed: bool = False
    past: int = None              # None: no such inputs; 0: empty ones
    room: int = 0                 # the cache has room for so many more than it needs
    ragged: bool = False
    window: int = -1
    softcap: float = 0.0
    scale: float = None
    smooth: bool = False
    sinks: bool = False
    attention_bias: tuple = ()
    rotary: str = ""              # or "halves", "interleaved"
    rotary_dim: int = 16
    dynamic: bool = False

    def __post_init__(self):
        if self.past and self.q_len > 1:
            self.batch, self.ragged = 1, False # all that the CPU provider takes
        if not self.past:
            self.room = 0
        if self.attention_bias:
            self.ragged = False # where its columns lie, is not told for unequal lengths
        self.smooth = self.smooth and not self.sinks

    @property
    def total(self):
        return (self.past or 0) + self.q_len

    @property
    def cpu_has_it(self):
        # Its window was one key wider before 1.24.
        return self.kind != "bf16" and (self.window < 0 or hosting.VERSION >= (1, 24))


def rotate(x, positions, cos, sin, interleaved):
    """Rotary positions: pairs (a, b) of x [heads, rows, width] become (a cos - b sin, b cos + a sin)."""
    half = cos.shape[1]
    c, s = np.float64(cos)[positions], np.float64(sin)[positions]
    first, second = ((slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if interleaved else
                     (slice(0, half), slice(half, 2 * half)))
    turned = x.copy()
    turned[..., first] = x[..., first] * c - x[..., second] * s
    turned[..., second] = x[..., second] * c + x[..., first] * s
    return turned


class Case:
    """Inputs as the operator wants them, and what it must give, for each batch entry alone."""

    def __init__(self, options, rng):
        self.options, self.rng = options, rng
        o = options
        self.arrays = dict.fromkeys(INPUTS)
        q = self.draw(o.batch, o.q_len, o.heads * o.head_dim)
        k, v = (self.draw(o.batch, o.q_len, o.kv_heads * o.head_dim) for _ in range(2))
        if o.packed:
            self.arrays["query"] = np.concatenate([q, k, v], 2)
        else:
            self.arrays.update(query=q, key=k, value=v)
        if o.past is not None:
            shape = (o.batch, o.kv_heads, o.past + (o.q_len + o.room if o.room else 0), o.head_dim)
            self.arrays.update(past_key=self.draw(*shape), past_value=self.draw(*shape))
        self.lens = self.draw_lengths()
        self.arrays["seqlens_k"] = (self.lens - 1).astype(np.int32)
        self.arrays["total_sequence_length"] = np.array(o.total, np.int32)
        self.draw_extras()
        self.q = checks.split(q, o.heads)
        self.k, self.v = (checks.split(x, o.kv_heads) for x in (k, v))
        self.entries = [self.entry(b) for b in range(o.batch)]

    def draw(self, *shape):
        return self.rng.standard_normal(shape).astype(checks.TYPES[self.options.kind])

    def draw_lengths(self):
        """Keys of each batch entry, the new ones included."""
        o = self.options
        if not o.ragged:
            return np.full(o.batch, o.total)
        lens = self.rng.integers(o.q_len if o.past else 1, o.total + 1, o.batch)
        lens[-1] = o.total
        return lens

    def draw_extras(self):
        o, kind = self.options, checks.TYPES[self.options.kind]
        if o.rotary:
            angles = np.arange(o.total + 3)[:, None] * 100.0 ** (-np.arange(o.rotary_dim // 2) / o.rotary_dim)
            self.arrays.update(cos_cache=np.cos(angles).astype(kind), sin_cache=np.sin(angles).astype(kind))
        if o.attention_bias:
            batch, heads = o.attention_bias
            self.arrays["attention_bias"] = self.draw(o.batch if batch else 1, o.heads if heads else 1, o.q_len,
                                                      o.total)
        if o.sinks:
            self.arrays["head_sink"] = self.draw(o.heads)

    def entry(self, b):
        """Output, keys and values of one batch entry. In a prompt, rows from its length on are padding."""
        o, arrays = self.options, self.arrays
        before = int(self.lens[b]) - o.q_len if o.past else 0
        q, k, v = self.q[b], self.k[b], self.v[b]
        if o.rotary:
            turn = (before + np.arange(o.q_len), arrays["cos_cache"], arrays["sin_cache"], o.rotary == "interleaved")
            q, k = rotate(q, *turn), rotate(k, *turn)
        if before:
            k, v = (np.concatenate([np.float64(arrays[name][b, :, :before]), x], 1)
                    for name, x in (("past_key", k), ("past_value", v)))
        k, v = k[:, :self.lens[b]], v[:, :self.lens[b]]
        sinks = arrays["head_sink"] if o.sinks else np.zeros(o.heads) if o.smooth else None
        bias = None
        if o.attention_bias:
            bias = np.broadcast_to(np.float64(arrays["attention_bias"]), (o.batch, o.heads, o.q_len, o.total))[b:b + 1]
        return reference.attention(q[None], k[None], v[None], causal=True, align=before, bias=bias, sinks=sinks,
                                   window=(o.window - 1, None) if o.window > 0 else None, scale=o.scale,
                                   softcap=o.softcap)[0][0], k, v

    def model(self):
        o = self.options
        attributes = dict(num_heads=o.heads, kv_num_heads=o.kv_heads)
        if o.scale is not None:
            attributes["scale"] = o.scale
        if o.window > 0:
            attributes["local_window_size"] = o.window
        if o.softcap:
            attributes["softcap"] = o.softcap
        if o.smooth:
            attributes["smooth_softmax"] = 1
        if o.rotary:
            attributes.update(do_rotary=1, rotary_interleaved=int(o.rotary == "interleaved"))
        return hosting.node_model("GroupQueryAttention", self.arrays, ["output", "present_key", "present_value"],
                                  domain="com.microsoft", dynamic=o.dynamic, **attributes)

    def check(self):
        o, model = self.options, self.model()
        result = hosting.run_ours(model, self.arrays)
        exact = checks.merge(np.stack([entry[0] for entry in self.entries]))
        rows = np.ones((o.batch, o.q_len), bool) if o.past else np.arange(o.q_len) < self.lens[:, None]
        checks.check_output(result["output"], exact, o.kind, rows, roundings=3 if o.rotary else 0)
        for b, entry in enumerate(self.entries):
            for name, exact in zip(("present_key", "present_value"), entry[1:]):
                length = self.arrays["past_key"].shape[2] if o.room else o.total
                assert result[name].shape == (o.batch, o.kv_heads, length, o.head_dim)
                checks.check_output(result[name][b:b + 1, :, :exact.shape[1]], exact[None], o.kind)
                assert not o.past or (result[name][b, :, exact.shape[1]:] == 0).all()
        if o.cpu_has_it:
            checks.check_beside_cpu(result, model, self.arrays, o.kind, rows)


SINGLE = {
    "plain": {},
    "f16": dict(kind="f16"),
    "bf16": dict(kind="bf16"),
    "many heads for one": dict(heads=6, kv_heads=1),
    "as many": dict(heads=3, kv_heads=3),
    "heads of 64, 100 rows": dict(head_dim=64, q_len=100),
    "packed": dict(packed=True),
    "ragged prompt": dict(ragged=True),
    "scale": dict(scale=0.3),
    "softcap": dict(softcap=2.0),
    "window of 1": dict(window=1),
    "window of 3": dict(window=3),
    "window of 99": dict(window=99),
    "smooth": dict(smooth=True),
    "sinks": dict(sinks=True),
    "sinks f16": dict(sinks=True, kind="f16"),
    "attention bias": dict(attention_bias=(1, 1)),
    "attention bias for all": dict(attention_bias=(0, 0)),
    "attention bias and softcap": dict(attention_bias=(1, 0), softcap=2.0),
    "rotary": dict(rotary="halves"),
    "rotary, interleaved": dict(rotary="interleaved"),
    "rotary f16": dict(rotary="halves", kind="f16"),
    "rotary of a part": dict(rotary="halves", head_dim=32),
    "rotary and packed": dict(rotary="halves", packed=True),
    "rotary and ragged": dict(rotary="halves", ragged=True),
    "empty past": dict(past=0),
    "empty past, rotary": dict(past=0, rotary="halves"),
    "decoding": dict(past=7, q_len=1),
    "decoding f16": dict(past=7, q_len=1, kind="f16"),
    "decoding, ragged": dict(past=7, q_len=1, batch=3, ragged=True),
    "decoding, rotary": dict(past=7, q_len=1, rotary="halves", ragged=True),
    "decoding, packed": dict(past=7, q_len=1, packed=True),
    "decoding, window": dict(past=7, q_len=1, window=3, ragged=True),
    "decoding with room": dict(past=7, q_len=1, room=9, ragged=True),
    "decoding with room, rotary": dict(past=7, q_len=1, room=9, rotary="interleaved"),
    "decoding, attention bias": dict(past=7, q_len=1, attention_bias=(1, 1)),
    "chunk": dict(past=7),
    "chunk, window": dict(past=7, window=4),
    "chunk, rotary": dict(past=7, rotary="halves"),
    "chunk with room": dict(past=7, room=4),
    "dynamic": dict(dynamic=True),
    "dynamic decoding": dict(dynamic=True, past=7, q_len=1),
}


@pytest.mark.parametrize("name", SINGLE)
def test_option(name, rng):
    Case(Options(**SINGLE[name]), rng).check()


def draw_options(rng):
    def pick(*values):
        return values[rng.integers(len(values))]

    past, kv_heads = pick(None, 0, 1, 21), pick(1, 2, 3)
    return Options(kind=pick("f32", "f32", "f16"), batch=pick(1, 2, 3), kv_heads=kv_heads,
                   heads=kv_heads * pick(1, 2, 4), q_len=pick(1, 1, 4) if past else pick(2, 9, 40),
                   head_dim=pick(16, 32, 64), packed=pick(False, True), past=past, room=pick(0, 11),
                   ragged=pick(False, True), window=pick(-1, -1, 1, 6, 50), softcap=pick(0.0, 0.0, 3.0),
                   scale=pick(None, None, 0.2), smooth=pick(False, True), sinks=pick(False, True),
                   attention_bias=pick((), (), (0, 0), (0, 1), (1, 0), (1, 1)),
                   rotary=pick("", "halves", "interleaved"), dynamic=pick(False, True))


@pytest.mark.parametrize("seed", range(60))
def test_options_together(seed):
    rng = np.random.default_rng(seed)
    options = draw_options(rng)
    print(options) # what a failure is reproduced with
    Case(options, rng).check()


@pytest.mark.parametrize("seed", range(100, 120))
def test_options_together_with_own_memory(seed, own_memory):
    test_options_together(seed)


def test_scale_0_is_the_default(rng):
    case = Case(Options(), rng)
    case.options.scale = 0.0
    case.check()


def test_a_window_of_w_keys(rng):
    """The CPU provider of 1.23 takes w + 1 keys, that of newer versions w."""
    case = Case(Options(window=3), rng)
    case.check()
    cpu = hosting.run_cpu(case.model(), case.arrays)["output"]
    if hosting.VERSION < (1, 24):
        case = Case(Options(window=4), np.random.default_rng(20240607))
    exact = checks.merge(np.stack([entry[0] for entry in case.entries]))
    np.testing.assert_allclose(cpu, exact, rtol=2e-5, atol=2e-5)
