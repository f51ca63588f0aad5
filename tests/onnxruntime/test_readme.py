"""The README's example, on a model of the name that it gives."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import hosting

README = pathlib.Path(__file__).parents[2] / "README.md"
EXAMPLES = [code for code in re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
            if "import onnxruntime" in code]


def test_there_is_an_example():
    assert EXAMPLES


@pytest.mark.parametrize("code", EXAMPLES)
def test_example(tmp_path, code):
    x = np.ones((1, 2, 3, 8), np.float32)
    model = hosting.node_model("Attention", {"Q": x, "K": x, "V": x}, ["Y"])
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    done = subprocess.run([sys.executable, "-B", "-c", code + "\nprint(session.get_providers())"], capture_output=True,
                          text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    assert hosting.OURS in done.stdout
