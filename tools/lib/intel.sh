# Intel's OpenCL runtime for CPUs, in a private virtual environment outside the tree.
# shellcheck shell=bash disable=SC2154

# install_intel_runtime VENV: quick and without network when the pinned versions are there.
install_intel_runtime() {
    local venv=$1 wanted="$root/tools/lib/intel-requirements.txt"
    if cmp -s "$wanted" "$venv/installed.txt" && [ -e "$venv/lib/libintelocl.so" ]; then
        return 0
    fi
    rm -rf "${venv:?}"
    mkdir -p "$(dirname "$venv")"
    /usr/bin/python3 -m venv "$venv" &&
        "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 5 -r "$wanted" &&
        cp "$wanted" "$venv/installed.txt"
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
