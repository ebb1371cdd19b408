"""Rows handed over by a Python program: the test kit, or a user's own."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.connectors import OptionSpec, refuse_location
from thalweg.sources.base import Accepted, ReadRequest, Reject

OPTIONS: dict[str, OptionSpec] = {}


def check(request: ReadRequest) -> None:
    refuse_location(request.connector)


def read(request: ReadRequest) -> Iterator[Accepted | Reject]:
    raise request.error(
        "a memory source has no rows of its own",
        hint="feed it from Python, or read a file with csv, jsonl or parquet",
    )
