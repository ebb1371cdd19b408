"""The Java that Spark runs on: found where people have it, or asked for in so many words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from glob import glob
from pathlib import Path

from thalweg.errors import QueryError

# What Spark 4 asks for.
LEAST = 17

_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "~/.sdkman/candidates/java/current",
    "/opt/homebrew/opt/openjdk*",
    "/usr/local/opt/openjdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
)
_INSTALL = """\
Debian and Ubuntu: sudo apt install default-jre-headless
Fedora:            sudo dnf install java-21-openjdk-headless
macOS:             brew install openjdk
elsewhere:         https://adoptium.net, then set JAVA_HOME"""


def java_home() -> Path:
    """The home of a Java that is recent enough."""
    too_old = []
    for home in _homes():
        version = _version(home)
        if version is not None and version >= LEAST:
            return home
        if version is not None:
            too_old.append(f"{home} has Java {version}.")
    raise QueryError(
        f"Spark needs Java {LEAST} or later, and there is none",
        detail="\n".join((*dict.fromkeys(too_old), _INSTALL)),
        hint="--engine reference needs none, and is slow",
    )


def _homes() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path is not None:
        yield Path(on_path).resolve().parents[1]
    for place in _PLACES:
        yield from map(Path, sorted(glob(os.path.expanduser(place)), reverse=True))


def _version(home: Path) -> int | None:
    """The major version of a Java; None if there is none."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return None
    try:
        told = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        # Not all have the file; asking takes a tenth of a second.
        try:
            asked = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return None
        told = asked.stderr
    found = re.search(r'(?:JAVA_VERSION=|version )"(\d+)', told)
    return int(found[1]) if found else None


if __name__ == "__main__":
    try:
        print(java_home())
    except QueryError as error:
        sys.exit(error.render())
