"""Where the working state of a shard lies between batches.

Spark does not promise that the same process meets a shard again, so the state lies
in shared memory, where any process of the host finds it; where that is too small,
in a mapped file of a local folder. Nothing here has to survive: whoever does not
find the state that a manifest names rebuilds it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from thalweg.shard.arena import Arena, Busy

_MEMORY = Path("/dev/shm")
# Many containers have 64 MB of shared memory: too little to begin with.
_LEAST_ROOM = 256 << 20
_PATIENCE_SECONDS = 5.0
_FORGOTTEN_SECONDS = 24 * 3600.0


class Working:
    """The working state of one shard, as one process sees it."""

    def __init__(self, root: Path, shard: int) -> None:
        self._paths = [place / str(shard) for place in places(root)]
        self._arena = Arena(self._paths[0])

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Have the state alone; False if another attempt does not let go of it."""
        if len(self._paths) > 1 and self._paths[1].exists():
            self._move()
        try:
            with self._arena.held(_PATIENCE_SECONDS):
                yield True
        except Busy:
            yield False

    def attach(self, token: str) -> Any | None:
        return self._arena.attach(token)

    def soil(self) -> None:
        self._arena.soil()

    def store(self, value: Any, token: str) -> int | None:
        """Keep the state; its size, or None if there is no room for it."""
        try:
            return self._arena.store(value, token)
        except OSError:
            if len(self._paths) == 1:
                return None
        self._move()
        with self._arena.held(_PATIENCE_SECONDS):
            return self.store(value, token)

    def _move(self) -> None:
        """Go on in the next place; what lies in the first one is of no use any more."""
        with suppress(OSError):
            self._paths[0].unlink()
        del self._paths[0]
        self._arena = Arena(self._paths[0])


def places(root: Path) -> list[Path]:
    """The folders for the working state of a job, the best first."""
    name = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]
    owner = f"thalweg-{os.getuid()}"
    found = [Path(tempfile.gettempdir()) / owner / name]
    with suppress(OSError):
        if shutil.disk_usage(_MEMORY).total >= _LEAST_ROOM and os.access(_MEMORY, os.W_OK):
            found.insert(0, _MEMORY / owner / name)
    return found


def remove_working_state(root: Path) -> None:
    """Forget the working state of a job on this host, and of jobs that were left a day ago."""
    for place in places(root):
        shutil.rmtree(place, ignore_errors=True)
        with suppress(OSError):
            for other in place.parent.iterdir():
                touched = max(path.stat().st_mtime for path in (other, *other.iterdir()))
                if touched < time.time() - _FORGOTTEN_SECONDS:
                    shutil.rmtree(other, ignore_errors=True)
