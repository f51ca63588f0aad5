#!/bin/sh
# Runs a program on a device that looks like another one: run_as.sh PROFILE.env LAYER PROGRAM [ARGUMENT...]
# profiles/*.env say what; layer.h explains the variables.
set -eu
profile=$1 layer=$2
shift 2
set -a
# shellcheck source=/dev/null
. "$profile"
set +a
OPENCL_LAYERS=$layer exec "$@"
