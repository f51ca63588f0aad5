"""The errors a new user makes: each is a right answer, or an exception that says what to change."""
import array
import ctypes

import numpy as np
import pytest

import oclattn
from oclattn import _arrays


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


Q = ones(1, 4, 3, 8)


def refused(kinds, words, *arguments, **options):
    with pytest.raises(kinds) as caught:
        oclattn.attention(*arguments, **options)
    assert isinstance(caught.value, oclattn.OclattnError)
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize("wrong, words", [
    (ones(4, 3, 8), ["3 dimensions", "[4, 3, 8]", "q[None]"]),
    (ones(3, 8), ["2 dimensions", "q[None, None]"]),
    (ones(2, 1, 4, 3, 8), ["5 dimensions", "q.reshape"]),
    (np.float32(3), ["0 dimensions"]),
])
def test_wrong_rank(wrong, words):
    refused(ValueError, ["q has"] + words, wrong, Q, Q)


@pytest.mark.parametrize("q, k, v, words", [
    (ones(1, 6, 3, 8), Q, Q, ["q has 6 heads and k has 4", "multiple"]),
    (Q, ones(1, 0, 3, 8), ones(1, 0, 3, 8), ["k has shape [1, 0, 3, 8]", "at least 1"]),
    (Q, ones(2, 4, 3, 8), ones(2, 4, 3, 8), ["q has 1 batch entries and k has 2"]),
    (Q, ones(1, 2, 3, 8), ones(1, 4, 3, 8), ["k has 2 heads and v has 4"]),
    (Q, ones(1, 4, 5, 8), Q, ["k has 5 keys and v has 3"]),
    (Q, ones(1, 4, 3, 16), Q, ["q has 8 columns and k has 16"]),
    (ones(1, 4, 3, 0), ones(1, 4, 3, 0), Q, ["q has shape [1, 4, 3, 0]"]),
])
def test_shapes_that_disagree(q, k, v, words):
    refused(ValueError, words, q, k, v)


def test_a_head_that_is_too_wide():
    wide = ones(1, 1, 2, 2000)
    refused(NotImplementedError, ["head_dim is 2000", "1024"], wide, wide, wide)


@pytest.mark.parametrize("wrong, words", [
    (ones(1, 4, 3, 8, dtype=np.int64), ["int64", "q.astype(np.float32)"]),
    (ones(1, 4, 3, 8, dtype=bool), ["bool", "q.astype(np.float32)"]),
    (ones(1, 4, 3, 8, dtype=np.float64), ["float64", "q.astype(np.float32)"]),
    (ones(1, 4, 3, 8, dtype=np.complex64), ["complex64", "q.real"]),
    (np.full((1, 4, 3, 8), "a"), ["q has elements"]),
    (np.empty((1, 4, 3, 8), object), ["object"]),
    (Q.tolist(), ["list", "np.asarray(q, np.float32)"]),
    (tuple(Q), ["tuple", "np.asarray(q, np.float32)"]),
    (None, ["NoneType", "np.asarray(q, np.float32)"]),
    (3.0, ["float", "np.asarray(q, np.float32)"]),
    (np.ma.masked_array(Q, Q > 2), ["masked array", "q.data"]),
    (b"text", ["q has elements of type uint8"]),
])
def test_wrong_types(wrong, words):
    refused((TypeError, ValueError), words, wrong, Q, Q)
    with pytest.raises(TypeError):
        oclattn.attention(wrong, Q, Q)


@pytest.mark.parametrize("options, words", [
    ({"mask": ones(3, 3)}, ["mask has elements of type float32", "bias="]),
    ({"mask": ones(3, 3, dtype=np.int64)}, ["mask has elements of type int64", "mask != 0"]),
    ({"mask": [[True] * 3] * 3}, ["mask is of type list"]),
    ({"bias": ones(3, 3, dtype=bool)}, ["bias has elements of type bool", "mask="]),
    ({"bias": ones(3, 3, dtype=np.float64)}, ["bias has elements of type float64", "bias.astype(np.float32)"]),
    ({"window": 4}, ["window is 4", "(left, right)"]),
    ({"window": (1, 2, 3)}, ["(left, right)"]),
    ({"softcap": "big"}, ["softcap"]),
    ({"causal": "yes"}, ["causal", "True or False"]),
    ({"q_lens": [1.5]}, ["q_lens", "whole numbers"]),
    ({"align": [0.5]}, ["align", "whole numbers"]),
    ({"align": 0.5}, ["align", "whole numbers"]),
    ({"sinks": [True] * 4}, ["sinks", "real numbers"]),
    ({"device": 0}, ["device", "0:0"]),
])
def test_options_of_wrong_types(options, words):
    refused(TypeError, words, Q, Q, Q, **options)


@pytest.mark.parametrize("options, words", [
    ({"mask": ones(5, dtype=bool)}, ["mask has shape [5]", "[1, 4, 3, 3]"]),
    ({"mask": ones(1, 1, 4, 3, 3, dtype=bool)}, ["does not broadcast"]),
    ({"align": "left"}, ["align is 'left'", "top-left", "bottom-right"]),
    ({"align": [1, 2]}, ["align has shape [2]"]),
    ({"kv_lens": [1, 2]}, ["kv_lens has shape [2]", "[1]"]),
    ({"kv_lens": [2 ** 40]}, ["32 bits"]),
    ({"kv_lens": [2], "causal": True}, ["align is needed", "kv_lens"]),
    ({"alibi": "standard"}, ["alibi", "auto"]),
    ({"alibi": [1.0]}, ["alibi has shape [1]", "[4]"]),
    ({"sinks": [1.0]}, ["sinks has shape [1]"]),
    ({"scale": float("nan")}, ["scale", "finite"]),
    ({"softcap": -1.0}, ["softcap", "positive"]),
    ({"window": (-5, 0)}, ["window_left"]),
])
def test_options_that_make_no_sense(options, words):
    refused(ValueError, words, Q, Q, Q, **options)


def test_a_mask_of_keys_per_batch_entry():
    q = ones(2, 4, 5, 8)
    refused(ValueError, ["mask[:, None, None, :]"], q, ones(2, 4, 3, 8), ones(2, 4, 3, 8),
            mask=ones(2, 3, dtype=bool))


@pytest.mark.parametrize("options", [{"causal": True}, {"window": (1, None)}, {"alibi": "auto"}])
def test_align_is_asked_for_where_it_matters(options):
    k = ones(1, 4, 5, 8)
    refused(ValueError, ["align", "3 queries and 5 keys", "bottom-right"], Q, k, k, **options)
    oclattn.attention(Q, k, k, align="bottom-right", **options)
    oclattn.attention(Q, Q, Q, **options)


def test_unknown_device():
    refused(LookupError, ["abacus"], Q, Q, Q, device="abacus")


def test_fortran_ordered_read_only_and_reversed(rng):
    q = rng.standard_normal((1, 4, 3, 8)).astype(np.float32)
    expected = oclattn.attention(q, q, q)
    fixed = q.copy()
    fixed.flags.writeable = False
    assert np.array_equal(oclattn.attention(fixed, fixed, fixed), expected)
    fortran = np.asfortranarray(q)
    assert np.array_equal(oclattn.attention(fortran, fortran, fortran), expected)
    backwards = np.ascontiguousarray(q[..., ::-1])[..., ::-1]
    assert np.array_equal(oclattn.attention(backwards, backwards, backwards), expected)
    swapped = q.astype(">f4")
    assert np.array_equal(oclattn.attention(swapped, swapped, swapped), expected)
    assert np.array_equal(q, fixed)


def test_unaligned_memory(rng):
    q = rng.standard_normal((1, 4, 3, 8)).astype(np.float32)
    raw = np.zeros(q.nbytes + 1, np.uint8)
    odd = np.ndarray(q.shape, np.float32, raw.data, offset=1)
    odd[...] = q
    assert not odd.flags.aligned and _arrays.read("q", odd).address % 4 == 0
    assert np.array_equal(oclattn.attention(odd, odd, odd), oclattn.attention(q, q, q))


def test_overlapping_views_of_different_types():
    """Two bytes apart, so that no one buffer serves both."""
    raw = np.ones(4096, np.float16)
    q = raw[:64].reshape(1, 1, 4, 16)
    k = np.ndarray((1, 1, 4, 16), np.float32, raw.data, offset=4)
    assert np.isfinite(oclattn.attention(q, k, k)).all()


def test_broadcast_inputs(rng):
    k = rng.standard_normal((1, 1, 5, 8)).astype(np.float32)
    q = rng.standard_normal((3, 2, 4, 8)).astype(np.float32)
    repeated = np.broadcast_to(k, (3, 2, 5, 8))
    whole = repeated.copy()
    assert np.array_equal(oclattn.attention(q, repeated, repeated), oclattn.attention(q, whole, whole))


def test_buffers_of_others(rng):
    q = rng.standard_normal((1, 1, 2, 8)).astype(np.float32)
    expected = oclattn.attention(q, q, q)
    view = memoryview(array.array("f", q.ravel())).cast("B").cast("f", q.shape)
    assert np.array_equal(oclattn.attention(view, view, view), expected)
    block = (ctypes.c_float * 8 * 2 * 1 * 1).from_buffer_copy(q)
    assert np.array_equal(oclattn.attention(block, block, block), expected)


class Exporter:
    """What hands its memory over by DLPack alone."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_dlpack(rng):
    q = rng.standard_normal((1, 1, 2, 8)).astype(np.float16)
    o = oclattn.attention(*[Exporter(q)] * 3)
    assert o.dtype == np.float16 and np.array_equal(o, oclattn.attention(q, q, q))


class Elsewhere(Exporter):
    def __dlpack__(self, **options):
        raise BufferError("it lives on a GPU")


def test_dlpack_of_another_device():
    refused(TypeError, ["Elsewhere", "GPU", "CPU first"], Elsewhere(Q), Q, Q)


def test_masks_of_bytes_and_of_any_stride(rng):
    q = rng.standard_normal((1, 4, 6, 8)).astype(np.float32)
    mask = rng.random((12, 6)) > 0.5
    expected = oclattn.attention(q, q, q, mask=mask[::2].copy())
    assert np.array_equal(oclattn.attention(q, q, q, mask=mask[::2]), expected)
    assert np.array_equal(oclattn.attention(q, q, q, mask=mask[::2].view(np.uint8) * 7), expected)
    assert np.array_equal(oclattn.attention(q, q, q, mask=np.asfortranarray(mask[::2])), expected)
    assert np.array_equal(oclattn.attention(q, q, q, mask=mask[::2][::-1].copy()[::-1]), expected)
