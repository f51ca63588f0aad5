"""Attention in float64, and how far results in smaller types are from it."""
import ml_dtypes
import numpy as np

NUMPY_TYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
# Bits of the significand after the leading one, and the exponent below which numbers are subnormal.
PRECISION = {"f32": (23, -126), "f16": (10, -14), "bf16": (7, -126)}


def attention(q, k, v, causal=False, window_left=-1, kv_lens=None, scale=None):
    """softmax(scale q k^T) v of [batch, heads, length, width] arrays, in float64 from start to end.

    Row i stands at key i (kv_len = q_len) where it is causal or has a window."""
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    group = q.shape[1] // k.shape[1]
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    hidden = hidden_keys(q.shape[2], k.shape[2], causal, window_left)
    result = np.empty(q.shape[:3] + v.shape[3:])
    for b, h in np.ndindex(q.shape[:2]):
        scores = scale * (q[b, h] @ k[b, h // group].T)
        scores[hidden] = -np.inf
        if kv_lens is not None:
            scores[:, kv_lens[b]:] = -np.inf
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        result[b, h] = weights @ v[b, h // group] / weights.sum(axis=-1, keepdims=True)
    return result


def hidden_keys(q_len, kv_len, causal, window_left):
    """[q_len, kv_len], True where key j is hidden from row i."""
    distance = np.arange(kv_len) - np.arange(q_len)[:, None]
    hidden = np.zeros((q_len, kv_len), bool)
    if causal:
        hidden |= distance > 0
    if window_left >= 0:
        hidden |= distance < -window_left
    return hidden


def ulp(values, kind):
    """The distance between neighbours of that type around each value."""
    bits, least_exponent = PRECISION[kind]
    exponents = np.frexp(values)[1] - 1
    return np.ldexp(1.0, np.maximum(exponents, least_exponent) - bits)


def max_error(result, exact):
    """Infinite where the result is not a number, so that no comparison with it can pass."""
    error = np.abs(result.astype(np.float64) - exact)
    return float(np.where(np.isnan(error), np.inf, error).max())


def rms_error(result, exact):
    error = np.abs(result.astype(np.float64) - exact)
    return float(np.sqrt(np.mean(np.where(np.isnan(error), np.inf, error) ** 2)))
