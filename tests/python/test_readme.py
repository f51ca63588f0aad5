"""The README's examples in Python, as they stand there. That for ONNX Runtime is tried inside of it."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

README = pathlib.Path(__file__).parents[2] / "README.md"
EXAMPLES = [code for code in re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
            if "import onnxruntime" not in code]


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("code", EXAMPLES)
def test_example(tmp_path, code):
    if "import torch" in code:
        pytest.importorskip("torch", reason="SKIP: an example needs torch")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env={
        **os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stderr
