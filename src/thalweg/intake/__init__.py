"""Rows in: what a stream accepts, and in which order."""
