#!/bin/sh
# Usage: run.sh PYTHON BUILD [PYTEST ARGUMENT...]. Tests of the plugin in BUILD/lib inside that python's onnxruntime,
# with the package's Python sources. All of it runs under the layer that plays failing drivers, and devices with memory
# of their own, and counts OpenCL objects.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$1 build=$(cd "$2" && pwd)
shift 2
export OCLATTN_ONNXRUNTIME_LIBRARY="$build/lib/liboclattn_onnxruntime.so"
PYTHONPATH=$here:$here/../../src/plugins/onnxruntime/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
exec sh "$here/../layer/run_counted.sh" "$build/lib/liboclattn_test_layer.so" \
    "$python" -B -m pytest -q -p no:cacheprovider -rs --rootdir "$here" "$@" "$here"
