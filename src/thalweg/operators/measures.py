"""What aggregates need to know of the rows of a group.

A measure is one such thing: how many rows there are, the sum of a column, its least
value, its distinct values. Each row gives some columns to a measure. Measures that
add up give columns of the same kind for many rows at once: for a part, the rows of
one group and pane. From the columns of all parts inside a window its folds
(`folds.py`) find what the aggregates show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from thalweg.kernels import parts as kernels
from thalweg.kernels import read_only
from thalweg.operators.row_words import NARROW, decimal_words, masked
from thalweg.plan.expressions import AggregateCall, Expression
from thalweg.types import BIGINT, BINARY, BOOLEAN, STRING, DecimalType, Type
from thalweg.vector.column import FIXED, Columns, Index, Mask, Vector, constant, from_values
from thalweg.vector.hashing import number_words

Totals = npt.NDArray[np.int64]

_ALL = read_only(np.zeros(0, np.bool_))
_LOW = (1 << 32) - 1


# What a user's aggregate has come to on some rows of arguments.
Begin = Callable[[AggregateCall, Columns, int], bytes]


class Given:
    """The rows of a batch, seen by measures; an expression is evaluated once."""

    def __init__(self, evaluate: Callable[[Expression], Vector], length: int, begin: Begin) -> None:
        self._evaluate = evaluate
        self.begin = begin
        self._known: dict[Expression, Vector] = {}
        self.length = length

    def __getitem__(self, expression: Expression) -> Vector:
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._evaluate(expression)
        return known

    def counted(
        self, arguments: Iterable[Expression], conditions: Iterable[Expression]
    ) -> Mask | None:
        """Which rows count: no argument is NULL and all conditions are true; None for all."""
        counted: Mask | None = None
        for argument in arguments:
            column = self[argument]
            if column.has_nulls:
                counted = _both(counted, column.present())
        for condition in conditions:
            outcome = self[condition]
            if outcome.type != BOOLEAN:
                return np.zeros(self.length, np.bool_)
            counted = _both(counted, outcome.data)
            if outcome.valid is not None:
                counted = _both(counted, outcome.valid)
        return counted


def _both(mask: Mask | None, other: Mask) -> Mask:
    return other if mask is None else mask & other


@dataclass(frozen=True, slots=True)
class Parts:
    """The part of each row, the first row of each part, and how many rows it has."""

    slots: npt.NDArray[np.int32]
    rows: Index
    sizes: Totals

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class LeftOver:
    """What did not fit the columns of a part: numbers for one of them, to be added as well."""

    parts: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.float64]
    column: int


@dataclass(frozen=True, slots=True)
class Added:
    """The columns of parts."""

    columns: Columns
    left_over: tuple[LeftOver, ...] = ()


class Measure(Protocol):
    """`types` are the types of its columns."""

    adds_up: ClassVar[bool]

    @property
    def types(self) -> tuple[Type, ...]: ...

    @property
    def expressions(self) -> tuple[Expression, ...]: ...

    def columns(self, given: Given) -> Columns:
        """What each row gives."""
        ...

    def added(self, given: Given, parts: Parts) -> Added:
        """What parts give."""
        ...

    def nothing(self, length: int) -> Columns:
        """Columns that add nothing."""
        ...


@dataclass(frozen=True)
class Distinct:
    """Which values are there, however often; other measures count by it."""

    arguments: tuple[Expression, ...]
    conditions: tuple[Expression, ...]
    adds_up: ClassVar[bool] = False

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(argument.type for argument in self.arguments)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return *self.arguments, *self.conditions

    def columns(self, given: Given) -> Columns:
        counted = given.counted(self.arguments, self.conditions)
        first, *others = (given[argument] for argument in self.arguments)
        return nulled(first, counted), *others

    def added(self, given: Given, parts: Parts) -> Added:
        raise AssertionError("distinct values do not add up")

    def nothing(self, length: int) -> Columns:
        return tuple(constant(None, type_, length) for type_ in self.types)


# Numbers to add up


@dataclass(frozen=True)
class Numbers:
    """Numbers of a row that are added up: of all rows that count, or of distinct values."""

    arguments: tuple[Expression, ...] = ()
    conditions: tuple[Expression, ...] = ()
    distinct: Distinct | None = None
    adds_up: ClassVar[bool] = True
    types: ClassVar[tuple[Type, ...]] = ()

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return *self.arguments, *self.conditions

    def columns(self, given: Given) -> Columns:
        raise NotImplementedError

    def added(self, given: Given, parts: Parts) -> Added:
        raise NotImplementedError

    def nothing(self, length: int) -> Columns:
        return tuple(constant(0, type_, length) for type_ in self.types)

    def counted(self, given: Given) -> Mask | None:
        return given.counted(self.arguments, self.conditions)

    def column(self, given: Given) -> Vector:
        """The only argument."""
        (argument,) = self.arguments
        return given[argument]


class Count(Numbers):
    """How many rows have no NULL among some arguments and pass some conditions."""

    types: ClassVar[tuple[Type, ...]] = (BIGINT,)

    def columns(self, given: Given) -> Columns:
        counted = self.counted(given)
        if counted is None:
            return (Vector(BIGINT, np.ones(given.length, np.int64)),)
        return (Vector(BIGINT, counted.astype(np.int64)),)

    def added(self, given: Given, parts: Parts) -> Added:
        counted = self.counted(given)
        if counted is None:
            return Added((Vector(BIGINT, parts.sizes),))
        totals = np.zeros(len(parts), np.int64)
        kernels.add_ones(parts.slots, read_only(counted), totals)
        return Added((Vector(BIGINT, totals),))


class Whole(Numbers):
    """The sum of integers of at most 32 bits: 2^31 of them fit 64."""

    types: ClassVar[tuple[Type, ...]] = (BIGINT,)

    def columns(self, given: Given) -> Columns:
        numbers = self.column(given).data.astype(np.int64)
        return (Vector(BIGINT, where(self.counted(given), numbers)),)

    def added(self, given: Given, parts: Parts) -> Added:
        totals = np.zeros((len(parts), 1), np.int64)
        numbers = read_only(self.column(given).data)
        kernels.add_whole(parts.slots, numbers, as_mask(self.counted(given)), totals)
        return Added(vectors(totals, BIGINT))


class Halves(Numbers):
    """The sum of 64-bit numbers and short decimals, in low and high halves.

    No sum of up to 2^31 of them can overflow, and the exact total is known when it is
    shown.
    """

    types: ClassVar[tuple[Type, ...]] = (BIGINT, BIGINT)

    def columns(self, given: Given) -> Columns:
        numbers = where(self.counted(given), self._numbers(given))
        return Vector(BIGINT, numbers & _LOW), Vector(BIGINT, numbers >> 32)

    def added(self, given: Given, parts: Parts) -> Added:
        totals = np.zeros((len(parts), 2), np.int64)
        numbers = read_only(self._numbers(given))
        kernels.add_halves(parts.slots, numbers, as_mask(self.counted(given)), totals)
        return Added(vectors(totals, BIGINT))

    def _numbers(self, given: Given) -> Totals:
        column = self.column(given)
        if isinstance(column.data, np.ndarray):
            return column.data.astype(np.int64, copy=False)
        return np.ascontiguousarray(decimal_words(column.data)[:, 0])


class Quarters(Numbers):
    """The sum of 128-bit numbers, in four pieces."""

    types: ClassVar[tuple[Type, ...]] = (BIGINT,) * 4

    def columns(self, given: Given) -> Columns:
        counted = self.counted(given)
        low, high = (where(counted, words) for words in self._numbers(given))
        pieces = (low & _LOW, (low >> 32) & _LOW, high & _LOW, high >> 32)
        return tuple(Vector(BIGINT, piece) for piece in pieces)

    def added(self, given: Given, parts: Parts) -> Added:
        totals = np.zeros((len(parts), 4), np.int64)
        low, high = map(read_only, self._numbers(given))
        kernels.add_quarters(parts.slots, low, high, as_mask(self.counted(given)), totals)
        return Added(vectors(totals, BIGINT))

    def _numbers(self, given: Given) -> tuple[Totals, Totals]:
        words = decimal_words(self.column(given).data)
        return np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1])


def where(counted: Mask | None, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The numbers that count, and zero for the others."""
    return numbers if counted is None else np.where(counted, numbers, 0)


def as_mask(counted: Mask | None) -> Mask:
    """A mask for kernels: empty where all count."""
    return _ALL if counted is None else read_only(counted)


def vectors(totals: npt.NDArray[Any], type_: Type) -> Columns:
    return tuple(Vector(type_, np.ascontiguousarray(totals[:, i])) for i in range(totals.shape[1]))


# Values


@dataclass(frozen=True)
class Extreme:
    """The least or the greatest value."""

    argument: Expression
    conditions: tuple[Expression, ...]
    greatest: bool
    adds_up: ClassVar[bool] = True

    @property
    def types(self) -> tuple[Type, ...]:
        return (self.argument.type,)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return self.argument, *self.conditions

    def columns(self, given: Given) -> Columns:
        return (nulled(given[self.argument], given.counted((), self.conditions)),)

    def added(self, given: Given, parts: Parts) -> Added:
        column = given[self.argument]
        counted = given.counted((self.argument,), self.conditions)
        rows = np.full(len(parts), -1, np.int64)
        order = read_only(_ranks(column))
        kernels.best_rows(parts.slots, order, as_mask(counted), self.greatest, rows)
        found = rows >= 0
        values = column.take(np.where(found, rows, 0))
        return Added((nulled(values, None if found.all() else found),))

    def nothing(self, length: int) -> Columns:
        return (constant(None, self.argument.type, length),)


def has_order_words(type_: Type) -> bool:
    """Whether values of the type can be members of a heap."""
    if isinstance(type_, DecimalType):
        return type_.precision <= NARROW
    return type_ in FIXED or type_ in (STRING, BINARY)


def order_words(column: Vector) -> Totals:
    """Whole numbers that are ordered as the numbers, times or short decimals of a column."""
    if isinstance(column.data, np.ndarray):
        words = number_words(column.data)
        if column.data.dtype.kind == "f":
            words = words ^ ((words >> 63) & 0x7FFFFFFFFFFFFFFF)
        return words
    return np.ascontiguousarray(decimal_words(column.data)[:, 0])


def _ranks(column: Vector) -> Totals:
    """Whole numbers that are ordered as the values of a column, within it."""
    if isinstance(column.type, DecimalType) or isinstance(column.data, np.ndarray):
        return order_words(column)
    encoded = column.data.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(max(len(order), 1), np.int64)
    ranks[order] = np.arange(len(order))
    ranked: Totals = ranks[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    return ranked


@dataclass(frozen=True)
class Bag:
    """All rows of arguments, for an aggregate that is computed by its definition."""

    call: AggregateCall
    adds_up: ClassVar[bool] = False

    @property
    def types(self) -> tuple[Type, ...]:
        return (BOOLEAN, *(argument.type for argument in self.call.arguments))

    @property
    def expressions(self) -> tuple[Expression, ...]:
        where = self.call.where
        return self.call.arguments if where is None else (*self.call.arguments, where)

    def columns(self, given: Given) -> Columns:
        where = self.call.where
        counted = given.counted((), () if where is None else (where,))
        if counted is None:
            counted = np.ones(given.length, np.bool_)
        return Vector(BOOLEAN, counted), *(given[argument] for argument in self.call.arguments)

    def added(self, given: Given, parts: Parts) -> Added:
        raise AssertionError("a definition needs all rows")

    def nothing(self, length: int) -> Columns:
        return tuple(constant(None, type_, length) for type_ in self.types)


@dataclass(frozen=True)
class States:
    """What a user's aggregate has come to on the rows of a part, to be merged."""

    call: AggregateCall
    adds_up: ClassVar[bool] = True
    types: ClassVar[tuple[Type, ...]] = (BOOLEAN, BINARY)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        where = self.call.where
        return self.call.arguments if where is None else (*self.call.arguments, where)

    def columns(self, given: Given) -> Columns:
        rows = np.arange(given.length)
        return self.added(given, Parts(rows.astype(np.int32), rows, np.ones_like(rows))).columns

    def added(self, given: Given, parts: Parts) -> Added:
        where = self.call.where
        counted = given.counted((), () if where is None else (where,))
        rows = np.arange(given.length) if counted is None else np.flatnonzero(counted)
        rows = rows[np.argsort(parts.slots[rows], kind="stable")]
        slots, firsts = np.unique(parts.slots[rows], return_index=True)
        arguments = [given[argument].take(rows) for argument in self.call.arguments]
        states: list[bytes | None] = [None] * len(parts)
        for slot, (first, end) in zip(slots.tolist(), pairwise([*firsts, len(rows)]), strict=True):
            own = tuple(column.part(slice(first, end)) for column in arguments)
            states[slot] = given.begin(self.call, own, int(end - first))
        column = from_values(states, BINARY)
        return Added((Vector(BOOLEAN, column.present()), column))

    def nothing(self, length: int) -> Columns:
        return tuple(constant(None, type_, length) for type_ in self.types)


def nulled(column: Vector, kept: Mask | None) -> Vector:
    """The column with NULL where a value is not kept."""
    if kept is None:
        return column
    if isinstance(column.data, np.ndarray):
        return Vector(column.type, column.data, kept & column.present())
    return Vector(column.type, masked(column.data, kept))
