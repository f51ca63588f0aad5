#!/bin/bash
# What a machine with a GPU has to say about oclattn, in one folder.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tools/lib/common.sh
. "$root/tools/lib/common.sh"
# shellcheck source=tools/lib/steps.sh
. "$root/tools/lib/steps.sh"
# shellcheck source=tools/lib/timed.sh
. "$root/tools/lib/timed.sh"
# shellcheck source=tools/gpu-check/drivers.sh
. "$root/tools/gpu-check/drivers.sh"
# shellcheck source=tools/gpu-check/checks.sh
. "$root/tools/gpu-check/checks.sh"

usage() {
    cat <<'END'
Usage: tools/gpu-check.sh [--device SPEC] [--out FOLDER] [--build FOLDER] [--minutes N]

Builds oclattn, describes the GPU, runs the self-test and the tests on it, measures, tunes briefly and measures again,
beside PyTorch where python3 has it, all in less than 8 minutes. It leaves a folder with a readable summary, the
numbers as JSON, and the logs, and the same as one .tar.gz file to send back. Each step has a time of its own, and one
that fails or hangs does not stop the others.

  --device SPEC   the device: "gpu" (default), "cpu", "P:D", or a part of a name
  --out FOLDER    for the results (default: build-gpu-check/results)
  --build FOLDER  take the tools that were built there, and build nothing
  --minutes N     to take at most (default: 8)

It needs the packages that tools/quickstart.sh installs, and installs those that are missing where it can (as root, or
through sudo). With all of them there it needs neither root nor a network. The tests need libcmocka-dev, g++ and python3
besides, and are skipped without.

Exit codes: 0 all passed, 1 something failed, 2 usage, 3 no such device.
END
}

spec=gpu out=$root/build-gpu-check/results build='' minutes=8
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help)
            usage
            exit 0
            ;;
        --device | --out | --build | --minutes)
            [ $# -ge 2 ] || die "$1 needs a value"
            case $1 in
                --device) spec=$2 ;;
                --out) out=$2 ;;
                --build) build=$2 ;;
                --minutes) minutes=$2 ;;
            esac
            shift 2
            ;;
        *) die "unknown option $1; see --help" ;;
    esac
done
[[ $minutes =~ ^[1-9][0-9]*$ ]] || die "--minutes needs a whole number, 1 or more"
[ -z "$build" ] || [ -x "$build/bin/oclattn-probe" ] || die "there is no bin/oclattn-probe in $build"

# Ten seconds are for what comes after the last step. Tests set the variable.
deadline=${OCLATTN_GPU_CHECK_SECONDS:-$((minutes * 60 - 10))}

prepare_folder() {
    mkdir -p "$out"
    out=$(cd "$out" && pwd)
    rm -rf "$out/logs"
    mkdir -p "$out/logs"
    logs=$out/logs
    # The user's caches and measurements are neither read nor written.
    private=$out/.private
    rm -rf "$private"
    mkdir -p "$private"
    export OCLATTN_CACHE_DIR=$private/kernels POCL_CACHE_DIR=$private/pocl
    unset OCLATTN_DEVICE OCLATTN_KERNEL_DIR OCLATTN_TUNING OPENCL_LAYERS
    describe_machine_without_sysfs
}

has_what_tests_need() {
    pkg-config --exists cmocka && command -v g++ > /dev/null && command -v python3 > /dev/null
}

build_here() {
    local tests=OFF
    build=$root/build-gpu-check
    has_what_tests_need && tests=ON
    timed_step "packages" 90 install_packages build || true
    timed_step "build" 120 build_tree "$build" -DCMAKE_BUILD_TYPE=Release -DOCLATTN_BUILD_TESTS=$tests
}

end() {
    local code=$1
    write_summary "$out/summary.txt"
    rm -rf "$private"
    tar -czf "$out.tar.gz" -C "$(dirname "$out")" "$(basename "$out")"
    say
    say "To send back: $out.tar.gz; to read: $out/summary.txt"
    exit "$code"
}

run_all() {
    prepare_folder
    say "== oclattn on \"$spec\", at most $minutes minutes"
    if [ -z "$build" ] && ! build_here; then
        end 1
    fi
    if ! find_device; then
        record FAIL "device" 0 "there is no device \"$spec\""
        end 3
    fi
    check_all
    if [ "$failed" = 0 ]; then
        end 0
    fi
    end 1
}

# On one line, so that editing this file does not disturb a run of it.
run_all; exit
