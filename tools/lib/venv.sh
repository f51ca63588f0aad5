# Private virtual environments outside the tree.
# shellcheck shell=bash

# install_venv VENV REQUIREMENTS: quick and without network when the pinned versions are there.
install_venv() {
    local venv=$1 wanted=$2
    if cmp -s "$wanted" "$venv/installed.txt"; then
        return 0
    fi
    rm -rf "${venv:?}"
    mkdir -p "$(dirname "$venv")"
    /usr/bin/python3 -m venv "$venv" &&
        "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 5 -r "$wanted" &&
        cp "$wanted" "$venv/installed.txt"
}
