#!/bin/sh
# Usage: exported_symbols.sh LIBRARY NM. Fails when the library exports anything but oclattn_*, or nothing.
set -eu
exported=$("$2" -D --defined-only "$1" | awk '{ print $NF }')
test -n "$exported" || { echo "$1 exports nothing"; exit 1; }
foreign=$(printf '%s\n' "$exported" | grep -v '^oclattn_' || true)
test -z "$foreign" || { printf '%s exports these names too:\n%s\n' "$1" "$foreign"; exit 1; }

# Every function that the headers declare is there.
headers=$(dirname "$0")/../../include/oclattn
missing=
for name in $(sed -n 's/^OCLATTN_API .*[ *]\(oclattn_[a-z0-9_]*\)(.*/\1/p' "$headers"/*.h); do
    printf '%s\n' "$exported" | grep -qx "$name" || missing="$missing $name"
done
test -z "$missing" || { echo "declared but not exported:$missing"; exit 1; }
echo "$(printf '%s\n' "$exported" | wc -l) names exported, all of them oclattn_*"
