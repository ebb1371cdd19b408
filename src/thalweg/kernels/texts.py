"""Texts by slot: bytes one after the other in one array, found by where they start.

A text is dropped with its slot. Its bytes stay behind until there is no room for
more; then those in use move together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.kernels import kernel, read_only
from thalweg.kernels.growing import grown

Bytes = npt.NDArray[np.uint8]
Slots = npt.NDArray[np.int64]

_ROOM = 64


@dataclass(frozen=True, slots=True)
class Texts:
    """The bytes of texts, and where each begins and ends."""

    content: Bytes
    offsets: npt.NDArray[np.int64]


def no_texts() -> Texts:
    return Texts(read_only(np.zeros(0, np.uint8)), np.zeros(1, np.int64))


@kernel
def put_texts(
    content: Any, offsets: Any, rows: Any, slots: Any, pool: Any, places: Any, used: int
) -> int:
    """Append the texts of some rows; gives where the pool ends now."""
    for i in range(len(rows)):
        first = offsets[rows[i]]
        length = offsets[rows[i] + 1] - first
        places[slots[i], 0] = used
        places[slots[i], 1] = length
        for at in range(length):
            pool[used + at] = content[first + at]
        used += length
    return used


@kernel
def gather_texts(starts: Any, lengths: Any, pool: Any) -> Any:
    """The texts that begin and are as long as said, one after the other, and where each ends."""
    offsets = np.empty(len(starts) + 1, np.int64)
    offsets[0] = 0
    for i in range(len(starts)):
        offsets[i + 1] = offsets[i] + lengths[i]
    content = np.empty(offsets[len(starts)], np.uint8)
    for i in range(len(starts)):
        for at in range(lengths[i]):
            content[offsets[i] + at] = pool[starts[i] + at]
    return content, offsets


class TextPool:
    """`places` has for each slot where its text starts, and its length."""

    def __init__(self) -> None:
        self.bytes = np.zeros(_ROOM, np.uint8)
        self.places = np.zeros((_ROOM, 2), np.int64)
        self._used = 0

    def make_room(self, slots: int) -> None:
        """Slots are now below a number."""
        if slots > len(self.places):
            self.places = grown(self.places, slots)

    def put(self, slots: Slots, texts: Texts, rows: Slots) -> None:
        """Slots get the texts of some rows."""
        more = int((texts.offsets[rows + 1] - texts.offsets[rows]).sum())
        self.places[slots] = 0
        if self._used + more > len(self.bytes):
            self._move_together(more)
        self._used = put_texts(
            texts.content, texts.offsets, rows, slots, self.bytes, self.places, self._used
        )

    def drop(self, slots: Slots) -> None:
        self.places[slots] = 0

    def _move_together(self, more: int) -> None:
        live = np.flatnonzero(self.places[:, 1])
        together, offsets = gather_texts(self.places[live, 0], self.places[live, 1], self.bytes)
        self.bytes = grown(together, max(_ROOM, 2 * (len(together) + more)))
        self.places[live, 0] = offsets[:-1]
        self._used = len(together)
