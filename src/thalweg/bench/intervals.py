"""How far a ratio that was measured several times may be from the true one."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

from thalweg.bench.compare import Spread

# How far the mean of so many numbers may be from the true one, in standard errors: the 95 %
# quantiles of Student's distribution, two-sided.
_QUANTILES = {
    2: 12.71,
    3: 4.303,
    4: 3.182,
    5: 2.776,
    6: 2.571,
    7: 2.447,
    8: 2.365,
    9: 2.306,
    10: 2.262,
    12: 2.201,
    15: 2.145,
    20: 2.093,
    30: 2.045,
}


def lower_end(theirs: Sequence[float], ours: Sequence[float]) -> Spread:
    """The lower end of what the true ratio may be, and how far the measured ones go."""
    ratios = [their / our for their, our in zip(theirs, ours, strict=True)]
    error = stdev(ratios) / len(ratios) ** 0.5
    quantile = next(_QUANTILES[n] for n in sorted(_QUANTILES, reverse=True) if n <= len(ratios))
    low = mean(ratios) - quantile * error
    return Spread(low, min(ratios), max(ratios))
