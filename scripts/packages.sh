# Functions shared by the other scripts, which source it. It installs missing Debian/Ubuntu packages and prints their names;
# without any it uses neither apt nor the network.
#
# A requirement is package:check; the check is a command, a header below the system's include folders, or a pattern of
# absolute paths.

build_packages=(
    g++:c++ cmake:cmake ninja-build:ninja
    libboost-dev:boost/graph/adjacency_list.hpp libfmt-dev:fmt/core.h)
tool_packages=(libcli11-dev:CLI/CLI.hpp)
test_packages=(libgtest-dev:gtest/gtest.h libgmock-dev:gmock/gmock.h)

is_there() {
    case $1 in
        /*) compgen -G "$1" >/dev/null ;;
        *.h | *.hpp) [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ] ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

# The packages among the arguments whose check fails.
missing() {
    local entry
    for entry in "$@"; do
        is_there "${entry#*:}" || printf '%s ' "${entry%%:*}"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Installs the missing packages among the arguments. If it cannot, prints them and fails.
install_missing() {
    local packages
    read -ra packages <<<"$(missing "$@")"
    [ ${#packages[@]} = 0 ] && return 0
    echo "installing: ${packages[*]}"
    if ! command -v apt-get >/dev/null; then
        echo "this system has no apt-get; please install: ${packages[*]}" >&2
        return 1
    fi
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        echo "not root, and there is no sudo; please install: ${packages[*]}" >&2
        return 1
    fi
    local log
    log=$(mktemp)
    if { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "${packages[@]}"; } </dev/null >"$log" 2>&1; then
        rm -f "$log"
    else
        tail -n 5 "$log" >&2
        rm -f "$log"
        echo "could not be installed: ${packages[*]}" >&2
        return 1
    fi
}

# Prints a script's header comment, and exits.
usage() {
    sed -n '2,/^[^#]/s/^#\( \|$\)//p' "scripts/${1##*/}" >&2
    exit 2
}

use_ccache_if_there() {
    if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache; fi
}

# Summarises ctest's output in one line.
count_tests() {
    awk '/\*\*\*Skipped/ { skipped++ }
        /tests? failed out of/ { total += $NF; sub(/.*passed, /, ""); failed += $1 }
        END { printf "%d passed, %d failed, %d skipped\n", total - failed - skipped, failed, skipped }'
}

# Runs functions in order, also after failures, and prints the time of each. Sets `failed` to those that failed.
run_steps() {
    local step started
    failed=()
    for step in "$@"; do
        printf '\n=== %s\n' "$step"
        started=$SECONDS
        (set -e; "$step") & # in the background: a condition would switch off its `set -e`
        wait $! || failed+=("$step")
        printf '=== %s: %d s\n' "$step" $((SECONDS - started))
    done
}
