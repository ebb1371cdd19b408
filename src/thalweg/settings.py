"""What SET changes. Each setting is a field; its documentation is docs/settings.md."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from thalweg.adapt.policies import DEFAULT_FILTERS, FILTER_POLICIES
from thalweg.errors import QueryError, Span, did_you_mean
from thalweg.functions.calendar import is_zone


@dataclass(frozen=True, slots=True)
class Settings:
    """`timezone`: the wall clock of dates and of timestamps written without a zone.
    `adapt_filters`: by which policy filters change their order, the same for all queries."""

    timezone: str = "UTC"
    adapt_filters: str = DEFAULT_FILTERS

    def __post_init__(self) -> None:
        if not isinstance(self.timezone, str) or not is_zone(self.timezone):
            raise QueryError(
                f"{self.timezone!r} is not a time zone",
                hint="name one as in 'UTC', 'Europe/Paris' or '+02:00'",
            )
        if self.adapt_filters not in FILTER_POLICIES:
            raise QueryError(
                f"{self.adapt_filters!r} is no policy for the order of filters",
                detail=f"Policies are: {', '.join(FILTER_POLICIES)}.",
                hint=did_you_mean(str(self.adapt_filters), FILTER_POLICIES),
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
