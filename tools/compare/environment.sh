#!/bin/bash
# The Python that the comparisons run in: a virtual environment outside the tree, made when it is missing.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tools/lib/common.sh
. "$root/tools/lib/common.sh"

usage() {
    cat <<'END_OF_USAGE'
Usage: tools/compare/environment.sh [COMMAND [ARGUMENT...]]

Makes a virtual environment with PyTorch, ONNX Runtime, ggml, numpy and transformers, of fixed versions, then runs
COMMAND with that environment's python first on PATH, or prints the environment's folder when there is none. About 3 GB
are downloaded the first time; later runs start at once and need no network. An interrupted run is taken up by the next
one.

    tools/compare/environment.sh python tools/compare/accuracy.py

The environment is kept in $OCLATTN_COMPARE_CACHE, else in oclattn/compare in the user's cache folder.
END_OF_USAGE
}

cache=${OCLATTN_COMPARE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/oclattn/compare}
venv=$cache/venv
stamp=$venv/installed.txt
wanted=$root/tools/compare/requirements.txt
needed_gb=12

is_complete() {
    cmp -s "$wanted" "$stamp"
}

check_disk() {
    local free_kb
    free_kb=$(df -Pk "$cache" | awk 'NR == 2 { print $4 }')
    if [ "$free_kb" -lt $((needed_gb * 1024 * 1024)) ]; then
        die "$cache has $((free_kb / 1024 / 1024)) GB free, and installing PyTorch takes $needed_gb GB for a while;" \
            "free some, or set OCLATTN_COMPARE_CACHE to a folder with more room"
    fi
}

# What an interrupted run left is removed: a package may be half there, and pip would take it for installed.
install_all() {
    rm -rf "${venv:?}" "$cache/downloads"
    check_disk
    mkdir -p "$cache/downloads"
    say "Installing PyTorch and others into $venv, once; about 3 GB to download" >&2
    /usr/bin/python3 -m venv "$venv"
    # Downloads go beside the environment, since /tmp is often small.
    TMPDIR=$cache/downloads "$venv/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check --retries 5 \
        -r "$wanted" >&2
    rm -rf "$cache/downloads"
    "$venv/bin/python" -c 'import numpy, ml_dtypes, torch, onnx, onnxruntime, onnxscript, transformers'
    cp "$wanted" "$stamp.new"
    mv "$stamp.new" "$stamp"
}

case ${1:-} in
    -h | --help)
        usage
        exit 0
        ;;
esac

mkdir -p "$cache"
if ! is_complete; then
    exec 9> "$cache/lock"
    flock 9 # another run may be installing already
    is_complete || install_all
    exec 9>&-
fi
if [ $# = 0 ]; then
    say "$venv"
else
    PATH=$venv/bin:$PATH exec "$@"
fi
