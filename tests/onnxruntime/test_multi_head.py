"""com.microsoft MultiHeadAttention: layouts, biases, masks and caches, against float64 and onnxruntime's CPU
provider."""
import dataclasses

import numpy as np
import pytest

import checks
import hosting
import reference

INPUTS = ("query", "key", "value", "bias", "key_padding_mask", "attention_bias", "past_key", "past_value")


@dataclasses.dataclass
class Options:
    kind: str = "f32"
    batch: int = 2
    heads: int = 3
    q_len: int = 5
    kv_len: int = 7
    head_dim: int = 16
    v_dim: int = 16
    layout: str = "separate"      # or "packed qkv", "packed kv", "heads": k and v are [batch, heads, kv_len, head_dim]
    bias: bool = False
    padding: str = ""             # or "lengths", "keys", "rows"
    attention_bias: tuple = ()    # how often its batch and its heads repeat: (0 or 1, 0 or 1)
    past: int = 0
    present: bool = False
    unidirectional: bool = False
    scale: float = None
    dynamic: bool = False

    def __post_init__(self):
        if self.layout == "packed qkv":
            self.kv_len = self.q_len
        if self.layout != "separate":
            self.v_dim = self.head_dim
        if self.layout in ("packed qkv", "heads"):
            self.past, self.present = 0, False
        if self.past: # without a present, the CPU provider does not read it
            self.present, self.v_dim = True, self.head_dim

    @property
    def total(self):
        return self.past + self.kv_len

    @property
    def cpu_has_it(self):
        return self.kind != "bf16" and not self.layout.startswith("packed")


class Case:
    """Inputs as the operator wants them, and what it must give."""

    def __init__(self, options, rng):
        self.options, self.rng = options, rng
        self.arrays = dict.fromkeys(INPUTS)
        o = options
        q = self.draw(o.batch, o.q_len, o.heads * o.head_dim)
        k = self.draw(o.batch, o.kv_len, o.heads * o.head_dim)
        v = self.draw(o.batch, o.kv_len, o.heads * o.v_dim)
        self.lay_out(q, k, v)
        self.heads = [checks.split(x, o.heads) for x in (q, k, v)]
        if o.bias:
            self.add_bias()
        if o.past:
            self.add_past()
        self.terms = self.score_terms()
        self.exact, self.lse, _ = reference.attention(*self.heads, scale=o.scale, **self.terms)

    def draw(self, *shape):
        return self.rng.standard_normal(shape).astype(checks.TYPES[self.options.kind])

    def lay_out(self, q, k, v):
        o, arrays = self.options, self.arrays
        by_head = [x.reshape(x.shape[0], x.shape[1], o.heads, -1) for x in (q, k, v)]
        if o.layout == "packed qkv":
            arrays["query"] = np.stack(by_head, 3)
        elif o.layout == "packed kv":
            arrays["query"], arrays["key"] = q, np.stack(by_head[1:], 3)
        elif o.layout == "heads":
            arrays["query"] = q
            arrays["key"], arrays["value"] = (x.transpose(0, 2, 1, 3).copy() for x in by_head[1:])
        else:
            arrays["query"], arrays["key"], arrays["value"] = q, k, v

    def add_bias(self):
        o = self.options
        widths = [o.heads * o.head_dim, o.heads * o.head_dim, o.heads * o.v_dim]
        parts = [self.draw(width) for width in widths]
        self.arrays["bias"] = np.concatenate(parts)
        for i, part in enumerate(parts):
            if i == 0 or o.layout != "heads": # keys that are heads already come from a cache, with their bias
                self.heads[i] = self.heads[i] + checks.split(part[None, None], o.heads)

    def add_past(self):
        o = self.options
        for i, (name, width) in enumerate((("past_key", o.head_dim), ("past_value", o.v_dim))):
            self.arrays[name] = self.draw(o.batch, o.heads, o.past, width)
            self.heads[i + 1] = np.concatenate([np.float64(self.arrays[name]), self.heads[i + 1]], 2)

    def score_terms(self):
        o, terms = self.options, {}
        if o.unidirectional:
            terms.update(causal=True, align=o.past)
        if o.padding == "lengths":
            self.arrays["key_padding_mask"] = self.rng.integers(1, o.total + 1, o.batch).astype(np.int32)
            terms["kv_lens"] = self.arrays["key_padding_mask"]
        elif o.padding:
            shape = (o.batch, o.total) if o.padding == "keys" else (o.batch, o.q_len, o.total)
            mask = (self.rng.random(shape) < 0.7).astype(np.int32)
            self.arrays["key_padding_mask"] = mask
            terms["mask"] = mask[:, None, None] if o.padding == "keys" else mask[:, None]
        if o.attention_bias:
            batch, heads = o.attention_bias
            bias = self.draw(o.batch if batch else 1, o.heads if heads else 1, o.q_len, o.total)
            self.arrays["attention_bias"] = bias
            terms["bias"] = np.float64(bias)
        return terms

    def model(self):
        o = self.options
        attributes = {} if o.scale is None else {"scale": o.scale}
        if o.unidirectional:
            attributes["unidirectional"] = 1
        outputs = ["output"] + (["present_key", "present_value"] if o.present else [])
        return hosting.node_model("MultiHeadAttention", self.arrays, outputs, domain="com.microsoft", dynamic=o.dynamic,
                                  num_heads=o.heads, **attributes)

    def check(self):
        o, model = self.options, self.model()
        result = hosting.run_ours(model, self.arrays)
        checks.check_output(result["output"], checks.merge(self.exact), o.kind, roundings=3 if o.bias else 0)
        if o.present:
            for name, exact in zip(("present_key", "present_value"), self.heads[1:]):
                checks.check_output(result[name], exact, o.kind)
        if o.cpu_has_it:
            # A row without a visible key is 0 here and something else there, where the last row sees all keys.
            rows = (self.lse > -np.inf).all(axis=1)
            rows[:, -1] &= not o.unidirectional or o.kv_len <= o.q_len
            checks.check_beside_cpu(result, model, self.arrays, o.kind, rows)


SINGLE = {
    "plain": {},
    "f16": dict(kind="f16"),
    "heads of 64, 128 keys": dict(head_dim=64, v_dim=64, q_len=128, kv_len=128, heads=2),
    "one query": dict(q_len=1, kv_len=33),
    "v_dim": dict(v_dim=24),
    "scale": dict(scale=0.3),
    "bias": dict(bias=True),
    "bias f16": dict(bias=True, kind="f16"),
    "bias and v_dim": dict(bias=True, v_dim=8),
    "lengths": dict(padding="lengths"),
    "padded keys": dict(padding="keys"),
    "padded keys of rows": dict(padding="rows"),
    "attention bias": dict(attention_bias=(1, 1)),
    "attention bias f16": dict(attention_bias=(1, 1), kind="f16"),
    "attention bias for all": dict(attention_bias=(0, 0)),
    "attention bias by head": dict(attention_bias=(0, 1)),
    "attention bias by batch": dict(attention_bias=(1, 0)),
    "unidirectional": dict(unidirectional=True, kv_len=5),
    "unidirectional, fewer keys": dict(unidirectional=True, kv_len=3),
    "present": dict(present=True),
    "past": dict(past=6),
    "past f16": dict(past=6, kind="f16"),
    "past and one query": dict(past=19, q_len=1),
    "past, unidirectional": dict(past=6, unidirectional=True),
    "past and padded keys": dict(past=6, padding="keys"),
    "past and attention bias": dict(past=6, attention_bias=(1, 1)),
    "past and bias": dict(past=6, bias=True),
    "heads": dict(layout="heads"),
    "heads and bias": dict(layout="heads", bias=True),
    "packed qkv": dict(layout="packed qkv"),
    "packed qkv and bias": dict(layout="packed qkv", bias=True),
    "packed kv": dict(layout="packed kv"),
    "packed kv and padding": dict(layout="packed kv", padding="keys"),
    "dynamic": dict(dynamic=True),
    "dynamic past": dict(dynamic=True, past=3),
    "dynamic packed": dict(dynamic=True, layout="packed qkv"),
}
if hosting.VERSION >= (1, 32): # where the operator takes it
    SINGLE["bf16"] = dict(kind="bf16")


@pytest.mark.parametrize("name", SINGLE)
def test_option(name, rng):
    Case(Options(**SINGLE[name]), rng).check()


def draw_options(rng):
    def pick(*values):
        return values[rng.integers(len(values))]

    unidirectional, q_len = pick(False, True), pick(1, 4, 17)
    return Options(kind=pick("f32", "f32", "f16"), batch=pick(1, 2, 3), heads=pick(1, 2, 5), q_len=q_len,
                   kv_len=q_len if unidirectional else pick(1, 9, 40), head_dim=pick(8, 32, 40), v_dim=pick(8, 32, 24),
                   layout=pick("separate", "separate", "separate", "heads", "packed qkv", "packed kv"),
                   bias=pick(False, True), padding=pick("", "", "lengths", "keys", "rows"),
                   attention_bias=pick((), (), (0, 0), (0, 1), (1, 0), (1, 1)), past=pick(0, 0, 1, 13),
                   present=pick(False, True), unidirectional=unidirectional, scale=pick(None, None, 0.2),
                   dynamic=pick(False, True))


@pytest.mark.parametrize("seed", range(60))
def test_options_together(seed):
    rng = np.random.default_rng(seed)
    options = draw_options(rng)
    print(options) # what a failure is reproduced with
    Case(options, rng).check()


@pytest.mark.parametrize("seed", range(100, 120))
def test_options_together_with_own_memory(seed, own_memory):
    test_options_together(seed)


def test_a_past_counts_without_a_present(rng):
    """The CPU provider does not read it, or reads something else."""
    case = Case(Options(past=6), rng)
    case.options.present = False
    result = hosting.run_ours(case.model(), case.arrays)["output"]
    checks.check_output(result, checks.merge(case.exact), "f32")


def test_scale_0_is_the_default(rng):
    case = Case(Options(), rng)
    case.options.scale = 0.0
    case.check()


def one_query_over(keys, values, mask):
    return {"query": np.ones((1, 1, 8), np.float32), "key": np.float32(keys).reshape(1, -1, 1).repeat(8, 2),
            "value": np.float32(values).reshape(1, -1, 1).repeat(8, 2), "bias": None,
            "key_padding_mask": np.int32([mask])}


def run_one_query(inputs):
    model = hosting.node_model("MultiHeadAttention", inputs, ["output"], domain="com.microsoft", num_heads=1)
    return [run(model, inputs)["output"][0, 0, 0] for run in (hosting.run_ours, hosting.run_cpu)]


def test_a_padded_key_is_hidden_whatever_the_others_score():
    ours, cpu = run_one_query(one_query_over(keys=[-10000, 0], values=[1, 3], mask=[1, 0]))
    assert ours == 1
    assert cpu == 3 # there, padding is a finite number that a score may lie below


def test_a_row_of_padded_keys_is_0():
    ours, cpu = run_one_query(one_query_over(keys=[0, 0], values=[1, 3], mask=[0, 0]))
    assert ours == 0
    assert cpu == 2


def test_the_last_row_is_unidirectional_too(rng):
    case = Case(Options(unidirectional=True, q_len=5, kv_len=9), rng)
    case.check()
    model = case.model()
    ours, cpu = (run(model, case.arrays)["output"] for run in (hosting.run_ours, hosting.run_cpu))
    assert np.abs(ours[:, -1] - cpu[:, -1]).max() > 0.1
