"""oclattn.MultiHeadAttention and explain()."""
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import oclattn
import reference

MATRICES, BIASES = ("w_q", "w_k", "w_v", "w_head"), ("b_q", "b_k", "b_v", "b_head")


def weights(rng, d_model=24, q_width=24, kv_width=None, k_width=None, v_width=None, merged=None):
    kv_width, k_width = kv_width or d_model, k_width or q_width
    v_width, merged = v_width or k_width, merged or q_width
    shapes = [(d_model, q_width), (kv_width, k_width), (kv_width, v_width), (merged, d_model)]
    made = {name: rng.standard_normal(shape) / np.sqrt(shape[0]) for name, shape in zip(MATRICES, shapes)}
    made.update((name, rng.standard_normal(shape[1])) for name, shape in zip(BIASES, shapes))
    return {name: value.astype(np.float32) for name, value in made.items()}


def test_the_sample_layer(sample):
    layer = oclattn.MultiHeadAttention.from_safetensors(sample.path)
    assert (layer.d_model, layer.n_heads, layer.head_dim) == (384, 12, 32)
    result = layer(sample["H"])
    assert result.shape == (51, 384)
    np.testing.assert_allclose(result, sample["F"], rtol=0, atol=5e-6)
    assert np.array_equal(layer(sample["H"][None])[0], result)


@hypothesis.settings(max_examples=25)
@hypothesis.given(st.integers(0, 2), st.integers(1, 12), st.sampled_from([1, 3]), st.booleans(), st.booleans(),
                  st.integers(0, 2 ** 16))
def test_any_layer(batch, rows, n_kv_heads, out_in, biased, seed):
    rng = np.random.default_rng(seed)
    w = weights(rng, k_width=8 * n_kv_heads)
    kept = w if biased else {name: w[name] for name in MATRICES}
    given = {name: np.ascontiguousarray(value.T) if out_in else value for name, value in kept.items()}
    layer = oclattn.MultiHeadAttention(n_heads=3, n_kv_heads=n_kv_heads, out_in=out_in, **given)
    x = rng.standard_normal((batch, rows, 24)).astype(np.float32)
    exact = reference.mha(x, kept, 3, n_kv_heads=n_kv_heads, causal=True)
    reference.assert_close(layer(x, causal=True), exact, "float32")


def test_keys_and_values_from_elsewhere(rng):
    w = weights(rng, kv_width=10)
    layer = oclattn.MultiHeadAttention(n_heads=3, **w)
    x, kv = (rng.standard_normal((2, rows, width)).astype(np.float32) for rows, width in ((4, 24), (7, 10)))
    mask = rng.random((2, 1, 1, 7)) > 0.3
    reference.assert_close(layer(x, kv, mask=mask), reference.mha(x, w, 3, kv, mask=mask), "float32")
    with pytest.raises(ValueError, match="pass kv"):
        layer(x)


def test_widths_set_apart(rng):
    w = weights(rng, q_width=3 * 16, v_width=3 * 4, merged=3 * 4)
    layer = oclattn.MultiHeadAttention(n_heads=3, head_dim=16, v_dim=4, **w)
    x = rng.standard_normal((1, 5, 24)).astype(np.float32)
    reference.assert_close(layer(x), reference.mha(x, w, 3), "float32")


def test_half_precision(rng):
    w = {name: value.astype(np.float16) for name, value in weights(rng).items()}
    layer = oclattn.MultiHeadAttention(n_heads=3, **w)
    x = rng.standard_normal((1, 5, 24)).astype(np.float16)
    assert layer(x).dtype == np.float16
    np.testing.assert_allclose(layer(x), reference.mha(x, w, 3), rtol=0, atol=4e-3)


def test_weights_are_prepared_once_for_all_lengths(rng):
    layer = oclattn.MultiHeadAttention(n_heads=3, **weights(rng))
    for rows in (1, 2, 40, 3, 1, 200):
        layer(np.ones((1, rows, 24), np.float32))
    assert [len(prepared) for prepared in layer._prepared.values()] == [1]


def test_weights_are_copied(rng):
    w = weights(rng)
    layer = oclattn.MultiHeadAttention(n_heads=3, **w)
    x = np.ones((1, 2, 24), np.float32)
    before = layer(x)
    w["w_q"][...] = 0
    assert np.array_equal(layer(x), before) and np.array_equal(layer(np.ones((2, 2, 24), np.float32))[0], before[0])


def test_probabilities(rng):
    w = weights(rng, k_width=8)
    layer = oclattn.MultiHeadAttention(n_heads=3, n_kv_heads=1, **w)
    x = rng.standard_normal((6, 24)).astype(np.float32)
    probs = layer.probabilities(x, causal=True)
    assert probs.shape == (3, 6, 6)
    v = (x @ w["w_v"] + w["b_v"])[None]
    merged = (probs @ v).transpose(1, 0, 2).reshape(6, 24)
    np.testing.assert_allclose(merged @ w["w_head"] + w["b_head"], layer(x, causal=True), rtol=0, atol=1e-5)


@pytest.mark.parametrize("names, out_in", [
    (("q_proj", "k_proj", "v_proj", "o_proj"), True), (("self.query", "self.key", "self.value", "output.dense"), True)])
def test_names_of_others(tmp_path, rng, names, out_in):
    from safetensors.numpy import save_file
    w = weights(rng)
    tensors = {"layers.3." + name + ".weight": np.ascontiguousarray(w[ours].T) for name, ours in zip(names, MATRICES)}
    tensors.update({"layers.3." + name + ".bias": w[ours] for name, ours in zip(names, BIASES)})
    save_file(tensors, tmp_path / "model.safetensors")
    layer = oclattn.MultiHeadAttention.from_safetensors(tmp_path / "model.safetensors", "layers.3.", n_heads=3)
    x = rng.standard_normal((1, 4, 24)).astype(np.float32)
    reference.assert_close(layer(x), reference.mha(x, w, 3), "float32")


@pytest.mark.parametrize("names, last, out_in", [
    (("in_proj_weight", "in_proj_bias"), ("out_proj.weight", "out_proj.bias"), True),
    (("c_attn.weight", "c_attn.bias"), ("c_proj.weight", "c_proj.bias"), False)])
def test_packed_weights_of_others(tmp_path, rng, names, last, out_in):
    from safetensors.numpy import save_file
    w = weights(rng)
    packed, head = np.concatenate([w[name] for name in MATRICES[:3]], 1), w["w_head"]
    tensors = {names[0]: np.ascontiguousarray(packed.T if out_in else packed), last[1]: w["b_head"],
               names[1]: np.concatenate([w[name] for name in BIASES[:3]]),
               last[0]: np.ascontiguousarray(head.T if out_in else head)}
    save_file(tensors, tmp_path / "model.safetensors")
    layer = oclattn.MultiHeadAttention.from_safetensors(tmp_path / "model.safetensors", n_heads=3)
    x = rng.standard_normal((1, 4, 24)).astype(np.float32)
    reference.assert_close(layer(x), reference.mha(x, w, 3), "float32")


def test_files_that_do_not_fit(tmp_path, sample, rng):
    from safetensors.numpy import save_file
    with pytest.raises(ValueError, match="No name begins"):
        oclattn.MultiHeadAttention.from_safetensors(sample.path, "encoder.")
    save_file({"embedding": np.ones(3, np.float32)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="It has embedding"):
        oclattn.MultiHeadAttention.from_safetensors(tmp_path / "other.safetensors", n_heads=2)
    save_file(weights(rng), tmp_path / "headless.safetensors")
    with pytest.raises(ValueError, match="pass n_heads"):
        oclattn.MultiHeadAttention.from_safetensors(tmp_path / "headless.safetensors")
    with pytest.raises(FileNotFoundError):
        oclattn.MultiHeadAttention.from_safetensors(tmp_path / "none.safetensors")


@pytest.mark.parametrize("change, words", [
    ({"n_heads": 5}, "24, which 5 heads do not divide"),
    ({"n_heads": 0}, "n_heads is 0"),
    ({"w_k": np.ones((24, 7), np.float32)}, "w_k is"),
    ({"w_head": np.ones((8, 24), np.float32)}, "w_head is"),
    ({"b_v": np.ones(3, np.float32)}, "b_v has shape"),
    ({"b_v": np.ones((24, 24), np.float32)}, "b_v has shape"),
    ({"w_q": np.ones(24, np.float32)}, "w_q has shape"),
    ({"w_q": np.ones((24, 24), np.float16)}, "one type"),
    ({"w_q": np.ones((24, 24))}, "float64"),
    ({"w_q": [[1.0]]}, "list"),
])
def test_weights_that_do_not_fit(rng, change, words):
    with pytest.raises(ValueError, match=words):
        oclattn.MultiHeadAttention(**{"n_heads": 3, **weights(rng), **change})


def test_inputs_that_do_not_fit(rng):
    layer = oclattn.MultiHeadAttention(n_heads=3, **weights(rng))
    for wrong, words in ((np.ones((2, 25), np.float32), "rows of 25"), (np.ones(24, np.float32), "1 dimensions"),
                         (np.ones((1, 2, 24)), "float64"), ([[1.0] * 24], "list")):
        with pytest.raises(ValueError, match=words):
            layer(wrong)
    with pytest.raises(TypeError, match="known ones are causal"):
        layer(np.ones((2, 24), np.float32), casual=True)


def test_explain(rng, sample):
    layer = oclattn.MultiHeadAttention.from_safetensors(sample.path)
    text = oclattn.explain(layer, (51, 384))
    for words in ("[1, 12, 51, 32]", "384 = 12 x 32", "projection", "variant", "F(H)"):
        assert words in text
    text = oclattn.explain((1, 8, 1, 64), (1, 2, 9, 64), (1, 2, 9, 64), causal=True, align="bottom-right")
    assert "causal" in text and "variant" in text and "device" in text
    q = np.ones((1, 2, 3, 8), np.float16)
    assert "f16" in oclattn.explain(q, q, q)
    with pytest.raises(ValueError, match="q, k and v"):
        oclattn.explain(q)
