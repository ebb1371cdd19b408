"""Tight loops, compiled by Numba.

Each is plain Python over arrays. With NUMBA_DISABLE_JIT=1 the same text runs
interpreted: that is its twin in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy.typing as npt

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile on first use, and keep the machine code on disk."""
    return numba.njit(cache=True, nogil=True)(function)  # type: ignore[return-value]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as one that a kernel only reads.

    Mapped columns are so already: with this, a kernel is compiled once for both.
    """
    view = array.view()
    view.flags.writeable = False
    return view
