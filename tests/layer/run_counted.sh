#!/bin/sh
# Runs a program under the counting layer: run_counted.sh LAYER PROGRAM [ARGUMENT...]
# Its exit code is the program's; 99 if OpenCL objects are left over in it or in a process that it started, or were
# released too often.
set -u
layer=$1
shift
reports=$(mktemp -d) || exit 98
trap 'rm -rf "$reports"' EXIT

OPENCL_LAYERS=$layer OCLATTN_LAYER_REPORT=$reports/%p "$@"
status=$?

found=0
for report in "$reports"/*; do
    [ -f "$report" ] || continue
    found=1
    if ! grep -q -x balanced "$report"; then
        echo "OpenCL objects are left over:" >&2
        cat "$report" >&2
        [ "$status" -ne 0 ] || status=99
    fi
done
if [ "$found" -eq 0 ]; then
    echo "no report: the layer $layer was not loaded" >&2
    [ "$status" -ne 0 ] || status=99
fi
exit "$status"
