"""Which columns a name can mean at one place of a query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from thalweg.errors import QueryError, Span, did_you_mean
from thalweg.types import Schema, Type


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column in reach: whose it is, its name, and its position in the input.

    `owner` is how errors call the source it belongs to, such as `stream "Trades"`.
    A `hidden` column answers to its qualified name only: the second copy of a
    column that USING has merged.
    """

    qualifier: str | None
    name: str
    type: Type
    index: int
    hidden: bool = False
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns of a FROM clause, and the scope around the subquery, if any.

    `semi_joined` are the right sides of semi and anti joins: they show no columns.
    """

    columns: tuple[ScopeColumn, ...] = ()
    outer: Scope | None = None
    semi_joined: tuple[str, ...] = ()

    @staticmethod
    def of(schema: Schema, qualifier: str | None, owner: str | None = None) -> Scope:
        return Scope(
            tuple(
                ScopeColumn(qualifier, f.name, f.type, i, owner=owner) for i, f in enumerate(schema)
            )
        )

    def beside(self, right: Scope) -> Scope:
        """The scope of a join: the columns of the left, then those of the right."""
        width = max((c.index for c in self.columns), default=-1) + 1
        moved = tuple(replace(c, index=c.index + width) for c in right.columns)
        return Scope(self.columns + moved, self.outer, self.semi_joined + right.semi_joined)

    def qualifiers(self) -> list[str]:
        return list(dict.fromkeys(c.qualifier for c in self.columns if c.qualifier))

    def find(self, name: str, qualifier: str | None, span: Span | None) -> ScopeColumn | None:
        """The one column that a name means; an error if it means several."""
        wanted = name.lower()
        found = [
            c
            for c in self.columns
            if c.name.lower() == wanted
            and (
                (qualifier is None and not c.hidden)
                or (qualifier is not None and (c.qualifier or "").lower() == qualifier.lower())
            )
        ]
        if len(found) > 1:
            owners = [f"{c.qualifier}.{c.name}" if c.qualifier else c.name for c in found]
            raise QueryError(
                f'column "{name}" is ambiguous',
                span,
                detail=f"It could be {' or '.join(owners)}.",
                hint=f"write {owners[0]}" if found[0].qualifier else "rename one of them with AS",
            )
        return found[0] if found else None

    def has_qualifier(self, name: str) -> bool:
        return any((c.qualifier or "").lower() == name.lower() for c in self.columns)

    def unknown(self, name: str, qualifier: str | None, span: Span | None) -> QueryError:
        """The error for a name that means nothing here."""
        qualifiers = self.qualifiers()
        if qualifier is None and len(qualifiers) == 1:
            qualifier = qualifiers[0]
        if qualifier is not None:
            mine = [c for c in self.columns if (c.qualifier or "").lower() == qualifier.lower()]
            own = [c.name for c in mine]
            owner = mine[0].owner or f'"{qualifier}"'
            return QueryError(
                f'{owner} has no column "{name}"',
                span,
                detail=f"{qualifier} has: {', '.join(own)}.",
                hint=did_you_mean(name, own),
            )
        visible = [c.name for c in self.columns if not c.hidden]
        listing = "; ".join(
            f"{q} has: {', '.join(c.name for c in self.columns if c.qualifier == q)}"
            for q in qualifiers
        )
        return QueryError(
            f'there is no column "{name}"',
            span,
            detail=(listing or f"Columns are: {', '.join(visible)}") + ".",
            hint=did_you_mean(name, visible),
        )

    def unknown_qualifier(self, name: str, span: Span | None) -> QueryError:
        if name.lower() in map(str.lower, self.semi_joined):
            return QueryError(
                f'"{name}" is the right side of a semi join and shows no columns',
                span,
                detail="A semi join keeps the rows of its left side.",
                hint="use JOIN",
            )
        known = self.qualifiers()
        return QueryError(
            f'"{name}" is not in the FROM clause',
            span,
            detail=f"There is: {', '.join(known)}." if known else None,
            hint=did_you_mean(name, known),
        )
