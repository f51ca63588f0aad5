"""ONNX's Attention beyond the suite's cases: its options together, against float64 and onnxruntime's CPU provider."""
import dataclasses

import numpy as np
import pytest

import checks
import hosting
import reference

INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
SCORES = ("scaled", "capped", "biased", "probabilities") # by qk_matmul_output_mode


@dataclasses.dataclass
class Options:
    kind: str = "f32"
    batch: int = 2
    heads: int = 4
    kv_heads: int = 4
    q_len: int = 5
    kv_len: int = 7
    head_dim: int = 16
    v_dim: int = 16
    rows: bool = False            # 3-D: [batch, length, heads * head_dim]
    mask: str = ""                # or "bool", "f32", "f16", "bf16"
    mask_shape: tuple = (1, 1, 1) # of batch, heads, queries: 0 where that dimension is 1; fewer: not there
    mask_short: int = 0           # keys at the end that the mask does not tell of
    past: int = None
    nonpad: bool = False
    causal: bool = False
    window: tuple = (-1, -1)
    softcap: float = 0.0
    scale: float = None
    scores: str = ""
    dynamic: bool = False

    def __post_init__(self):
        if self.past is not None:
            self.nonpad = False
        if self.nonpad:
            self.past = None
        self.mask_short = min(self.mask_short, self.total - 1)

    @property
    def total(self):
        return (self.past or 0) + self.kv_len

    @property
    def opset(self):
        return 25 if self.window != (-1, -1) else 24 if self.nonpad else 23

    @property
    def cpu_has_it(self):
        """Where the CPU provider takes the options, and computes what the standard says. That of older versions takes
        less, and aligns causal attention over unequal lengths otherwise."""
        mask = not self.mask or (self.mask in ("bool", self.kind) and not self.mask_short and
                                 self.mask_shape != () and (self.mask_shape[-1] or self.q_len == 1))
        positions = not (self.causal and self.past and self.q_len != self.kv_len)
        return (hosting.VERSION >= (1, 32) and self.kind != "bf16" and self.opset == 23 and self.scale != 0 and mask and
                positions)


class Case:
    def __init__(self, options, rng):
        self.options, self.rng = options, rng
        o = options
        self.q = self.draw(o.batch, o.heads, o.q_len, o.head_dim)
        self.k = self.draw(o.batch, o.kv_heads, o.kv_len, o.head_dim)
        self.v = self.draw(o.batch, o.kv_heads, o.kv_len, o.v_dim)
        self.arrays = dict.fromkeys(INPUTS)
        for name, heads in zip("QKV", (self.q, self.k, self.v)):
            self.arrays[name] = checks.merge(heads) if o.rows else heads
        terms = self.score_terms()
        past = self.add_past()
        self.exact, self.lse, self.probs = reference.attention(self.q, *past, scale=o.scale, softcap=o.softcap, **terms)
        self.scores = self.exact_scores(past[0], terms)

    def draw(self, *shape, kind=None):
        return self.rng.standard_normal(shape).astype(checks.TYPES[kind or self.options.kind])

    def add_past(self):
        o, heads = self.options, [self.k, self.v]
        if o.past is not None:
            for i, name in enumerate(("past_key", "past_value")):
                self.arrays[name] = self.draw(o.batch, o.kv_heads, o.past, heads[i].shape[3])
                heads[i] = np.concatenate([self.arrays[name], heads[i]], 2)
        self.present = heads
        return heads

    def score_terms(self):
        o, terms, offset = self.options, {}, self.options.past or 0
        if o.nonpad:
            lens = self.rng.integers(1, o.kv_len + 1, o.batch)
            self.arrays["nonpad_kv_seqlen"] = lens.astype(np.int64)
            terms["kv_lens"], offset = lens, lens - o.q_len
        if o.causal or o.window != (-1, -1):
            terms.update(causal=o.causal, align=offset, window=tuple(None if w < 0 else w for w in o.window))
        if o.mask:
            self.add_mask(terms)
        return terms

    def add_mask(self, terms):
        o = self.options
        sizes = (o.batch, o.heads, o.q_len)[3 - len(o.mask_shape):]
        shape = tuple(size if full else 1 for size, full in zip(sizes, o.mask_shape)) + (o.total - o.mask_short,)
        if o.mask == "bool":
            mask = self.rng.random(shape) < 0.7
            beyond, name = False, "mask"
        else:
            mask = self.draw(*shape, kind=o.mask)
            mask[self.rng.random(shape) < 0.2] = -np.inf
            beyond, name = -np.inf, "bias"
        self.arrays["attn_mask"] = mask
        exact = mask if o.mask == "bool" else np.float64(mask)
        terms[name] = np.concatenate([exact, np.full(shape[:-1] + (o.mask_short,), beyond)], -1)

    def exact_scores(self, keys, terms):
        o = self.options
        if o.scores == "probabilities":
            return self.probs
        keys = np.repeat(np.float64(keys), o.heads // o.kv_heads, 1)
        scale = 1 / np.sqrt(o.head_dim) if o.scale is None else o.scale
        capped = scaled = np.float64(self.q) @ keys.transpose(0, 1, 3, 2) * scale
        if o.softcap:
            capped = o.softcap * np.tanh(scaled / o.softcap)
        if o.scores != "biased":
            return scaled if o.scores == "scaled" else capped
        hidden = np.zeros(scaled.shape, bool)
        for b, i in np.ndindex(o.batch, o.q_len):
            hidden[b, :, i], _ = reference.hidden_keys(terms, b, i, int(terms.get("kv_lens", [o.total] * o.batch)[b]),
                                                       o.q_len, o.total)
        hidden |= ~np.broadcast_to(terms.get("mask", True), hidden.shape)
        return np.where(hidden, -np.inf, capped + terms.get("bias", 0.0))

    def model(self):
        o, attributes = self.options, {}
        if o.rows:
            attributes.update(q_num_heads=o.heads, kv_num_heads=o.kv_heads)
        if o.causal:
            attributes["is_causal"] = 1
        if o.window != (-1, -1):
            attributes.update(left_window_size=o.window[0], right_window_size=o.window[1])
        if o.softcap:
            attributes["softcap"] = o.softcap
        if o.scale is not None:
            attributes["scale"] = o.scale
        outputs = ["output"] + (["present_key", "present_value"] if o.past is not None else [])
        if o.scores:
            attributes["qk_matmul_output_mode"] = SCORES.index(o.scores)
            outputs += [""] * (3 - len(outputs)) + ["qk_matmul_output"]
        return hosting.node_model("Attention", self.arrays, outputs, opset=o.opset, dynamic=o.dynamic, **attributes)

    def check(self):
        o, model = self.options, self.model()
        if o.opset > hosting.NEWEST_OPSET:
            pytest.skip("Attention of opset %d is not in onnxruntime 1.%d" % (o.opset, hosting.VERSION[1]))
        result = hosting.run_ours(model, self.arrays)
        exact = checks.merge(self.exact) if o.rows else self.exact
        checks.check_output(result["output"], exact, o.kind)
        if o.past is not None:
            for name, present in zip(("present_key", "present_value"), self.present):
                assert (result[name] == present).all()
        if o.scores:
            reference.assert_close(result["qk_matmul_output"], self.scores, checks.NAMES[o.kind], 4)
        if o.cpu_has_it:
            rows = (self.lse > -np.inf).all(axis=1)
            result["output"] = self.by_rows(result["output"])
            checks.check_beside_cpu(result, model, self.arrays, o.kind, rows, self.by_rows)

    def by_rows(self, output):
        return output if self.options.rows else output.transpose(0, 2, 1, 3)


SINGLE = {
    "plain": {},
    "rows": dict(rows=True),
    "f16": dict(kind="f16"),
    "bf16": dict(kind="bf16"),
    "grouped": dict(kv_heads=2),
    "grouped rows": dict(kv_heads=1, rows=True, v_dim=8),
    "heads of 64, 300 keys": dict(head_dim=64, v_dim=64, kv_len=300, q_len=65),
    "wide heads": dict(head_dim=256, v_dim=256),
    "odd heads": dict(head_dim=13, v_dim=7),
    "causal": dict(causal=True),
    "causal, fewer keys": dict(causal=True, kv_len=3),
    "causal with a past": dict(causal=True, past=6),
    "empty past": dict(past=0),
    "past f16": dict(past=6, kind="f16"),
    "past, one query, grouped": dict(past=30, q_len=1, kv_len=1, kv_heads=2),
    "scale of 0": dict(scale=0.0),
    "scale": dict(scale=0.3),
    "softcap": dict(softcap=1.5),
    "boolean mask": dict(mask="bool"),
    "boolean mask of keys": dict(mask="bool", mask_shape=()),
    "boolean mask of rows": dict(mask="bool", mask_shape=(1,)),
    "boolean mask of heads": dict(mask="bool", mask_shape=(1, 0)),
    "boolean mask of batches": dict(mask="bool", mask_shape=(1, 0, 0)),
    "short boolean mask": dict(mask="bool", mask_short=3),
    "float mask": dict(mask="f32"),
    "float mask of rows": dict(mask="f32", mask_shape=(1,)),
    "float mask of heads": dict(mask="f32", mask_shape=(0, 1, 0)),
    "short float mask": dict(mask="f32", mask_shape=(1,), mask_short=2),
    "f16 mask": dict(mask="f16", kind="f16"),
    "f16 mask of f32": dict(mask="f16"),
    "f32 mask of f16": dict(mask="f32", kind="f16"),
    "bf16 mask": dict(mask="bf16", kind="bf16"),
    "mask and past": dict(mask="bool", past=6),
    "mask, causal, past": dict(mask="f32", past=6, causal=True, kv_heads=2),
    "softcap and mask": dict(softcap=1.5, mask="f32"),
    "lengths": dict(nonpad=True),
    "lengths and causal": dict(nonpad=True, causal=True),
    "lengths and a mask": dict(nonpad=True, mask="bool", mask_short=1),
    "window": dict(window=(2, 1)),
    "window and causal": dict(window=(2, -1), causal=True),
    "window of 0": dict(window=(0, 0)),
    "window and past": dict(window=(3, -1), causal=True, past=6),
    "window and lengths": dict(window=(3, 0), nonpad=True),
    "dynamic": dict(dynamic=True),
    "dynamic rows with everything": dict(dynamic=True, rows=True, kv_heads=2, mask="f32", past=3, causal=True,
                                         softcap=2.0, scores="biased"),
    **{"scores: " + name: dict(scores=name, softcap=1.5, mask="f32", causal=True) for name in SCORES},
    "scores f16": dict(scores="scaled", kind="f16"),
    "scores with a past": dict(scores="biased", past=4, mask="bool"),
}


@pytest.mark.parametrize("name", SINGLE)
def test_option(name, rng):
    Case(Options(**SINGLE[name]), rng).check()


def draw_options(rng):
    def pick(*values):
        return values[rng.integers(len(values))]

    kind, kv_heads = pick("f32", "f32", "f16", "bf16"), pick(1, 2, 3)
    return Options(kind=kind, batch=pick(1, 2, 3), kv_heads=kv_heads, heads=kv_heads * pick(1, 2, 3),
                   q_len=pick(1, 4, 19), kv_len=pick(1, 9, 40), head_dim=pick(8, 32, 40), v_dim=pick(8, 32, 24),
                   rows=pick(False, True), mask=pick("", "bool", kind, "f32"), mask_short=pick(0, 0, 3),
                   mask_shape=pick((), (0,), (1,), (1, 0), (0, 1), (1, 1), (0, 0, 1), (1, 0, 0), (0, 1, 1), (1, 1, 1)),
                   past=pick(None, None, 0, 1, 13), nonpad=pick(False, False, True), causal=pick(False, True),
                   window=pick(*8 * [(-1, -1)], (3, -1), (5, 2)), softcap=pick(0.0, 0.0, 2.0),
                   scale=pick(None, None, 0.2), scores=pick("", "", *SCORES), dynamic=pick(False, True))


@pytest.mark.parametrize("seed", range(80))
def test_options_together(seed):
    rng = np.random.default_rng(seed)
    options = draw_options(rng)
    print(options) # what a failure is reproduced with
    Case(options, rng).check()


@pytest.mark.parametrize("seed", range(100, 120))
def test_options_together_with_own_memory(seed, own_memory):
    test_options_together(seed)
