"""The files of a folder that is followed, in the order in which they were found.

Each is listed once, on a line of its own that never changes, so the number of lines that
somebody knew of says which files those were, whatever has come since.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from thalweg.sources import ReadRequest, files_now


def found_files(listing: Path) -> list[Path]:
    if not listing.exists():
        return []
    return [Path(json.loads(line)) for line in listing.read_text(encoding="utf-8").splitlines()]


def has_more_files(request: ReadRequest, known: int) -> bool:
    """Whether there are more files than those so many that were found first."""
    assert request.found is not None, "a folder that is followed has a list"
    seen = set(found_files(request.found)[:known])
    return any(path not in seen for path in files_now(request))


def find_more(request: ReadRequest) -> int:
    """List the files that are new, those found together by name; how many are known then.

    Only the job itself may, between two batches.
    """
    listing = request.found
    assert listing is not None, "a folder that is followed has a list"
    known = found_files(listing)
    seen = set(known)
    fresh = [path for path in files_now(request) if path not in seen]
    if fresh:
        listing.parent.mkdir(parents=True, exist_ok=True)
        partial = listing.with_name(f".{listing.name}")
        with open(partial, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(str(path)) + "\n" for path in (*known, *fresh))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, listing)
    return len(known) + len(fresh)
