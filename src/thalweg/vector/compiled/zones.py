"""Zones in which the wall clock is the instant."""

from __future__ import annotations

import datetime as dt

from thalweg.functions.calendar import zone_rules


def is_utc(zone: str) -> bool:
    return zone_rules(zone) is dt.UTC
