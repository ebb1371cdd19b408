"""Sources whose rows come as time goes by.

How much of such a source there is at a moment is looked up when a batch begins, and
stands in its cursor as the limit: whoever reads the batch again reads the same.
"""

from __future__ import annotations

from dataclasses import replace

from thalweg.catalog import Stream
from thalweg.intake.found import find_more, has_more_files
from thalweg.intake.slices import Cursor
from thalweg.sources import ReadRequest
from thalweg.sources.generator import Generated


class LiveSource:
    """What there is of a live source by the clock, which counts microseconds."""

    def __init__(self, request: ReadRequest, stream: Stream) -> None:
        self._request, self._stream = request, stream
        self._made = Generated(request) if request.connector.name == "generator" else None

    def look(self, cursor: Cursor, now: int) -> Cursor:
        """The cursor with what is there now as its limit."""
        if self._made is None:
            limit = find_more(self._request)
        else:
            limit = min(self._made.times.until(now), self._made.length)
        return replace(cursor, limit=max(limit, cursor.limit or 0))

    def has_more(self, cursor: Cursor, now: int) -> bool:
        """Whether more is there now than the limit says."""
        if self._made is None:
            return has_more_files(self._request, cursor.limit or 0)
        return (self.look(cursor, now).limit or 0) > (cursor.limit or 0)

    def is_over(self, cursor: Cursor) -> bool:
        """Whether nothing will ever follow."""
        return self._made is not None and cursor.seen >= self._made.length

    def promised(self, now: int) -> int | None:
        """What the clock promises of rows that are not there yet, in the stream's unit."""
        skew = self._stream.skew
        return None if skew is None else now * 1000 // self._stream.tick.value - skew
