#!/bin/sh
# Usage: run.sh PYTHON BUILD SUITE [PYTEST ARGUMENT...]. Tests of the plugin in BUILD/lib inside that python's
# onnxruntime, with the package's Python sources. SUITE: "plugin", or "models", what needs PyTorch besides. All of it
# runs under the layer that plays failing drivers, and devices with memory of their own, and counts OpenCL objects.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$1 build=$(cd "$2" && pwd) suite=$3
shift 3
export OCLATTN_ONNXRUNTIME_LIBRARY="$build/lib/liboclattn_onnxruntime.so"
PYTHONPATH=$here:$here/../../src/plugins/onnxruntime/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
case $suite in
    plugin) set -- "$@" --ignore "$here/models" "$here" ;;
    models) set -- "$@" "$here/models" ;;
    *) echo "run.sh: no suite $suite" >&2 && exit 2 ;;
esac
exec "$here/../layer/run_counted.sh" "$build/lib/liboclattn_test_layer.so" \
    "$python" -B -m pytest -q -p no:cacheprovider -rs --rootdir "$here" "$@"
