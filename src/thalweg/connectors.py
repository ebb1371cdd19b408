"""What every connector declares about its options, and how a call is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.catalog import Connector
from thalweg.cql.statements import ConnectorCall
from thalweg.errors import QueryError, SourceText, did_you_mean


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option: the Python type of its value, its default, and a line of help."""

    type: type[Any]
    default: Any
    help: str


@dataclass(frozen=True)
class ConnectorKind:
    name: str
    options: Mapping[str, OptionSpec]


_TYPE_NAMES = {str: "text", bool: "true or false", int: "an integer", float: "a number"}


def checked_connector(
    call: ConnectorCall, kinds: Mapping[str, ConnectorKind], what: str, source: SourceText
) -> Connector:
    """The connector of a call: known, with known options of the right types."""
    name = call.name.text.lower()
    kind = kinds.get(name)
    if kind is None:
        raise QueryError(
            f'there is no {what} connector "{call.name}"',
            call.name.span,
            detail="Connectors are: " + ", ".join(kinds) + ".",
            hint=did_you_mean(name, kinds),
        )
    options: dict[str, Any] = {option: spec.default for option, spec in kind.options.items()}
    for option in call.options:
        spec = kind.options.get(option.name.text.lower())
        if spec is None:
            raise QueryError(
                f'{name} has no option "{option.name}"',
                option.name.span,
                detail="Options are: " + ", ".join(kind.options) + ".",
                hint=did_you_mean(option.name.text, kind.options),
            )
        value = option.value
        if spec.type is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not spec.type:
            raise QueryError(
                f"option {option.name} of {name} must be {_TYPE_NAMES[spec.type]}", option.span
            )
        options[option.name.text.lower()] = value
    return Connector(
        name, call.location, tuple(options.items()), call.location_span or call.span, source
    )


def need_location(connector: Connector, example: str) -> None:
    if not connector.location:
        raise connector.error(
            f"{connector.name} needs a location", hint=f"write {connector.name}('{example}')"
        )


def refuse_location(connector: Connector) -> None:
    if connector.location is not None:
        raise connector.error(f"{connector.name} has no location", hint=f"write {connector.name}()")


def path_of(connector: Connector) -> Path:
    """What a location names; `~` is a home folder."""
    assert connector.location, f"{connector.name} has been checked for a location"
    try:
        return Path(connector.location).expanduser()
    except RuntimeError:
        raise connector.error(f"there is no home folder for {connector.location!r}") from None
