"""All cases, domain by domain."""

from __future__ import annotations

from . import benchmarks, corners, market, moving, network, sensors, web
from .case import Case

CASES: tuple[Case, ...] = (
    *network.CASES,
    *sensors.CASES,
    *market.CASES,
    *moving.CASES,
    *web.CASES,
    *benchmarks.CASES,
    *corners.CASES,
)
