"""Runs on the device that OCLATTN_DEVICE names. The same examples every time, so that a failure is found again."""
import pathlib

import hypothesis
import numpy as np
import pytest

import oclattn

hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=150, database=None,
                                     suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("fixed")


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)


def pytest_report_header(config):
    return "oclattn %s on: %s" % (oclattn.__version__, ", ".join(map(str, oclattn.devices())))


class Sample(dict):
    """The tensors of the sample layer, and where they are."""

    path = pathlib.Path(__file__).parents[1] / "data" / "minilm_layer0.safetensors"


@pytest.fixture(scope="session")
def sample():
    from safetensors.numpy import load_file
    return Sample(load_file(Sample.path))
