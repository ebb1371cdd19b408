#!/bin/sh
# Make the virtual environment, install Thalweg into it, and see to a Java for Spark.
# usage: scripts/setup.sh VENV
set -eu
venv=$1

say() { printf '==> %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

supported='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'

find_python() {
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c "$supported" >/dev/null 2>&1; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

install_packages() {
    # $1: what for; the rest: package names for apt, dnf, apk, pacman, zypper, brew
    what=$1 apt=$2 dnf=$3 apk=$4 pacman=$5 zypper=$6 brew=$7
    root=""
    if [ "$(id -u)" != 0 ]; then
        if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then root="sudo"; else root="no"; fi
    fi
    if command -v brew >/dev/null 2>&1; then
        say "installing $what with brew"
        brew install "$brew" && return 0
    fi
    [ "$root" = no ] && return 1
    if command -v apt-get >/dev/null 2>&1; then
        say "installing $what with apt-get"
        $root apt-get update -qq && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$apt" >/dev/null && return 0
    elif command -v dnf >/dev/null 2>&1; then
        say "installing $what with dnf"; $root dnf install -y -q "$dnf" && return 0
    elif command -v apk >/dev/null 2>&1; then
        say "installing $what with apk"; $root apk add -q "$apk" && return 0
    elif command -v pacman >/dev/null 2>&1; then
        say "installing $what with pacman"; $root pacman -S --noconfirm --quiet "$pacman" && return 0
    elif command -v zypper >/dev/null 2>&1; then
        say "installing $what with zypper"; $root zypper -q install -y "$zypper" && return 0
    fi
    return 1
}

python=$(find_python) || fail "no Python 3.11, 3.12 or 3.13 found.
  Install one (Debian: apt install python3 python3-venv; macOS: brew install python@3.13),
  or name it: make setup PYTHON=/path/to/python3.12"
say "Python: $("$python" -c 'import sys; print(sys.version.split()[0], sys.executable)')"

if [ ! -x "$venv/bin/python" ]; then
    if ! "$python" -m venv "$venv" 2>/dev/null; then
        rm -rf "$venv"
        install_packages "the venv module" python3-venv python3 python3 python python3 python3 \
            && "$python" -m venv "$venv" \
            || fail "$python cannot make virtual environments. On Debian: apt install python3-venv"
    fi
fi

quiet="-q"
if [ -t 1 ]; then quiet=""; fi
say "installing Thalweg and what it needs into $venv (PySpark is large: some minutes the first time)"
"$venv/bin/python" -m pip install --disable-pip-version-check $quiet -e '.[dev]' \
    || fail "pip could not install the dependencies; its message is above"

java_home() { "$venv/bin/python" -m thalweg.job.java; }

if ! java=$(java_home 2>/dev/null); then
    install_packages "Java" default-jre-headless java-21-openjdk-headless openjdk17-jre-headless \
        jre-openjdk-headless java-21-openjdk-headless openjdk || true
    java=$(java_home) || fail "Java could not be installed: see above, then run make setup again"
fi
say "Java: $java"
say "ready"
