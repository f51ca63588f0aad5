#!/bin/sh
# Usage: run.sh PYTHON LIBRARY [PYTEST ARGUMENT...]. The package's tests with that python, on the sources and that library.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$1 OCLATTN_LIBRARY=$2
shift 2
PYTHONPATH=$here/../../src/plugins/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH OCLATTN_LIBRARY
exec "$python" -B -m pytest -q -p no:cacheprovider -rs --rootdir "$here" "$@" "$here"
