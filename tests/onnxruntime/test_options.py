"""The plugin's options, and its words about nodes that it leaves to others."""
import os
import re

import ml_dtypes
import numpy as np
import onnx
import pytest

import hosting

ONES = np.ones((1, 2, 4, 8), np.float32)
INPUTS = {"Q": ONES, "K": ONES, "V": ONES}


@pytest.fixture
def model():
    return hosting.node_model("Attention", INPUTS, ["Y"])


def test_a_device_by_name(model):
    device = os.environ.get("OCLATTN_DEVICE", "cpu")
    assert (hosting.run_ours(model, INPUTS, options={"device": device})["Y"] == 1).all()


def test_the_option_comes_before_the_environment(model, monkeypatch):
    device = os.environ.get("OCLATTN_DEVICE", "cpu")
    monkeypatch.setenv("OCLATTN_DEVICE", "no such device")
    assert (hosting.run_ours(model, INPUTS, options={"device": device})["Y"] == 1).all()


@pytest.mark.parametrize("options, words", [
    ({"device": "no such device"}, "oclattn: .*no such device"),
    ({"min_size": "many"}, "oclattn: .*min_size.*many"),
    ({"min_size": "-1"}, "oclattn: .*min_size.*-1"),
    ({"min_siez": "1"}, "oclattn: .*min_siez"),
    ({"log_level": "loud"}, "oclattn: .*log_level.*loud"),
])
def test_options_that_make_no_sense(model, options, words):
    with pytest.raises(Exception, match=words):
        hosting.Session(model, options=options, severity=4)


def test_config_entries_are_options_too(model):
    with pytest.raises(Exception, match="no such device"):
        hosting.Session(model, config={"ep.oclattnexecutionprovider.device": "no such device"}, severity=4)


def test_cache_folder(model, tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    hosting.run_ours(model, INPUTS, options={"cache_folder": str(folder)})
    assert list(folder.rglob("*.bin"))


def is_ours(model, **options):
    session = hosting.Session(model, options=options)
    session.run(INPUTS)
    return hosting.OURS in session.assignment()


def test_min_size(model):
    assert is_ours(model) and is_ours(model, min_size="0")
    assert not is_ours(model, min_size="1000000000")


# ---- the log ---------------------------------------------------------------------------------------------------------


def log_of(capfd, onnx_model, severity=0, **options):
    capfd.readouterr()
    hosting.Session(onnx_model, severity=severity, options=options)
    return [line for line in capfd.readouterr().err.splitlines() if "oclattn: " in line]


def test_the_log_says_what_is_claimed(capfd, model):
    assert any("attention" in line and "claim" in line for line in log_of(capfd, model))


def test_log_level(capfd, model):
    verbose, quiet = log_of(capfd, model, log_level="debug"), log_of(capfd, model, log_level="warning")
    assert len(quiet) < len(verbose)


def refused(op, inputs, outputs, why, **settings):
    return hosting.node_model(op, inputs, outputs, **settings), why


def packed(x):
    return x.transpose(0, 2, 1, 3).reshape(1, 4, 16)


DOUBLE = ONES.astype(np.float64)
hosting.ONNX_TYPES[DOUBLE.dtype] = 11
QUERY = packed(ONES)
GROUPED = {"query": QUERY, "key": QUERY, "value": QUERY, "past_key": None, "past_value": None,
           "seqlens_k": np.array([3], np.int32), "total_sequence_length": np.array(4, np.int32)}
UNCLAIMED = {
    "negative scale": refused("Attention", INPUTS, ["Y"], "scale -0.5", scale=-0.5),
    "scores of MultiHeadAttention": refused("MultiHeadAttention", {"query": QUERY, "key": QUERY, "value": QUERY},
                                            ["Y", "", "", "qk"], "output qk", domain="com.microsoft", num_heads=2),
    "scores of GroupQueryAttention": refused("GroupQueryAttention", GROUPED, ["Y", "k", "v", "qk"], "qk",
                                             domain="com.microsoft", num_heads=2, kv_num_heads=2, qk_output=1),
    "positions": refused("GroupQueryAttention",
                         {**GROUPED, "cos_cache": np.ones((9, 4), np.float32),
                          "sin_cache": np.ones((9, 4), np.float32), "position_ids": np.zeros((1, 4), np.int64)},
                         ["Y", "k", "v"], "position_ids", domain="com.microsoft", num_heads=2, kv_num_heads=2,
                         do_rotary=1),
    "f64": refused("Attention", {"Q": DOUBLE, "K": DOUBLE, "V": DOUBLE}, ["Y"], "float"),
    "another operator": refused("Attention", {"input": QUERY, "weights": np.ones((16, 48), np.float32),
                                              "bias": np.ones(48, np.float32)}, ["Y"], "Attention.*com.microsoft",
                                domain="com.microsoft", num_heads=2),
    "beams": refused("MultiHeadAttention",
                     {"query": QUERY, "key": QUERY, "value": QUERY, "bias": None, "mask": None, "attention_bias": None,
                      "past_key": ONES, "past_value": ONES, "past_sequence_length": np.ones(1, np.int32)},
                     ["Y", "k", "v"], "past_sequence_length|inputs", domain="com.microsoft", num_heads=2),
    "a finite mask": refused("MultiHeadAttention",
                             {"query": QUERY, "key": QUERY, "value": QUERY, "bias": None,
                              "mask": np.ones((1, 4), np.int32)}, ["Y"], "mask_filter_value", domain="com.microsoft",
                             num_heads=2, mask_filter_value=-1.0),
}
if hosting.VERSION >= (1, 32): # where these are
    UNCLAIMED["a cache of a window's size"] = refused(
        "GroupQueryAttention", {**GROUPED, "past_key": ONES, "past_value": ONES}, ["Y", "k", "v"],
        "sliding_window_cache", domain="com.microsoft", num_heads=2, kv_num_heads=2, local_window_size=2,
        sliding_window_cache=1)


@pytest.mark.parametrize("name", UNCLAIMED)
def test_the_log_says_why_a_node_is_left(capfd, name):
    """Also where no other provider has the operator, so that no session comes to be."""
    model, why = UNCLAIMED[name]
    capfd.readouterr()
    try:
        session = hosting.Session(model, severity=0)
        assert hosting.VERSION < (1, 24) or hosting.OURS not in session.assignment()
    except Exception as error:
        assert "oclattn" not in str(error)
    lines = [line for line in capfd.readouterr().err.splitlines() if "oclattn: " in line and "attention" in line]
    assert any(re.search(why, line) for line in lines), lines


def test_the_log_says_why_a_small_node_is_left(capfd, model):
    assert any("min_size" in line for line in log_of(capfd, model, min_size="1000000000"))
