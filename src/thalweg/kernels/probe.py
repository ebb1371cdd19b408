"""A hash index over stored intervals, and its probe."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.kernels import kernel


@kernel
def link_rows(hashes: Any, heads: Any, following: Any, first: int, end: int) -> None:
    """Enter rows first … end − 1 into the chains of their hashes."""
    mask = len(heads) - 1
    for row in range(first, end):
        bucket = hashes[row] & mask
        following[row] = heads[bucket]
        heads[bucket] = row


@kernel
def probe_index(
    words: Any,
    hashes: Any,
    starts: Any,
    ends: Any,
    stored_words: Any,
    stored_hashes: Any,
    stored_starts: Any,
    stored_ends: Any,
    heads: Any,
    following: Any,
) -> Any:
    """Pairs (probing row, stored row) with equal words and intervals that meet."""
    mask = len(heads) - 1
    width = words.shape[1]
    left = np.empty(max(16, len(words)), np.int64)
    right = np.empty(len(left), np.int64)
    found = 0
    for row in range(len(words)):
        hashed = hashes[row]
        stored = heads[hashed & mask]
        while stored >= 0:
            if (
                stored_hashes[stored] == hashed
                and stored_starts[stored] < ends[row]
                and starts[row] < stored_ends[stored]
            ):
                same = True
                for column in range(width):
                    if stored_words[stored, column] != words[row, column]:
                        same = False
                        break
                if same:
                    if found == len(left):
                        more_left = np.empty(2 * found, np.int64)
                        more_right = np.empty(2 * found, np.int64)
                        more_left[:found] = left
                        more_right[:found] = right
                        left = more_left
                        right = more_right
                    left[found] = row
                    right[found] = stored
                    found += 1
            stored = following[stored]
    return left[:found], right[:found]
