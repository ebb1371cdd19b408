"""What SET changes. Each setting is a field; its documentation is docs/settings.md."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from thalweg.errors import QueryError, Span, did_you_mean
from thalweg.functions.calendar import is_zone


@dataclass(frozen=True, slots=True)
class Settings:
    """`timezone`: the wall clock of dates and of timestamps written without a zone."""

    timezone: str = "UTC"

    def __post_init__(self) -> None:
        if not isinstance(self.timezone, str) or not is_zone(self.timezone):
            raise QueryError(
                f"{self.timezone!r} is not a time zone",
                hint="name one as in 'UTC', 'Europe/Paris' or '+02:00'",
            )


_NAMES = tuple(f.name for f in fields(Settings))
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
    if known not in _NAMES:
        raise QueryError(
            f'there is no setting "{name}"',
            span,
            detail="Settings are: " + ", ".join(_NAMES) + ".",
            hint=did_you_mean(name, _NAMES),
        )
    try:
        return replace(settings, **{known: value})
    except QueryError as error:
        error.span = error.span or value_span
        raise
