"""The Attention cases of the onnx package's own backend tests."""
import warnings

import ml_dtypes
import numpy as np
import onnx
import pytest

import hosting

with warnings.catch_warnings():
    warnings.simplefilter("ignore") # other operators' cases overflow on purpose while they are collected
    from onnx.backend.test.case.node import collect_testcases
    CASES = [case for case in collect_testcases("Attention") if "expanded" not in case.name]

CASES_UP_TO_OPSET = {23: 69, 24: 82, 25: 93}


def opset_of(case):
    return case.model.opset_import[0].version


def test_no_case_is_missed():
    assert len(CASES) == CASES_UP_TO_OPSET[25]
    assert sum(opset_of(case) <= hosting.NEWEST_OPSET for case in CASES) == CASES_UP_TO_OPSET[hosting.NEWEST_OPSET]


def ulp_of(values):
    """Of bfloat16: the distance between neighbours."""
    return np.exp2(np.floor(np.log2(np.maximum(np.abs(values), 2.0 ** -126))) - 7)


def assert_within_an_ulp(result, expected):
    """bfloat16's ulp is above the suite's tolerance. The suite rounds on the way, so its own values may be an ulp of
    the largest from the exact ones."""
    exact = expected.astype(np.float64)
    assert (np.abs(result.astype(np.float64) - exact) <= ulp_of(np.abs(exact).max())).all()


def assert_rounded_once(result, case, inputs, name):
    """Each value lies next to that of the same model in float32, which is held to the suite's tolerance elsewhere."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for info in (*model.graph.input, *model.graph.output):
        if info.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
            info.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    floats = {key: array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array
              for key, array in inputs.items()}
    exact = hosting.run_ours(model, floats)[name].astype(np.float64)
    assert (np.abs(result.astype(np.float64) - exact) <= 0.51 * ulp_of(exact)).all()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_with_own_memory(case, own_memory):
    test_case(case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case):
    if opset_of(case) > hosting.NEWEST_OPSET:
        pytest.skip("Attention of opset %d is not in onnxruntime 1.%d" % (opset_of(case), hosting.VERSION[1]))
    case.model.ir_version = 10 # older than the newest that the older versions read
    names = [info.name for info in case.model.graph.input]
    wanted = [info.name for info in case.model.graph.output]
    for arrays, expected_arrays in case.data_sets:
        inputs = dict(zip(names, arrays))
        outputs = hosting.run_ours(case.model, inputs)
        for name, expected in zip(wanted, expected_arrays):
            result = outputs[name]
            assert result.dtype == expected.dtype and result.shape == expected.shape, name
            if expected.dtype == ml_dtypes.bfloat16:
                assert_within_an_ulp(result, expected)
                assert_rounded_once(result, case, inputs, name)
            else:
                np.testing.assert_allclose(result, expected, rtol=case.rtol, atol=case.atol, err_msg=name)
