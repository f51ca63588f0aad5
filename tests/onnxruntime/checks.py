"""What the tests of the three operators share."""
import ml_dtypes
import numpy as np

import hosting
import reference

TYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
NAMES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


def split(x, heads):
    """[batch, rows, heads * width] -> [batch, heads, rows, width], in float64."""
    return np.asarray(x, np.float64).reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


def merge(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def check_output(result, exact, kind, rows=None, roundings=0):
    """[batch, rows, ...] against float64. rows: which to look at. roundings: how often intermediate values of size 1
    are rounded to the type."""
    assert result.shape == exact.shape
    assert np.isfinite(np.asarray(result, np.float64)).all()
    rows = np.ones(exact.shape[:2], bool) if rows is None else rows
    scale = 1 + roundings * reference.ULP[NAMES[kind]] / reference.ULP["float32"] / 16
    reference.assert_close(np.asarray(result, np.float64)[rows], exact[rows], NAMES[kind], scale)


def check_beside_cpu(result, onnx_model, inputs, kind, rows, by_rows=lambda output: output):
    """Rows of ours against the CPU provider's, which computes f16 with roundings of its own. by_rows: brings its output
    into the form of `result`."""
    outputs = hosting.run_cpu(onnx_model, inputs)
    assert outputs is not None, "the CPU provider was expected to run this"
    tolerance = 2e-5 if kind == "f32" else 2e-2
    np.testing.assert_allclose(np.float64(result["output"][rows]), np.float64(by_rows(outputs["output"])[rows]),
                               rtol=tolerance, atol=tolerance)
