#!/bin/sh
# Usage: run.sh PROGRAM [ARG...]. Fails on memory errors and on memory lost by our code; drivers' are suppressed by library.
# Intel's runtime puts a work-group's memory on the stack, megabytes at once, which valgrind takes for another stack.
exec valgrind --quiet --max-stackframe=67108864 --error-exitcode=9 --leak-check=full \
    --show-leak-kinds=definite --errors-for-leak-kinds=definite \
    --suppressions="$(dirname "$0")/../suppressions/valgrind.supp" "$@"
