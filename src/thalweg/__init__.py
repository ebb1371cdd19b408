"""Continuous queries over streams, in CQL, on PySpark."""

from thalweg.vectorized import vectorized

__all__ = ["vectorized"]
