#!/bin/sh
# Usage: try_wheel.sh BUILDER PYTHON SOURCES FOLDER. Builds the wheel as `pip install SOURCES/src/plugins/onnxruntime`
# does, without network, and runs what was installed from it in PYTHON, alone, in FOLDER. BUILDER's environment has
# scikit-build-core, PYTHON's has onnxruntime; cmake is the system's.
set -eu
builder=$1 python=$2 sources=$3 folder=$4
rm -rf "$folder"
mkdir -p "$folder/empty"
"$builder" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps -w "$folder" \
    "$sources/src/plugins/onnxruntime"
"$builder" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$folder/installed" \
    "$folder"/oclattn_onnxruntime-*.whl
cd "$folder/empty"
unset OCLATTN_ONNXRUNTIME_LIBRARY
PYTHONPATH=$folder/installed "$python" -B - <<'END_OF_PYTHON'
import pathlib

import numpy as np
import onnx
import onnxruntime
import oclattn_onnxruntime

package = pathlib.Path(oclattn_onnxruntime.__file__).parent
libraries = sorted(path.name for path in package.glob("*.so*"))
assert libraries == ["liboclattn.so.0", "liboclattn_onnxruntime.so"], libraries
assert oclattn_onnxruntime.get_library_path() == str(package / "liboclattn_onnxruntime.so")

x = np.ones((1, 2, 3, 8), np.float32)
node = onnx.helper.make_node("Attention", ["x", "x", "x"], ["y"])
graph = onnx.helper.make_graph([node], "g", [onnx.helper.make_tensor_value_info("x", 1, x.shape)],
                               [onnx.helper.make_tensor_value_info("y", 1, x.shape)])
model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=10)
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.disable_cpu_ep_fallback", "1") # the plugin runs all, or there is no session
options.add_provider_for_devices(oclattn_onnxruntime.register(), {})
session = onnxruntime.InferenceSession(model.SerializeToString(), options)
assert np.allclose(session.run(None, {"x": x})[0], 1)
assert str(package / "liboclattn.so.0") in open("/proc/self/maps").read()
print("oclattn_onnxruntime %s works from its wheel" % oclattn_onnxruntime.__version__)
END_OF_PYTHON
