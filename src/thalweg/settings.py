"""What SET changes. Each setting is a field; its documentation is docs/settings.md."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any

from thalweg.adapt.choices import CACHE_CHOICES, JOIN_POLICIES, Adaptation
from thalweg.adapt.policies import FILTER_POLICIES
from thalweg.errors import QueryError, Span, did_you_mean
from thalweg.functions.calendar import is_zone
from thalweg.units import size_in_bytes


@dataclass(frozen=True, slots=True)
class Settings:
    """`timezone`: the wall clock of dates and of timestamps written without a zone.
    `adapt_filters` and `adapt_joins`: by which policies they change their order. `adapt_caches`:
    whether joins keep subresults; `cache_memory`: how much of them in one process."""

    timezone: str = "UTC"
    adapt_filters: str = "a-greedy"
    adapt_joins: str = "a-greedy"
    adapt_caches: str = "on"
    cache_memory: str = "64MB"

    def __post_init__(self) -> None:
        if not isinstance(self.timezone, str) or not is_zone(self.timezone):
            raise QueryError(
                f"{self.timezone!r} is not a time zone",
                hint="name one as in 'UTC', 'Europe/Paris' or '+02:00'",
            )
        _check(self.adapt_filters, FILTER_POLICIES, "no policy for the order of filters")
        _check(self.adapt_joins, JOIN_POLICIES, "no policy for the order of joins")
        _check(self.adapt_caches, CACHE_CHOICES, "no choice for the caches of joins")
        if not isinstance(self.cache_memory, str) or size_in_bytes(self.cache_memory) is None:
            raise QueryError(
                f"{self.cache_memory!r} is not an amount of memory", hint="write it as in '64MB'"
            )

    @property
    def adaptation(self) -> Adaptation:
        memory = size_in_bytes(self.cache_memory)
        assert memory is not None, "the amount of memory was checked"
        return Adaptation(self.adapt_filters, self.adapt_joins, self.adapt_caches, memory)


def _check(value: object, choices: Collection[str], mistake: str) -> None:
    if value not in choices:
        raise QueryError(
            f"{value!r} is {mistake}",
            detail=f"There are: {', '.join(choices)}.",
            hint=did_you_mean(str(value), choices),
        )


NAMES = tuple(f.name.replace("adapt_", "adapt.") for f in fields(Settings))
_OTHER_SPELLINGS = {"time_zone": "timezone", "spark.sql.session.timezone": "timezone"}


def changed(
    settings: Settings,
    name: str,
    value: Any,
    span: Span | None = None,
    value_span: Span | None = None,
) -> Settings:
    """The settings after `SET name = value`."""
    known = _OTHER_SPELLINGS.get(name.lower(), name.lower())
    if known not in NAMES:
        raise QueryError(
            f'there is no setting "{name}"',
            span,
            detail="Settings are: " + ", ".join(NAMES) + ".",
            hint=did_you_mean(name, NAMES),
        )
    try:
        return replace(settings, **{known.replace(".", "_"): value})
    except QueryError as error:
        error.span = error.span or value_span
        raise
