"""`import thalweg` is quick: nothing that takes time is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import thalweg

HEAVY = ("numba", "numpy", "pandas", "pyarrow", "pyspark", "sqlglot")


def test_the_import_loads_nothing() -> None:
    check = f"import thalweg, sys; print([name for name in {HEAVY} if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert ended.stdout.strip() == "[]", ended.stderr


def test_everything_that_is_promised_is_there() -> None:
    for name in thalweg.__all__:
        assert getattr(thalweg, name).__name__ == name
    assert dir(thalweg) == thalweg.__all__
    with pytest.raises(AttributeError, match="no attribute 'Engin'"):
        thalweg.Engin  # type: ignore[attr-defined]  # noqa: B018
