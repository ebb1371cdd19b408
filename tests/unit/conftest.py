"""The command line, run in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


Command = Callable[..., Ended]

# On the reference: it starts at once, and what is said of a script or its input is the same.
RUN = ("run", "--engine", "reference")


@pytest.fixture
def thalweg(tmp_path: Path) -> Command:
    """Run `thalweg ARGS` in a fresh folder; no run may ever end in a traceback."""

    def run(
        *arguments: str, stdin: bytes | None = None, stdout: IO[bytes] | int = subprocess.PIPE
    ) -> Ended:
        done = subprocess.run(
            [sys.executable, "-m", "thalweg.cli", *arguments],
            cwd=tmp_path,
            input=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=300,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        )
        ended = Ended(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())
        assert "Traceback" not in ended.err, ended.err
        assert "internal error" not in ended.err, ended.err
        return ended

    return run
