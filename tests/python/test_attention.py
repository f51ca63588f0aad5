"""oclattn.attention() beside float64: options alone and together, shapes, types and layouts."""
import hypothesis
import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest

import oclattn
import reference

TYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def bhsd(array):
    return array


def bshd(array):
    return np.ascontiguousarray(array.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)


def padded(array):
    """Part of a larger array, whose other elements are NaN."""
    larger = np.full([size + 3 for size in array.shape], np.nan, array.dtype)
    view = larger[1:-2, 2:-1, 1:-2, 2:-1]
    view[...] = array
    return view


def reversed_rows(array):
    return np.ascontiguousarray(array[:, :, ::-1])[:, :, ::-1]


LAYOUTS = [bhsd, bshd, padded, np.asfortranarray, reversed_rows]


@st.composite
def problems(draw):
    """Arrays and options. Few head sizes, since kernels are compiled for each."""
    batch, kv_heads, group = draw(st.integers(0, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    q_len, kv_len = draw(st.integers(0, 20)), draw(st.integers(0, 40))
    head_dim, v_dim = draw(st.sampled_from([(8, 8), (16, 8)]))
    rng = np.random.default_rng(draw(st.integers(0, 2 ** 16)))
    kind = draw(st.sampled_from(list(TYPES)))
    shapes = [(batch, kv_heads * group, q_len, head_dim), (batch, kv_heads, kv_len, head_dim),
              (batch, kv_heads, kv_len, v_dim)]
    arrays = [draw(st.sampled_from(LAYOUTS))(rng.standard_normal(shape).astype(TYPES[kind])) for shape in shapes]
    return arrays, kind, draw(options(rng, batch, kv_heads * group, q_len, kv_len))


def masks(rng, shape, draw):
    """With some of its dimensions 1, or left out at the front."""
    kept = [size if draw(st.booleans()) else 1 for size in shape]
    return rng.random(kept[draw(st.integers(0, 3)):])


@st.composite
def options(draw, rng, batch, heads, q_len, kv_len):
    shape, chosen = (batch, heads, q_len, kv_len), draw(st.sets(st.sampled_from(
        ["causal", "mask", "bias", "window", "softcap", "scale", "alibi", "sinks", "q_lens", "kv_lens"]), max_size=3))
    made = {}
    if chosen & {"causal", "window", "alibi"}:
        made["align"] = draw(st.sampled_from(["top-left", "bottom-right", -2, 5, list(range(batch))]))
    values = {
        "causal": lambda: True,
        "mask": lambda: masks(rng, shape, draw) > 0.4,
        "bias": lambda: np.where((m := masks(rng, shape, draw)) > 0.3, m, -np.inf).astype(
            draw(st.sampled_from(list(TYPES.values())))),
        "window": lambda: draw(st.sampled_from([(3, 0), (None, 2), (0, None), (4, 4)])),
        "softcap": lambda: 2.5,
        "scale": lambda: draw(st.sampled_from([0.3, 0.0, -0.5])),
        "alibi": lambda: oclattn.alibi_slopes(heads),
        "sinks": lambda: rng.standard_normal(heads).astype(np.float32),
        "q_lens": lambda: rng.integers(0, q_len + 2, batch),
        "kv_lens": lambda: rng.integers(0, kv_len + 2, batch),
    }
    made.update((name, values[name]()) for name in sorted(chosen))
    return made


def with_lengths_moved(options, q, k):
    """bottom-right follows the lengths, which the reference is told as one offset per batch entry."""
    if options.get("align") != "bottom-right":
        return options
    offsets = [reference.length(options, "kv_lens", b, k.shape[2]) - reference.length(options, "q_lens", b, q.shape[2])
               for b in range(q.shape[0])]
    return {**options, "align": offsets}


@hypothesis.given(problems())
def test_any_problem(problem):
    (q, k, v), kind, chosen = problem
    align_needed = any(name in chosen for name in ("causal", "window", "alibi"))
    o, lse, probs = oclattn.attention(q, k, v, return_lse=True, return_probs=True, **chosen)
    exact = reference.attention(q, k, v, **(with_lengths_moved(chosen, q, k) if align_needed else chosen))
    assert o.dtype == q.dtype and lse.dtype == probs.dtype == np.float32
    reference.assert_close(o, exact[0], kind)
    reference.assert_close(lse, exact[1], "float32")
    reference.assert_close(probs, exact[2], "float32")


def test_long_rows(rng):
    q, k, v = (rng.standard_normal((1, 2, n, 64)).astype(np.float32) for n in (70, 300, 300))
    o = oclattn.attention(q, k, v, causal=True, align="bottom-right")
    reference.assert_close(o, reference.attention(q, k, v, causal=True, align="bottom-right")[0], "float32")


def test_decoding_row_by_row(rng):
    q, k, v = (rng.standard_normal((2, 4, 9, 32)).astype(np.float32) for _ in range(3))
    whole = oclattn.attention(q, k, v, causal=True)
    for n in range(1, 10):
        row = oclattn.attention(q[:, :, n - 1:n], k[:, :, :n], v[:, :, :n], causal=True, align="bottom-right")
        np.testing.assert_allclose(row, whole[:, :, n - 1:n], rtol=0, atol=2e-6)


def test_packed_qkv_is_read_in_place(rng):
    packed = rng.standard_normal((2, 7, 3, 4, 16)).astype(np.float32)
    q, k, v = packed.transpose(2, 0, 3, 1, 4)
    o = oclattn.attention(q, k, v)
    assert np.array_equal(o, oclattn.attention(q.copy(), k.copy(), v.copy()))


def test_the_same_array_three_times(rng):
    x = rng.standard_normal((1, 2, 6, 8)).astype(np.float32)
    reference.assert_close(oclattn.attention(x, x, x), reference.attention(x, x, x)[0], "float32")


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_f32_queries_over_a_smaller_cache(rng, dtype):
    q = rng.standard_normal((1, 4, 3, 16)).astype(np.float32)
    k, v = (rng.standard_normal((1, 2, 11, 16)).astype(dtype) for _ in range(2))
    o = oclattn.attention(q, k, v)
    assert o.dtype == np.float32
    reference.assert_close(o, reference.attention(q, k, v)[0], "float32")


def test_hidden_garbage_does_not_reach_the_result(rng):
    q, k, v = (rng.standard_normal((1, 2, 5, 8)).astype(np.float32) for _ in range(3))
    clean = oclattn.attention(q, k, v, kv_lens=[3])
    k[:, :, 3:], v[:, :, 3:] = np.nan, np.inf
    assert np.array_equal(oclattn.attention(q, k, v, kv_lens=[3]), clean)


def test_a_row_that_sees_nothing_is_zero(rng):
    q, k, v = (rng.standard_normal((1, 1, 4, 8)).astype(np.float32) for _ in range(3))
    o, lse = oclattn.attention(q, k, v, mask=np.arange(4)[:, None] > 0, return_lse=True)
    assert not o[0, 0, 0].any() and lse[0, 0, 0] == -np.inf and np.isfinite(lse[0, 0, 1:]).all()


@pytest.mark.parametrize("shape_q, shape_k", [((0, 2, 3, 8), (0, 2, 3, 8)), ((1, 2, 0, 8), (1, 2, 3, 8)),
                                              ((1, 2, 3, 8), (1, 2, 0, 8))])
def test_empty_arrays(shape_q, shape_k):
    k = np.ones(shape_k, np.float32)
    o, lse, probs = oclattn.attention(np.ones(shape_q, np.float32), k, k, return_lse=True, return_probs=True)
    assert o.shape == shape_q and lse.shape == shape_q[:3] and probs.shape == shape_q[:3] + shape_k[2:3]
    assert not o.any() and not probs.any() and np.isneginf(lse).all()


def test_what_is_returned(rng):
    q = rng.standard_normal((1, 1, 2, 8)).astype(np.float32)
    assert isinstance(oclattn.attention(q, q, q), np.ndarray)
    o, probs = oclattn.attention(q, q, q, return_probs=True)
    assert o.shape == (1, 1, 2, 8) and probs.shape == (1, 1, 2, 2)
    np.testing.assert_allclose(probs.sum(-1), 1, atol=1e-6)
