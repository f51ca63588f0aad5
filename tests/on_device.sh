#!/bin/sh
# Usage: on_device.sh PROGRAM [ARG...]. Runs a test program on the device that OCLATTN_DEVICE names (without it, on every
# device), with the words of OCLATTN_TEST_ARGS added, such as "--count 200".
# shellcheck disable=SC2086
exec "$@" ${OCLATTN_DEVICE:+--device "$OCLATTN_DEVICE"} ${OCLATTN_TEST_ARGS:-}
