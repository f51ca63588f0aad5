"""Drivers that fail, played by the layer in tests/layer: the host gets a status with our text, or a right result, and
what comes afterwards works. run.sh loads the layer."""
import os

import numpy as np
import pytest

import hosting
import reference

OUT_OF_RESOURCES, OUT_OF_HOST_MEMORY, BUILD_FAILED = -5, -6, -11

pytestmark = pytest.mark.skipif("OPENCL_LAYERS" not in os.environ, reason="run.sh loads the layer that fails")


@pytest.fixture
def fail(monkeypatch):
    """fail(function, n): its n-th call from now on fails, and all after it. fail(): none does."""
    def order(function=None, nth="1+", code=OUT_OF_RESOURCES):
        if function is None:
            monkeypatch.delenv("OCLATTN_LAYER_FAIL", raising=False)
        else:
            monkeypatch.setenv("OCLATTN_LAYER_FAIL", "%s:%s:%d" % (function, nth, code))
    yield order
    order()


@pytest.fixture
def problem(rng):
    q = rng.standard_normal((1, 2, 6, 16)).astype(np.float32)
    k, v, past_key, past_value = (rng.standard_normal((1, 2, 6, 16)).astype(np.float32) for _ in range(4))
    inputs = dict(Q=q, K=k, V=v, attn_mask=rng.random((6, 12)) < 0.8, past_key=past_key, past_value=past_value)
    exact = reference.attention(q, np.concatenate([past_key, k], 2), np.concatenate([past_value, v], 2),
                                mask=inputs["attn_mask"])[0]
    return hosting.node_model("Attention", inputs, ["Y", "present_key", "present_value"]), inputs, exact


def attempt(problem, session=None):
    """Whether it worked. If not, what the host was told is ours."""
    model, inputs, exact = problem
    try:
        session = session or hosting.Session(model, severity=4)
        result = session.run(inputs)["Y"]
    except Exception as error:
        assert "oclattn: " in str(error), error
        assert len(str(error).split("oclattn: ")[1]) > 10, error
        return False
    reference.assert_close(result, exact, "float32")
    return True


@pytest.mark.parametrize("function", ["clCreateContext", "clCreateCommandQueue", "clGetDeviceIDs", "clGetPlatformIDs"])
def test_a_device_that_does_not_start(fail, problem, function):
    fail(function)
    attempt(problem)
    fail()
    assert attempt(problem)


def test_a_lost_device(fail, problem):
    """Every launch fails from some moment on."""
    session = hosting.Session(problem[0], severity=4)
    assert attempt(problem, session)
    fail("clEnqueueNDRangeKernel")
    assert not attempt(problem, session)
    assert not attempt(problem, session)
    assert not attempt(problem)
    fail()
    assert attempt(problem, session)
    assert attempt(problem)


@pytest.mark.parametrize("function", ["clEnqueueNDRangeKernel", "clCreateBuffer", "clFinish", "clWaitForEvents",
                                      "clEnqueueMapBuffer", "clSetKernelArg", "clCreateKernel", "clBuildProgram",
                                      "clCreateProgramWithSource"])
@pytest.mark.parametrize("code", [OUT_OF_RESOURCES, OUT_OF_HOST_MEMORY])
def test_calls_that_fail(fail, problem, function, code):
    warm = hosting.Session(problem[0], severity=4)
    assert attempt(problem, warm)
    fail(function, code=code)
    attempt(problem, warm)
    attempt(problem)
    fail()
    assert attempt(problem, warm)
    assert attempt(problem)


def test_onnxruntime_may_fall_back(fail, problem):
    session = hosting.Session(problem[0], severity=4, fallback=True)
    fail("clEnqueueNDRangeKernel")
    with pytest.warns(UserWarning, match="providers"): # it says what it does
        assert attempt(problem, session)


# Not clEnqueueUnmapMemObject: what fails to be unmapped stays mapped, and the layer would count it as left over.
OF_A_RUN = ("clCreateBuffer", "clSetKernelArg", "clEnqueueNDRangeKernel", "clEnqueueMapBuffer", "clFinish", "clFlush",
            "clWaitForEvents")
OF_A_START = ("clGetPlatformIDs", "clGetPlatformInfo", "clGetDeviceIDs", "clGetDeviceInfo", "clCreateContext",
              "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateProgramWithBinary", "clBuildProgram",
              "clCreateKernel", "clGetKernelWorkGroupInfo", "clGetProgramInfo")


@pytest.mark.parametrize("function", OF_A_RUN)
def test_one_call_of_a_run_fails(fail, problem, function):
    """The first, then the second, and so on until the run has none left to fail."""
    session = hosting.Session(problem[0], severity=4)
    assert attempt(problem, session)
    for nth in range(1, 100):
        fail(function, nth)
        if attempt(problem, session):
            break
    assert nth < 99
    fail()
    assert attempt(problem, session)


@pytest.mark.parametrize("function", OF_A_START)
@pytest.mark.parametrize("nth", [1, 4])
def test_one_call_of_a_start_fails(fail, problem, function, nth):
    fail(function, nth)
    attempt(problem)
    fail()
    assert attempt(problem)
