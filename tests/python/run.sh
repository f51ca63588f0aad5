#!/bin/sh
# Usage: run.sh PYTHON LIBRARY SUITE [PYTEST ARGUMENT...]. Tests of the package's sources with that python and library.
# SUITE: "package", or "hosts", what needs PyTorch besides.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$1 OCLATTN_LIBRARY=$2 suite=$3
shift 3
PYTHONPATH=$here/../../src/plugins/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH OCLATTN_LIBRARY
case $suite in
    package) set -- "$@" --ignore "$here/hosts" "$here" ;;
    hosts) set -- "$@" "$here/hosts" "$here/test_readme.py" ;;
    *) echo "run.sh: no suite $suite" >&2 && exit 2 ;;
esac
exec "$python" -B -m pytest -q -p no:cacheprovider -rs --rootdir "$here" "$@"
