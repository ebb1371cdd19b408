"""An independent judge: DuckDB, asked by plain SQL on the same files, must give the same answers.

The SQL of each case is written by hand from docs/semantics.md. None of it is
derived from Thalweg's plans or code, so the two can only agree by both being right.
"""
