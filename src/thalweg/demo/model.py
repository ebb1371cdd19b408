"""A model for the demo, in Python: dear, as models are."""

from __future__ import annotations

from math import exp, tanh

_WIDTHS = tuple(range(20, 500, 20))


def score(x: int) -> float:
    """How usual a reading is, between 0 and 1: above a half if it is below 500."""
    return 1 / (1 + exp(sum([tanh((x - 499.5) / width) for width in _WIDTHS])))
