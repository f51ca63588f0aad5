#!/bin/bash
# From a fresh Debian 12 to F(H) of a real model on this machine's best OpenCL device.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tools/lib/common.sh
. "$root/tools/lib/common.sh"

usage() {
    cat <<'END'
Usage: tools/quickstart.sh [--device SPEC]

Installs the Debian packages that are missing (as root, or through sudo), builds oclattn into build/, and computes
the attention block of a trained model (encoder layer 0 of all-MiniLM-L6-v2) on a real sentence. The result is held to
one computed in float64; the exit code is 0 only if it is right. The tools stay in build/bin/.

  --device SPEC   the device to run on: "gpu", "cpu", "P:D", or a part of a name (default: the best there is)
END
}

device=()
while [ $# -gt 0 ]; do
    case $1 in
        --device)
            [ $# -ge 2 ] || die "--device needs a value"
            device=(--device "$2")
            shift 2
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) die "unknown option $1; see --help" ;;
    esac
done

say "== Packages"
install_packages build

say "== Build"
build_tree "$root/build" -DCMAKE_BUILD_TYPE=Release -DOCLATTN_BUILD_TESTS=OFF

say "== F(H) of all-MiniLM-L6-v2, encoder layer 0, 12 heads, on a real sentence"
describe_machine_without_sysfs
code=0
"$root/build/bin/oclattn-run" mha --weights "$root/tests/data/minilm_layer0.safetensors" --heads 12 --expect F \
    --explain "${device[@]}" || code=$?
if [ "$code" = 0 ]; then
    say "== Done: F(H) is right. Next: build/bin/oclattn-run --help"
else
    say "== Failed with exit code $code"
fi
exit "$code"
