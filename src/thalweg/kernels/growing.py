"""Arrays with room for more."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def grown(array: npt.NDArray[Any], length: int, new: int = 0) -> npt.NDArray[Any]:
    """The array with more places, which hold `new`."""
    larger = np.full((length, *array.shape[1:]), new, array.dtype) if new else _zeros(array, length)
    larger[: len(array)] = array
    return larger


def _zeros(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    return np.zeros((length, *array.shape[1:]), array.dtype)
