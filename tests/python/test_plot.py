"""Pictures and the command line."""
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import oclattn
from oclattn import plot
from oclattn.__main__ import main


@pytest.fixture
def probs(rng):
    q = rng.standard_normal((2, 3, 4, 8)).astype(np.float32)
    return oclattn.attention(q, q, q, causal=True, return_probs=True)[1]


def drawn(picture):
    return [axis for axis in picture.figure.axes if axis.get_title().startswith("head")]


def test_one_map_per_head(probs):
    axes = drawn(plot.heads(probs, tokens=["the", "cat", "sat", "down"], entry=1))
    assert [axis.get_title() for axis in axes] == ["head 1", "head 2", "head 3"]
    for axis, expected in zip(axes, probs[1]):
        shown = axis.images[0].get_array()
        np.testing.assert_array_equal(shown.filled(0), expected)
        np.testing.assert_array_equal(shown.mask, np.triu(np.ones((4, 4), bool), 1))
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["the", "cat", "sat", "down"]
    grey = axes[0].images[0].cmap.get_bad()
    assert grey[0] == grey[1] == grey[2]


def test_hidden_keys_may_be_said(probs):
    axes = drawn(plot.heads(probs[0], hidden=[True, False, False, False]))
    assert axes[0].images[0].get_array().mask[:, 0].all() and not axes[0].images[0].get_array().mask[:, 1:].any()


def test_pictures_are_files_and_shown_in_notebooks(tmp_path, probs):
    picture = plot.heads(probs).save(tmp_path / "heads.png", tmp_path / "heads.svg")
    assert (tmp_path / "heads.png").read_bytes().startswith(b"\x89PNG") and picture._repr_png_().startswith(b"\x89PNG")
    assert xml.parse(tmp_path / "heads.svg").getroot().tag.endswith("svg")


def test_a_layer_is_computed(sample):
    layer = oclattn.MultiHeadAttention.from_safetensors(sample.path)
    axes = drawn(plot.heads(layer, sample["H"], causal=True))
    assert len(axes) == 12
    np.testing.assert_array_equal(axes[5].images[0].get_array().filled(0),
                                  layer.probabilities(sample["H"], causal=True)[5])


def test_stages_name_every_shape(tmp_path, sample):
    layer = oclattn.MultiHeadAttention.from_safetensors(sample.path)
    plot.stages(layer, (51, 384)).save(tmp_path / "stages.svg")
    text = "".join(xml.parse(tmp_path / "stages.svg").getroot().itertext())
    for words in ("1 x 51 x 384", "1 x 12 x 51 x 32", "1 x 12 x 51 x 51", "F(H)", "384 = 12 x 32"):
        assert words in text


def test_stages_of_keys_from_elsewhere(rng):
    w = {"w_q": (24, 24), "w_k": (10, 8), "w_v": (10, 8), "w_head": (24, 24)}
    layer = oclattn.MultiHeadAttention(n_heads=3, n_kv_heads=1, **{
        name: rng.standard_normal(shape).astype(np.float32) for name, shape in w.items()})
    texts = [text.get_text() for text in plot.stages(layer, (5, 24), (7, 10)).figure.axes[0].texts]
    assert "1 x 7 x 10" in texts and "1 x 3 x 5 x 7" in texts


@pytest.mark.parametrize("arguments, options, words", [
    ((np.ones((3, 3), np.float32),), {}, "shape"),
    ((np.ones((2, 3, 3), np.int64),), {}, "floats"),
    ((np.ones((2, 3, 3), np.float32),), {"tokens": ["a"]}, "1 labels for 3"),
    ((np.ones((2, 3, 3), np.float32),), {"tokens": "abc"}, "in a list"),
    ((np.ones((2, 3, 3), np.float32),), {"causal": True}, "options belong"),
    ((np.ones((2, 0, 3), np.float32),), {}, "not empty"),
])
def test_mistakes(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        plot.heads(*arguments, **options)


def test_demo(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "new" / "folder")]) == 0
    assert ": right" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [
        "heads.png", "heads.svg", "stages.png", "stages.svg"]


def test_demo_of_a_wrong_result(tmp_path, sample, capsys):
    from safetensors.numpy import save_file
    save_file({**sample, "F": sample["F"] + 1}, tmp_path / "wrong.safetensors", {"heads": "12"})
    assert main(["demo", "--out", str(tmp_path), "--weights", str(tmp_path / "wrong.safetensors")]) == 1
    assert "WRONG" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, code, words", [
    (["demo", "--weights", "/nowhere.safetensors"], 2, "nowhere"),
    (["demo", "--device", "abacus"], 3, "abacus"),
])
def test_exit_codes(tmp_path, capsys, arguments, code, words):
    assert main(arguments + ["--out", str(tmp_path)]) == code
    assert words in capsys.readouterr().err


def test_device_list(capsys):
    assert main(["devices"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(oclattn.devices())


def test_a_missing_package_is_named(tmp_path):
    """matplotlib cannot be imported where this stands before it."""
    (tmp_path / "matplotlib.py").write_text("raise ImportError('not there')\n")
    done = subprocess.run([sys.executable, "-c", "import oclattn.plot"], capture_output=True, text=True, env={
        **os.environ, "PYTHONPATH": "%s:%s" % (tmp_path, os.environ["PYTHONPATH"])})
    assert done.returncode == 1 and "pip install matplotlib" in done.stderr
