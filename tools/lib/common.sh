# Shared by the scripts in tools/. Source it with `root` set to the top of the tree.
# shellcheck shell=bash disable=SC2154

say() {
    printf '%s\n' "$*"
}

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 2
}

# packages_of SECTION...: the names listed there in tools/lib/packages.txt.
packages_of() {
    awk -v wanted=" $* " '
        /^#/ || NF == 0 { next }
        /^\[/ { section = substr($1, 2, length($1) - 2); next }
        index(wanted, " " section " ") { print $1 }' "$root/tools/lib/packages.txt"
}

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

run_as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# install_packages SECTION...: installs what is missing, and touches nothing when all is there.
install_packages() {
    local package missing=()
    if ! command -v apt-get > /dev/null; then
        say "No apt here. These Debian packages, or what matches them, are needed: $(packages_of "$@" | xargs)"
        return
    fi
    say "Debian packages needed: $(packages_of "$@" | xargs)"
    for package in $(packages_of "$@"); do
        is_installed "$package" || missing+=("$package")
    done
    if [ ${#missing[@]} = 0 ]; then
        say "All of them are installed."
        return
    fi
    say "Installing with apt, which may take a few minutes: ${missing[*]}"
    if [ "$(id -u)" != 0 ] && ! command -v sudo > /dev/null; then
        die "neither root nor sudo. As root, run: apt-get install --no-install-recommends ${missing[*]}"
    fi
    apt_get_install "${missing[@]}" || die "apt-get could not install them; its messages are above"
}

apt_get_install() {
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
    # An update that fails in part is no reason to stop: the lists at hand may do.
    run_as_root "${apt[@]}" update || say "apt-get update failed; going on with the lists there are"
    run_as_root "${apt[@]}" install -y --no-remove --no-install-recommends "$@" > /dev/null
}

# build_tree FOLDER [CMAKE OPTION...]: configures and builds; a folder of another source tree starts anew.
build_tree() {
    local folder=$1 generator=()
    shift
    if [ ! -e "$folder/CMakeCache.txt" ]; then
        generator=(-G Ninja)
    elif ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
        rm -rf "${folder:?}/CMakeCache.txt" "$folder/CMakeFiles"
        generator=(-G Ninja)
    fi
    mkdir -p "$folder"
    cmake -S "$root" -B "$folder" "${generator[@]}" "$@" > "$folder/configure.log" 2>&1 ||
        { cat "$folder/configure.log" >&2; return 1; }
    cmake --build "$folder"
}

# PoCL learns the machine's memory and processors from hwloc, and hwloc from /sys. Without /sys, as in a plain chroot, PoCL
# ends the process; so hwloc is told.
describe_machine_without_sysfs() {
    local bytes
    if [ -d /sys/devices/system/cpu ] || [ -n "${HWLOC_SYNTHETIC:-}" ]; then
        return
    fi
    bytes=$(($(getconf _PHYS_PAGES) * $(getconf PAGE_SIZE)))
    export HWLOC_SYNTHETIC="node:1(memory=$bytes) pu:$(nproc)"
    say "There is no /sys here, and PoCL needs it to see the memory. Instead: HWLOC_SYNTHETIC='$HWLOC_SYNTHETIC'"
}
