#!/bin/bash
# Usage: run.sh BIN_DIR. Watches every kernel with every switch for data races and access out of bounds, under oclgrind.
# oclgrind exits 0 whatever it finds, so its log is read: it must be there, and empty. Kernels with planted faults prove
# first that a fault does show.
set -euo pipefail
bin=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Kernels from source, so that the log shows their lines.
export OCLATTN_CACHE_DIR=''
unset OCLATTN_DEVICE OCL_ICD_VENDORS

watch() {
    rm -f "$scratch/$1.log"
    # Unoptimised: its interpreter lacks intrinsics that the optimiser makes, such as llvm.abs.
    oclgrind --data-races --build-options "-cl-opt-disable -DNO_PREFETCH" --log "$scratch/$1.log" "${@:2}" && [ -e "$scratch/$1.log" ]
}

# plant FAULT WORDS: the log of a kernel with that fault must hold those words.
plant() {
    if ! watch "$1" "$bin/oclgrind_planted_faults" "$1" || ! grep -q "$2" "$scratch/$1.log"; then
        echo "FAIL: oclgrind did not report \"$2\" for a kernel that has it, so its silence proves nothing"
        exit 1
    fi
    echo "planted fault found: $2"
}

check() {
    if ! watch "$1" "$bin/oclgrind_switches" "$1"; then
        echo "FAIL: $1 did not run"
        return 1
    elif [ -s "$scratch/$1.log" ]; then
        echo "FAIL: $1"
        head -n 40 "$scratch/$1.log"
        return 1
    fi
    echo "clean: $1"
}

watch clean "$bin/oclgrind_planted_faults" clean
[ ! -s "$scratch/clean.log" ] || { echo "FAIL: oclgrind reports a fault in a kernel that has none"; exit 1; }
plant race "data race"
plant read "Invalid read"
plant write "Invalid write"

export -f check watch
export bin scratch
"$bin/oclgrind_switches" list | xargs -P 2 -I NAME bash -c 'check NAME'
