"""Continuous queries over streams, in CQL, on PySpark."""
