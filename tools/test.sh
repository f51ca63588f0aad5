#!/bin/bash
# Every test on every OpenCL device there is.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$root/build-test
logs=$out/logs
# shellcheck source=tools/lib/common.sh
. "$root/tools/lib/common.sh"
# shellcheck source=tools/lib/steps.sh
. "$root/tools/lib/steps.sh"
# shellcheck source=tools/lib/venv.sh
. "$root/tools/lib/venv.sh"
# shellcheck source=tools/lib/intel.sh
. "$root/tools/lib/intel.sh"

usage() {
    cat <<'END'
Usage: tools/test.sh [--long] [--hosts] [--device SPEC]

Installs the Debian packages that are missing (as root, or through sudo), and Intel's OpenCL runtime for CPUs and
pytest (into private virtual environments), builds the library with gcc, with clang, and with sanitizers, and the
Python package, and runs every test on every OpenCL device: PoCL, Intel's runtime, and those of the drivers that the
system has. Under 25 minutes on two cores.

  --long          larger sweeps and valgrind besides; takes hours
  --hosts         the plugins inside ONNX Runtime and PyTorch, accuracy beside PyTorch's, and the kernels by the compilers
                  of GPUs' vendors, besides; downloads 4 GB
                  the first time
  --device SPEC   this device only: "gpu", "cpu", "P:D", or a part of a name

Exit code 0: all passed. What was not run is listed as SKIP, with the reason. With CI=true in the environment, warnings
are errors in every build. The environments are kept in $OCLATTN_TEST_CACHE, else in oclattn/test in the user's cache folder.
END
}

long=0 hosts=0 only_device=
while [ $# -gt 0 ]; do
    case $1 in
        --long) long=1 ;;
        --hosts) hosts=1 ;;
        --device)
            [ $# -ge 2 ] || die "--device needs a value"
            only_device=$2
            shift
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) die "unknown option $1; see --help" ;;
    esac
    shift
done
werror=OFF
[ "${CI:-}" = true ] && werror=ON
cache=${OCLATTN_TEST_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/oclattn/test}

# ---- what the tests stand on --------------------------------------------------------------------------------------

prepare() {
    mkdir -p "$out"
    rm -rf "$logs"
    mkdir -p "$logs"
    say "== Packages"
    install_packages build test
    say "== Intel's OpenCL runtime"
    if [ "$(uname -m)" != x86_64 ]; then
        skip "Intel's OpenCL runtime" "it is for x86-64 only, and this is $(uname -m)"
    else
        step "Intel's OpenCL runtime in $cache/intel" install_intel_runtime "$cache/intel" || true
    fi
    write_vendors "$out/vendors" "$cache/intel"
    export OCL_ICD_VENDORS=$out/vendors
    # Compiled kernels stay in the tree, so that a run neither reads nor fills the user's caches.
    export OCLATTN_CACHE_DIR=$out/kernel-cache POCL_CACHE_DIR=$out/pocl-cache
    unset OCLATTN_DEVICE OCLATTN_KERNEL_DIR OPENCL_LAYERS
    describe_machine_without_sysfs
}

build_all() {
    say "== Builds"
    step "build with gcc" build_tree "$out/gcc" -DOCLATTN_WERROR=$werror || { finish; exit 1; }
    step "build with clang 14, warnings as errors" build_tree "$out/clang" \
        -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 -DOCLATTN_WERROR=ON || true
    step "build with ASan and UBSan" build_tree "$out/asan" -DOCLATTN_WERROR=$werror \
        -DCMAKE_BUILD_TYPE=RelWithDebInfo -DOCLATTN_SANITIZE=address,undefined || true
}

# Fills `devices` (their "P:D") and `names` (what people call them).
find_devices() {
    local spec name
    devices=() names=()
    while IFS=$'\t' read -r spec name; do
        devices+=("$spec") names+=("$name")
    done < <("$out/gcc/bin/list_devices")
    if [ -n "$only_device" ]; then
        devices=("$only_device") names=("$only_device")
    fi
    [ ${#devices[@]} -gt 0 ] || die "there is no OpenCL device; PoCL (Debian's pocl-opencl-icd) gives one on any CPU"
    say "== Devices"
    local i
    for i in "${!devices[@]}"; do
        say "   ${devices[i]}  ${names[i]}"
    done
}

# ---- the checks ---------------------------------------------------------------------------------------------------

on_every_device() {
    local i
    for i in "${!devices[@]}"; do
        OCLATTN_DEVICE=${devices[i]} OCLATTN_TEST_ARGS=$([ $long = 0 ] || printf -- --long) \
            suite "tests on ${names[i]}" --test-dir "$out/gcc" -L device -j 2
    done
}

# Which tests under the layer in tests/layer: all with --long, otherwise fewer where compiling takes long.
limit_labels() {
    case $long$1 in
        1*) printf '^limits' ;;
        *Intel*OpenCL*) printf '^limits(_quick)?$' ;;
        *) printf '^limits$' ;;
    esac
}

# The kernels again on devices that claim less, and on others that are not here.
with_limits() {
    local i
    for i in "${!devices[@]}"; do
        OCLATTN_DEVICE=${devices[i]} OCLATTN_TEST_ARGS=$([ $long = 0 ] || printf -- --long) \
            suite "narrow devices, and others played, on ${names[i]}" --test-dir "$out/gcc" \
            -L "$(limit_labels "${names[i]}")" -j 2
    done
}

# Intel's runtime compiles for the vector width it is told, which changes the code of every kernel.
with_other_vectors() {
    local i target
    for i in "${!devices[@]}"; do
        case ${names[i]} in
            *Intel*OpenCL*) ;;
            *) continue ;;
        esac
        for target in corei7 core-avx2; do
            CL_CONFIG_CPU_TARGET_ARCH=$target OCLATTN_DEVICE=${devices[i]} OCLATTN_CACHE_DIR=$out/kernel-cache-$target \
                suite "code for $target, on ${names[i]}" --test-dir "$out/gcc" -R '^test_(cases|case_shapes|ops)$' -j 2
        done
    done
}

# The Python package: its tests on every device beside the library built above, and the wheel that pip makes.
with_python() {
    local i python=$cache/python/bin/python
    step "an environment with pytest in $cache/python" \
        install_venv "$cache/python" "$root/tools/lib/python-requirements.txt" || return 0
    for i in "${!devices[@]}"; do
        OCLATTN_DEVICE=${devices[i]} step "Python on ${names[i]}" \
            "$root/tests/python/run.sh" "$python" "$out/gcc/lib/liboclattn.so" package || true
        list_skips "$(log_of "Python on ${names[i]}")"
    done
    step "Python: pip makes a wheel, which works alone" \
        "$root/tests/python/try_wheel.sh" "$python" "$root" "$out/wheel" || true
}

# A folder of the drivers that list devices under the sanitizers too: some load libraries in ways that ASan refuses.
write_sanitized_vendors() {
    local folder=$1 icd
    rm -rf "${folder:?}"
    mkdir -p "$folder"
    for icd in "$OCL_ICD_VENDORS"/*.icd; do
        if [ -n "$(OCL_ICD_VENDORS=$icd "$out/asan/bin/list_devices" 2> /dev/null)" ]; then
            cp "$icd" "$folder/"
        else
            say "   $(basename "$icd") is left out: it lists no devices there"
        fi
    done
}

with_sanitizers() {
    local i spec name vendors=$OCL_ICD_VENDORS specs=() called=()
    [ -e "$out/asan/bin/list_devices" ] || return 0
    export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
    export LSAN_OPTIONS=suppressions=$root/tests/suppressions/lsan.supp:print_suppressions=0
    export UBSAN_OPTIONS=print_stacktrace=1
    write_sanitized_vendors "$out/vendors-sanitized"
    export OCL_ICD_VENDORS=$out/vendors-sanitized
    suite "sanitized tests of the host code" --test-dir "$out/asan" -L host -j 2
    while IFS=$'\t' read -r spec name; do
        specs+=("$spec") called+=("$name")
    done < <("$out/asan/bin/list_devices" 2> /dev/null)
    if [ -n "$only_device" ]; then
        specs=("$only_device") called=("$only_device")
    fi
    for i in "${!specs[@]}"; do
        OCLATTN_DEVICE=${specs[i]} OCLATTN_TEST_ARGS="--count 400" \
            suite "sanitized tests on ${called[i]}" --test-dir "$out/asan" -L device -LE "counted|played" -j 2
    done
    export OCL_ICD_VENDORS=$vendors
    unset ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS
}

under_valgrind() {
    local i program
    for i in "${!devices[@]}"; do
        for program in test_ops test_projection test_mha test_cases test_case_shapes; do
            step "valgrind: $program on ${names[i]}" "$root/tests/valgrind/run.sh" \
                "$out/gcc/bin/$program" --device "${devices[i]}" || true
        done
    done
}

# The operator, with pytest from the environment of the Python package: both have the same versions of numpy.
inside_pytorch() {
    local i packages
    if ! packages=$("$cache/python/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); then
        skip "inside PyTorch, models of others inside ONNX Runtime" "the environment with pytest is missing"
        return 0
    fi
    OCLATTN_TEST_DEVICES=${devices[*]} PYTHONPATH=$packages step "models of others inside ONNX Runtime" \
        "$root/tests/onnxruntime/run.sh" "$("$environment")/bin/python" "$out/gcc" models || true
    for i in "${!devices[@]}"; do
        OCLATTN_DEVICE=${devices[i]} PYTHONPATH=$packages step "inside PyTorch, on ${names[i]}" \
            "$root/tests/python/run.sh" "$("$environment")/bin/python" "$out/gcc/lib/liboclattn.so" hosts || true
    done
}

# One environment for each version of ONNX Runtime, and in each the tests on every device.
inside_onnxruntime() {
    local version i environment name
    for version in 1.23.2 1.24.4 1.32.0; do
        environment=$cache/onnxruntime-$version
        step "an environment with ONNX Runtime $version" \
            install_venv "$environment" "$root/tests/onnxruntime/requirements-$version.txt" || continue
        for i in "${!devices[@]}"; do
            name="inside ONNX Runtime $version, on ${names[i]}"
            OCLATTN_DEVICE=${devices[i]} step "$name" \
                "$root/tests/onnxruntime/run.sh" "$environment/bin/python" "$out/gcc" plugin || true
            list_skips "$(log_of "$name")"
        done
    done
    step "ONNX Runtime: pip makes a wheel, which works alone" "$root/tests/onnxruntime/try_wheel.sh" \
        "$cache/python/bin/python" "$environment/bin/python" "$root" "$out/onnxruntime-wheel" || true
}

# PyTorch is large, so its environment is made for this alone and kept; see environment.sh.
beside_pytorch() {
    local environment=$root/tools/compare/environment.sh
    step "an environment with PyTorch" "$environment" || return 0
    inside_pytorch
    step "accuracy beside PyTorch's" "$environment" python "$root/tools/compare/accuracy.py" --build "$out/gcc" \
        ${only_device:+--device "$only_device"} || true
}

# What GPUs would get; see tools/vendor-compile.
by_vendors_compilers() {
    local name="kernels by GPU vendors' compilers" all=()
    [ $long = 0 ] || all=(--all)
    step "$name" "$root/tools/vendor-compile/run.sh" --build "$out/gcc" "${all[@]}" || true
    list_skips "$(log_of "$name")"
}

run_all() {
    prepare
    build_all
    find_devices
    say "== Tests"
    suite "tests of the host code" --test-dir "$out/gcc" -L host -j 2
    on_every_device
    with_limits
    with_other_vectors
    with_python
    step "kernels under oclgrind: races and bounds" "$root/tests/oclgrind/run.sh" "$out/gcc/bin" || true
    with_sanitizers
    if [ $long = 1 ]; then
        under_valgrind
    else
        skip "valgrind, sweeps of 100,000 problems" "they run with --long"
    fi
    if [ $hosts = 1 ]; then
        inside_onnxruntime
        beside_pytorch
        by_vendors_compilers
    else
        skip "the plugin inside ONNX Runtime, the operator inside PyTorch, accuracy beside PyTorch's" \
            "they run with --hosts"
        skip "kernels by GPU vendors' compilers" "they run with --hosts"
    fi
    finish
}

# On one line, so that editing this file does not disturb a run of it.
run_all; exit
