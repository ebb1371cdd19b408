"""Rows as 64-bit words and one text, and as columns again.

Equal rows have equal words and an equal text, and only they. Numbers and times are
their own word, a wide decimal has two. Texts are laid one after the other; their
words are their lengths. Arrays and structs count as texts that spell them. The
first words say which columns are NULL.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.kernels import read_only
from thalweg.kernels.slots import Words
from thalweg.kernels.texts import TextPool, Texts, gather_texts, no_texts
from thalweg.types import BINARY, BOOLEAN, NULL, STRING, ArrayType, DecimalType, StructType, Type
from thalweg.values import normal_zeros, sort_key
from thalweg.vector.column import FIXED, Columns, Index, Mask, Vector, storage_type
from thalweg.vector.hashing import number_words

_BITS = 63
# Decimals of up to so many digits fit one word.
NARROW = 18


class RowWords:
    """With `by_form`, 0.0 and -0.0 are different rows; otherwise both are 0.0."""

    def __init__(self, types: tuple[Type, ...], by_form: bool) -> None:
        self.types = types
        self._by_form = by_form
        self._masks = -(-len(types) // _BITS)
        self._places = np.cumsum([self._masks, *map(_width, types)]).tolist()
        self.width: int = self._places[-1]
        self._texts = tuple(i for i, type_ in enumerate(types) if is_text(type_))
        self.nested = tuple(i for i, type_ in enumerate(types) if is_nested(type_))
        self.with_texts = bool(self._texts)

    def of(self, columns: Columns, length: int) -> tuple[Words, Texts | None]:
        """The words and the texts of rows."""
        words = np.zeros((length, self.width), np.int64)
        texts = {i: text_bytes(spelled(columns[i], self._by_form)) for i in self._texts}
        for i, column in enumerate(columns):
            own = self.own(words, i)
            if i in texts:
                own[:, 0] = np.diff(texts[i].offsets)
            else:
                self._fill(own, column)
            if column.has_nulls:
                present = column.present()
                own[~present] = 0
                words[:, i // _BITS] |= np.where(present, 0, 1 << (i % _BITS))
        return words, _side_by_side(list(texts.values())) if texts else None

    def _fill(self, words: Words, column: Vector) -> None:
        if isinstance(column.type, DecimalType):
            words[:] = decimal_words(column.data)[:, : words.shape[1]]
        elif column.type == NULL:
            return
        elif self._by_form and column.data.dtype.kind == "f":
            words[:, 0] = _form_words(column.data)
        else:
            words[:, 0] = number_words(column.data)

    def shown(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Nested values in the form in which rows show them."""
        return values if self._by_form else normal_zeros(values)

    def own(self, words: Words, i: int) -> Words:
        """The words of one column."""
        return words[:, self._places[i] : self._places[i + 1]]

    def column(self, i: int, words: Words, pool: TextPool | None, slots: Index) -> Vector:
        """A column that is not nested, of rows whose words and slots are given."""
        type_, valid, own = self.types[i], self._present(words, i), self.own(words, i)
        if i in self._texts:
            assert pool is not None, "texts are in a pool"
            starts = pool.places[slots, 0]
            for before in self._texts[: self._texts.index(i)]:
                starts = starts + self.own(words, before)[:, 0]
            content, offsets = gather_texts(starts, own[:, 0], pool.bytes)
            buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(content)]
            texts = pa.Array.from_buffers(storage_type(type_), len(slots), buffers)
            return Vector(type_, masked(texts, valid))
        if isinstance(type_, DecimalType):
            return Vector(type_, masked(decimals(own, type_), valid))
        if type_ == NULL:
            return Vector(type_, pa.nulls(len(words)))
        dtype = FIXED[type_]
        plain = np.ascontiguousarray(own[:, 0])
        if dtype.kind == "f":
            return Vector(type_, plain.view(np.float64).astype(dtype), valid)
        return Vector(type_, plain != 0 if type_ == BOOLEAN else plain.astype(dtype), valid)

    def _present(self, words: Words, i: int) -> Mask | None:
        """Which values of a column are there; None for all."""
        null: Mask = (words[:, i // _BITS] >> (i % _BITS)) & 1 != 0
        return ~null if null.any() else None


def is_nested(type_: Type) -> bool:
    return isinstance(type_, ArrayType | StructType)


def is_text(type_: Type) -> bool:
    """Whether a column is compared as text."""
    return type_ in (STRING, BINARY) or is_nested(type_)


def spelled(column: Vector, by_form: bool) -> pa.Array:
    """The texts that stand for the values of a column."""
    if not is_nested(column.type):
        return column.data
    values = column.values()
    if not by_form:
        values = [None if v is None else sort_key(v) for v in normal_zeros(tuple(values))]
    return pa.array([None if v is None else repr(v) for v in values], pa.string())


def text_bytes(texts: pa.Array) -> Texts:
    """The bytes of texts; NULL is empty."""
    if texts.null_count:
        texts = texts.fill_null("" if pa.types.is_string(texts.type) else b"")
    _, offsets, data = texts.buffers()
    if offsets is None or not len(texts):
        return no_texts()
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return Texts(read_only(content), ends.astype(np.int64))


def _side_by_side(columns: list[Texts]) -> Texts:
    """The texts of each row, one after the other."""
    if len(columns) == 1:
        return columns[0]
    content = np.concatenate([texts.content for texts in columns])
    bases = np.cumsum([0, *(len(texts.content) for texts in columns[:-1])])
    starts = np.column_stack([t.offsets[:-1] + b for t, b in zip(columns, bases, strict=True)])
    lengths = np.column_stack([np.diff(texts.offsets) for texts in columns])
    joined, offsets = gather_texts(starts.ravel(), lengths.ravel(), content)
    return Texts(read_only(joined), np.ascontiguousarray(offsets[:: len(columns)]))


def masked(array: pa.Array, valid: Mask | None) -> pa.Array:
    """The array with NULL where a value is not there."""
    if valid is None:
        return array
    return pc.if_else(pa.array(valid), array, pa.scalar(None, array.type))


def decimal_words(array: pa.Array) -> npt.NDArray[np.int64]:
    """The unscaled numbers of decimals: the low word, then the high one."""
    data = array.buffers()[1]
    if data is None:
        return np.zeros((len(array), 2), np.int64)
    words = np.frombuffer(data, np.int64).reshape(-1, 2)
    return words[array.offset : array.offset + len(array)]


def decimals(words: npt.NDArray[np.int64], type_: DecimalType) -> pa.Array:
    """The inverse of `decimal_words`; a single word is the whole number."""
    both = np.empty((len(words), 2), np.int64)
    both[:, : words.shape[1]] = words
    if words.shape[1] == 1:
        both[:, 1] = both[:, 0] >> 63
    return pa.Array.from_buffers(storage_type(type_), len(words), [None, pa.py_buffer(both)])


def _width(type_: Type) -> int:
    if type_ == NULL:
        return 0
    return 2 if isinstance(type_, DecimalType) and type_.precision > NARROW else 1


def _form_words(data: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    """Floats by their bits; NaN has one form."""
    wide = data.astype(np.float64)
    wide[np.isnan(wide)] = np.nan
    return wide.view(np.int64)
