"""Benchmarks: one question per file, behind `thalweg bench NAME`.

Every system runs in a process of its own, one at a time, and its answers are compared
with those of a plain computation before its time counts.
"""
