"""Python for the golden scripts of this folder: aggregates of whole columns."""

import pyarrow as pa
import pyarrow.compute as pc

from thalweg import vectorized


@vectorized
class Spread:
    def __init__(self):
        self.parts = []

    def add(self, values):
        if pc.any(pc.less(values, -273)).as_py():
            raise ValueError("colder than possible")
        self.parts.append(values)

    def merge(self, other):
        self.parts += other.parts

    def result(self):
        if not self.parts:
            return None
        ends = pc.min_max(pa.chunked_array(self.parts))
        return pc.subtract(ends["max"], ends["min"])
