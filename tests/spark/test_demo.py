"""The demo runs the engine, shows its answers where they go, and ends well."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.spark

SECONDS = 300


@contextmanager
def demo(*options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "thalweg.cli", "demo", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_it_ends_by_itself() -> None:
    with demo("--seconds", "1") as process:
        out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, out
    for query, kind in {"busiest": "relation", "load": "relation", "through": "stream"}.items():
        assert f"{query} ({kind}" in out
    assert "rows  " in out  # the line of progress
    assert "Write your own" in out
    assert "Traceback" not in out


def test_an_interrupt_ends_it_well() -> None:
    with demo("--seconds", "600") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("through ("):
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + signal.SIGINT
    assert "Write your own" in out
    assert "Traceback" not in out
