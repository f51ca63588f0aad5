#!/bin/sh
# Usage: readme_example.sh README INCLUDE_DIR LIBRARY_DIR CC. Compiles and runs the first C example of the README.
set -eu
if ! test -f "$1"; then
    echo "SKIP: there is no $1, so its example cannot be tried"
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
awk '/^```c$/ { inside = 1; next } /^```/ && inside { exit } inside' "$1" > "$scratch/example.c"
test -s "$scratch/example.c" || { echo "no block that begins with \`\`\`c in $1"; exit 1; }
"$4" -std=c11 -Wall -Wextra -Werror -I"$2" "$scratch/example.c" -o "$scratch/example" -L"$3" -loclattn -lOpenCL -lm
cd "$scratch"
LD_LIBRARY_PATH=$3 ./example
