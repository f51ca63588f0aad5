"""Attention in float64, written from the contract alone, row by row."""
import numpy as np

ULP = {"float32": 2.0 ** -23, "float16": 2.0 ** -10, "bfloat16": 2.0 ** -7}


def first_key(align, q_len, kv_len, b):
    """offset_b: which key stands where query 0 does."""
    if align is None or isinstance(align, str):
        return kv_len - q_len if align == "bottom-right" else 0
    return int(np.broadcast_to(align, (b + 1,) if np.ndim(align) == 0 else np.shape(align))[b])


def hidden_keys(options, b, i, kv_len, q_len, keys):
    j = np.arange(keys)
    at = i + first_key(options.get("align"), q_len, kv_len, b)
    hidden = j >= kv_len
    if options.get("causal"):
        hidden |= j > at
    left, right = options.get("window") or (None, None)
    if left is not None:
        hidden |= j < at - left
    if right is not None:
        hidden |= j > at + right
    return hidden, np.abs(at - j)


def row(q, k, options, b, h, i, q_len, kv_len, shape):
    """Scores of one row, -inf where hidden."""
    scale = options.get("scale")
    s = (1 / np.sqrt(len(q)) if scale is None else scale) * (k @ q)
    if options.get("softcap"):
        s = options["softcap"] * np.tanh(s / options["softcap"])
    hidden, distance = hidden_keys(options, b, i, kv_len, q_len, len(k))
    if options.get("alibi") is not None:
        s = s - np.float64(options["alibi"][h]) * distance
    if options.get("bias") is not None:
        bias = np.broadcast_to(np.asarray(options["bias"], np.float64), shape)[b, h, i]
        hidden |= bias == -np.inf
        s = s + bias
    if options.get("mask") is not None:
        hidden |= ~np.broadcast_to(np.asarray(options["mask"]) != 0, shape)[b, h, i]
    return np.where(hidden, -np.inf, s)


def softmax(s, sink):
    """Probabilities and the logarithm of their denominator."""
    top = max(s.max(initial=-np.inf), sink)
    if top == -np.inf:
        return np.zeros_like(s), -np.inf
    e = np.exp(s - top)
    total = e.sum() + np.exp(sink - top)
    return e / total, top + np.log(total)


def length(options, name, b, planned):
    lens = options.get(name)
    return planned if lens is None else min(max(int(lens[b]), 0), planned)


def attention(q, k, v, **options):
    """o, lse and probabilities of arrays [batch, heads, length, width]."""
    q, k, v = (np.asarray(array, np.float64) for array in (q, k, v))
    shape = q.shape[:3] + (k.shape[2],)
    o, lse, probs = np.zeros(q.shape[:3] + v.shape[3:]), np.full(shape[:3], -np.inf), np.zeros(shape)
    for b, h, i in np.ndindex(shape[:3]):
        q_len, kv_len = length(options, "q_lens", b, shape[2]), length(options, "kv_lens", b, shape[3])
        if i >= q_len:
            continue
        kv_head = h // (q.shape[1] // k.shape[1])
        scores = row(q[b, h, i], k[b, kv_head], options, b, h, i, q_len, kv_len, shape)
        sink = -np.inf if options.get("sinks") is None else float(options["sinks"][h])
        probs[b, h, i], lse[b, h, i] = softmax(scores, sink)
        o[b, h, i] = probs[b, h, i] @ v[b, kv_head]
    return o, lse, probs


def mha(x, weights, n_heads, kv=None, n_kv_heads=None, **options):
    """F(x) in float64. weights: w_q, w_k, w_v, w_head stored [in, out], and b_* where there are any."""
    w = {name: np.asarray(value, np.float64) for name, value in weights.items()}
    x = np.asarray(x, np.float64)
    kv = x if kv is None else np.asarray(kv, np.float64)

    def heads(rows, part, count):
        packed = rows @ w["w_" + part] + w.get("b_" + part, 0)
        return packed.reshape(*packed.shape[:2], count, packed.shape[2] // count).transpose(0, 2, 1, 3)

    n_kv_heads = n_kv_heads or n_heads
    o = attention(heads(x, "q", n_heads), heads(kv, "k", n_kv_heads), heads(kv, "v", n_kv_heads), **options)[0]
    merged = o.transpose(0, 2, 1, 3).reshape(*x.shape[:2], o.shape[1] * o.shape[3])
    return merged @ w["w_head"] + w.get("b_head", 0)


def assert_close(result, exact, kind, scale=1.0):
    """Half an ulp of the result's type for its rounding, and some ulps of float32 for the sums before it."""
    result = np.asarray(result, np.float64)
    assert result.shape == exact.shape
    rounding = 0.51 * ULP[kind] * np.abs(exact) if kind != "float32" else 0
    allowed = rounding + scale * 64 * ULP["float32"] * (1 + np.abs(exact)) + (2.0 ** -25 if kind == "float16" else 0)
    assert np.array_equal(np.isneginf(result), np.isneginf(exact))
    finite = np.isfinite(exact)
    wrong = np.abs(result[finite] - exact[finite]) > (allowed[finite] if np.ndim(allowed) else allowed)
    assert not wrong.any(), "%d of %d differ, by up to %g" % (
        wrong.sum(), wrong.size, np.abs(result[finite] - exact[finite]).max())
