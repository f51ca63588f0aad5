#!/bin/sh
# Usage: run.sh BUILD_DIR CMAKE GENERATOR CC. Installs the build, moves the installed tree to a folder with a blank and
# "-g" in its name, and builds and runs a small program against it through pkg-config and through find_package.
set -eu
build=$1 cmake=$2 generator=$3 cc=$4
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$cmake" --install "$build" --prefix "$scratch/first place" > "$scratch/install.log" ||
    { cat "$scratch/install.log"; exit 1; }
mkdir "$scratch/a b"
prefix="$scratch/a b/x-g"
mv "$scratch/first place" "$prefix"
pc=$(find "$prefix" -name oclattn.pc)
test -n "$pc" || { echo "no oclattn.pc was installed"; exit 1; }
lib=$(dirname "$(dirname "$pc")")
cd /

echo "== pkg-config"
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
# pkg-config quotes for a shell, so a shell reads its answer.
eval "\"\$cc\" -std=c11 \"\$here/consumer.c\" -o \"\$scratch/by-pkg-config\" $(pkg-config --cflags --libs oclattn)"
LD_LIBRARY_PATH=$lib "$scratch/by-pkg-config"
unset PKG_CONFIG_PATH

echo "== find_package"
"$cmake" -G "$generator" -S "$here" -B "$scratch/b" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    > "$scratch/configure.log" ||
    { cat "$scratch/configure.log"; exit 1; }
"$cmake" --build "$scratch/b" > "$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
"$scratch/b/consumer"

echo "== installed tools"
for tool in "$prefix"/bin/*; do
    test -e "$tool" || continue
    "$tool" --help > "$scratch/help.txt" || { echo "$tool --help failed"; exit 1; }
    test -s "$scratch/help.txt" || { echo "$tool --help printed nothing"; exit 1; }
    echo "$(basename "$tool") runs from there"
done
