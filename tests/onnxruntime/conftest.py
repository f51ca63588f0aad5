"""Runs on the device that OCLATTN_DEVICE names, with the library that OCLATTN_ONNXRUNTIME_LIBRARY names."""
import os
import pathlib
import sys

import numpy as np
import onnxruntime
import pytest

import oclattn_onnxruntime

sys.path.append(str(pathlib.Path(__file__).parents[1] / "python")) # the float64 reference


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)


@pytest.fixture
def own_memory(monkeypatch):
    """Sessions made from now on meet a device that does not share the host's memory: the layer says so."""
    monkeypatch.setenv("OCLATTN_LAYER_UNIFIED_MEMORY", "0")


def pytest_report_header(config):
    return "onnxruntime %s, %s, on %s" % (onnxruntime.__version__, oclattn_onnxruntime.get_library_path(),
                                          os.environ.get("OCLATTN_DEVICE", "the device that is chosen"))
