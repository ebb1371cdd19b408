"""What an order costs on tuples of which all filters have told whether they pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thalweg.adapt.drops import Index, Mask, Order, Times


def dropped_at(passes: Mask, order: Order) -> Index:
    """By tuple the position of the filter that drops it; the number of filters if none does."""
    at, left = np.zeros(len(passes), np.int16), np.ones(len(passes), np.bool_)
    for number in order:
        left &= passes[:, number]
        at += left
    return at.astype(np.int64)


def costs(passes: Mask, order: Order, times: Times) -> npt.NDArray[np.float64]:
    """The time that each tuple takes."""
    spent = np.cumsum([times[number] for number in order])
    # Who passes all filters has met as many as who is dropped by the last one.
    by_position = np.append(spent, spent[-1:])
    taken: npt.NDArray[np.float64] = by_position[dropped_at(passes, order)]
    return taken


def reaching(passes: Mask, order: Order) -> list[int]:
    """How many tuples reach each position."""
    reached, left = [len(passes)], np.ones(len(passes), np.bool_)
    for number in order[:-1]:
        left &= passes[:, number]
        reached.append(int(np.count_nonzero(left)))
    return reached


def cost(passes: Mask, order: Order, times: Times) -> float:
    """The time that all tuples take together."""
    both = zip(order, reaching(passes, order), strict=True)
    return float(sum(times[number] * reached for number, reached in both))
