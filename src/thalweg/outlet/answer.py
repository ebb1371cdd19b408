"""The answer of a query as a Python program gets it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg.answers import Change
from thalweg.bags import Bag
from thalweg.catalog import Query
from thalweg.errors import QueryError
from thalweg.operators.answer import Records
from thalweg.plan.nodes import Top
from thalweg.python_values import to_python
from thalweg.sinks.columns import records_table
from thalweg.sinks.parquet import arrow_array, record_schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Answer:
    """Records of a query in the order of time, all of them or those of a batch.

    A record is an instant in ticks of the query, a sign (`+` entered, `-` left) and the
    columns; of a stream every sign is `+`.
    """

    query: Query
    records: Records

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        gives = "stream" if self.query.plan.is_stream else "relation"
        return f"<{len(self)} records of the {gives} {self.query.name}>"

    def __iter__(self) -> Iterator[Change]:
        """The records one by one, with values as Python has them."""
        types = [column.type for column in self.query.plan.schema]
        for change in self.records.changes():
            values = map(to_python, change.values, types)
            yield Change(change.time, change.sign, tuple(values))

    def changes(self) -> list[Change]:
        return list(self)

    def to_arrow(self) -> pa.Table:
        """`time`, `sign` and the columns, as a Parquet sink writes them."""
        return records_table(self.records, record_schema(self.query.plan.schema))

    def to_pandas(self) -> pd.DataFrame:
        return self.to_arrow().to_pandas()

    def standing(self) -> pa.Table:
        """The rows of a relation after all these records: those that entered and have not left."""
        plan = self.query.plan
        if plan.is_stream:
            raise QueryError(
                f'query "{self.query.name}" gives a stream, of which nothing stands',
                hint="to_arrow() has its elements",
            )
        bag = Bag()
        for change in self.records.changes():
            bag.change(change.values, 1 if change.sign == "+" else -1)
        rows = bag.rows(plan.keys if isinstance(plan, Top) else ())
        arrays = [
            arrow_array([row[i] for row in rows], column.type)
            for i, column in enumerate(plan.schema)
        ]
        return pa.Table.from_arrays(arrays, names=record_schema(plan.schema).names[2:])
