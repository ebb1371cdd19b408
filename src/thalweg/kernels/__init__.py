"""Tight loops, compiled by Numba.

Each is plain Python over arrays. With NUMBA_DISABLE_JIT=1 the same text runs
interpreted: that is its twin in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile on first use, and keep the machine code on disk."""
    return numba.njit(cache=True, nogil=True)(function)  # type: ignore[return-value]
