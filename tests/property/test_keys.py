"""Tables of rows against a dictionary, with values of every type."""

from __future__ import annotations

import decimal as dec
import pickle
import random
from typing import Any

import numpy as np
import pytest

from thalweg.kernels import slots as slots_module
from thalweg.operators.keys import KeyTable
from thalweg.operators.row_store import RowStore
from thalweg.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Field,
    Type,
    array,
    decimal,
    struct,
)
from thalweg.values import normal_zeros, row_key, shown_key
from thalweg.vector.column import from_values, rows_of

VALUES: dict[Type, tuple[Any, ...]] = {
    BOOLEAN: (True, False),
    INT: (0, 1, -1, 2**31 - 1),
    BIGINT: (0, 1, -1, -(2**63), 2**63 - 1),
    FLOAT: (0.0, -0.0, 0.5, float("inf"), float("nan")),
    DOUBLE: (0.0, -0.0, 5e-324, 0.1, float("-inf"), float("nan")),
    DATE: (0, -2),
    TIMESTAMP: (0, 10**15),
    decimal(8, 2): (dec.Decimal("0.00"), dec.Decimal("-1.25"), dec.Decimal("999999.99")),
    decimal(38, 4): (dec.Decimal("0.0000"), dec.Decimal("-" + "9" * 34 + ".9999")),
    STRING: ("", "a", "ab", "ba", "Ä", "a" * 70),
    BINARY: (b"", b"\0", b"a\0"),
    array(DOUBLE): ((), (0.0,), (-0.0,), (None,), (float("nan"), 1.0)),
    struct(Field("a", INT), Field("b", STRING)): ((1, "x"), (None, "x"), (1, "")),
    NULL: (None,),
}
KINDS = tuple(VALUES)


def some_types(rng: random.Random) -> tuple[Type, ...]:
    return tuple(rng.choice(KINDS) for _ in range(rng.randrange(0, 5)))


def some_rows(rng: random.Random, types: tuple[Type, ...]) -> list[tuple[Any, ...]]:
    def cell(type_: Type) -> Any:
        return None if rng.random() < 0.15 else rng.choice(VALUES[type_])

    return [tuple(cell(type_) for type_ in types) for _ in range(rng.randrange(1, 40))]


def columns_of(rows: list[tuple[Any, ...]], types: tuple[Type, ...]) -> tuple[Any, ...]:
    return tuple(from_values([row[i] for row in rows], type_) for i, type_ in enumerate(types))


@pytest.mark.parametrize("collide", [False, True])
@pytest.mark.parametrize("by_form", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_a_key_table_is_a_dictionary(
    seed: int, by_form: bool, collide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the hashes of different rows are equal."""
    if collide:
        hash_rows = slots_module.hash_rows
        monkeypatch.setattr(slots_module, "hash_rows", lambda w, t=None: hash_rows(w, t) % 3)
    rng = random.Random(seed)
    types = some_types(rng)
    key = shown_key if by_form else row_key
    table, known = KeyTable(types, by_form), dict[Any, tuple[int, tuple[Any, ...]]]()
    for _ in range(12):
        rows = some_rows(rng, types)
        slots = table.assign(columns_of(rows, types), len(rows))
        for row, slot in zip(rows, slots.tolist(), strict=True):
            shown = row if by_form else normal_zeros(row)
            assert known.setdefault(key(row), (slot, shown))[0] == slot
        assert len({slot for slot, _ in known.values()}) == len(known) == len(table)
        taken = table.take(np.array([slot for slot, _ in known.values()], np.int64))
        expected = [shown_key(row) for _, row in known.values()]
        assert list(map(shown_key, rows_of(taken, len(known)))) == expected
        leaving = [entry for entry in known if rng.random() < 0.3]
        table.release(np.array([known.pop(entry)[0] for entry in leaving], np.int64))


@pytest.mark.parametrize("seed", range(20))
def test_a_row_store_gives_back_what_it_got(seed: int) -> None:
    rng = random.Random(seed)
    types = some_types(rng)
    store, kept = RowStore(types), dict[int, tuple[Any, ...]]()
    for _ in range(12):
        rows = some_rows(rng, types)
        numbers = store.reserve(len(rows))
        assert kept.keys().isdisjoint(numbers.tolist())
        chosen = np.flatnonzero([rng.random() < 0.8 for _ in rows])
        store.put(numbers[chosen], columns_of(rows, types), chosen)
        store.give_back(np.delete(numbers, chosen))
        kept |= {int(numbers[i]): rows[i] for i in chosen.tolist()}
        taken = store.take(np.array(list(kept), np.int64))
        assert list(map(shown_key, rows_of(taken, len(kept)))) == list(
            map(shown_key, kept.values())
        )
        assert len(store) == len(kept)
        leaving = [number for number in kept if rng.random() < 0.4]
        store.drop(np.array(leaving, np.int64))
        kept = {number: row for number, row in kept.items() if number not in leaving}


def test_a_table_forgets_what_is_released() -> None:
    """Endless different texts take the room of those that are there at once."""
    table = KeyTable((STRING, BIGINT))
    sizes = []
    for batch in range(60):
        rows = [(f"text number {batch * 100 + i:06d}", i) for i in range(100)]
        slots = table.assign(columns_of(rows, (STRING, BIGINT)), 100)
        table.release(slots)
        sizes.append(len(pickle.dumps(table)))
    assert max(sizes) == max(sizes[:3])
