#!/bin/sh
# Usage: run.sh PROGRAM [ARG...]. Fails on memory errors and on memory lost by our code; drivers' are suppressed by library.
exec valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
    --suppressions="$(dirname "$0")/../suppressions/valgrind.supp" "$@"
