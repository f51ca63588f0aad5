# Intel's OpenCL runtime for CPUs, in a private virtual environment outside the tree. It uses venv.sh.
# shellcheck shell=bash disable=SC2154

# install_intel_runtime VENV: quick and without network when the pinned versions are there.
install_intel_runtime() {
    [ -e "$1/lib/libintelocl.so" ] || rm -f "$1/installed.txt"
    install_venv "$1" "$root/tools/lib/intel-requirements.txt"
}

# write_vendors FOLDER VENV: an ICD vendors folder with the system's drivers and, where it is installed, the runtime in
# VENV. (The package's own .icd holds a placeholder, and its libOpenCL stays off the library path.)
write_vendors() {
    local folder=$1 driver=$2/lib/libintelocl.so icd
    rm -rf "${folder:?}"
    mkdir -p "$folder"
    for icd in /etc/OpenCL/vendors/*.icd; do
        [ -e "$icd" ] && cp "$icd" "$folder/"
    done
    if [ -e "$driver" ]; then
        printf '%s\n' "$driver" > "$folder/oclattn-test-intel.icd"
    fi
}
