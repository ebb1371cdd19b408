"""Hashes that are the same in every process."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.kernels import kernel

_ODD = np.uint64(0x9E3779B97F4A7C15)


def mixed(hashes: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> Any:
    """Hashes with one more word each."""
    hashes = (hashes ^ words) * _ODD
    return hashes ^ (hashes >> np.uint64(29))


@kernel
def hash_bytes(content: Any, offsets: Any) -> Any:
    """A hash of each piece of the content, in 31-bit steps: no step overflows."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for piece in range(len(hashes)):
        high = 2166136261
        low = 40389
        for at in range(offsets[piece], offsets[piece + 1]):
            high = ((high ^ int(content[at])) * 16777619) & 0x7FFFFFFF
            low = ((low + int(content[at])) * 69069) & 0x7FFFFFFF
        hashes[piece] = (high << 31) | low
    return hashes
