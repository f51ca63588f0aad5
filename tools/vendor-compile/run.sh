#!/bin/bash
# The kernels by the vendors' own compilers; see vendor_compile.py.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tools/lib/common.sh
. "$root/tools/lib/common.sh"
# shellcheck source=tools/lib/venv.sh
. "$root/tools/lib/venv.sh"

usage() {
    cat <<'END'
Usage: tools/vendor-compile/run.sh [--build FOLDER] [--no-install] [OPTION...]

Compiles the kernels that oclattn would build on GPUs of NVIDIA, AMD and Intel, with those vendors' own compilers, and
fails where one does not compile, spills, does not fit its local memory, or allows fewer than two work-groups on a
compute unit. No GPU is needed. What came out is compared with tools/vendor-compile/report.txt.

  --build FOLDER  a build of this tree (default: build/, which is made where it is missing)
  --no-install    install nothing; a compiler that is missing is a SKIP
  --all           every kernel on every architecture; otherwise those that a change is most likely to worsen
  --update        compile all, and write the report anew
  --arch NAME     this architecture only (sm_80, gfx1100, dg2, ...), and so --kernel NAME; both may be repeated
  --verbose       print what came out, a line for each kernel
  --clang PROGRAM, --ptxas PROGRAM, --ocloc PROGRAM   compilers of your own; --jobs N   compilations at a time

Installs clang-19, libclc-19 and intel-opencl-icd from Debian where they are missing, and NVIDIA's ptxas from PyPI where
there is no CUDA toolkit. Exit code 0: every kernel holds (a report that is out of date is said to be); 1: one does not;
2: usage.
END
}

build=$root/build
install=1
options=()
while [ $# -gt 0 ]; do
    case $1 in
        --build)
            [ $# -ge 2 ] || die "--build needs a value"
            build=$2
            shift
            ;;
        --no-install) install=0 ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) options+=("$1") ;;
    esac
    shift
done

if [ $install = 1 ]; then
    install_packages build vendor >&2
fi
if [ ! -e "$build/CMakeCache.txt" ]; then
    cmake -G Ninja -S "$root" -B "$build" -DOCLATTN_BUILD_TESTS=OFF >&2
fi
cmake --build "$build" --target vendor_kernels >&2

venv=${OCLATTN_VENDOR_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/oclattn/ptxas}
if [ $install = 1 ] && ! command -v ptxas > /dev/null && [ ! -x /usr/local/cuda/bin/ptxas ]; then
    install_venv "$venv" "$root/tools/vendor-compile/requirements.txt" >&2 ||
        say "ptxas could not be installed from PyPI" >&2
fi
for folder in "$venv"/lib/python3*/site-packages/nvidia/*/bin; do
    PATH=$PATH:$folder
done
exec python3 -B "$root/tools/vendor-compile/vendor_compile.py" --recorder "$build/bin/vendor_kernels" "${options[@]}"
