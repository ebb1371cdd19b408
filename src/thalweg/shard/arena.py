"""A file in shared memory that holds a value between batches, its arrays in place.

The value is pickled, but the contents of its larger arrays are not: they lie in the
file and are mapped. Whoever attaches gets the same value with these arrays writable
in place, in the time that the small rest takes. Storing copies only arrays that are
new; those that already lie in the file stay where they are, and what lies between
them is free.

The header says whether to believe the rest: it is clean, of this boot of the host,
and has the token that is asked for. A writer makes it dirty before the first change
and clean after the last, so whatever a crash leaves behind is not attached.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import pickle
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# Boot of the host, token, where the pickle lies, how far the file is used. Before it:
# whether it is clean, and a sum over the rest.
_HEADER = struct.Struct("<36s 80s q q q")
_SUM = struct.Struct("<I")
_CLEAN, _SUM_AT, _HEADER_AT = 0, 8, 16
_FIRST = 4096
_ALIGNED = 64
_STEP = 1 << 22
# A file that is mostly free is written anew when it is larger than this.
_WORTH_COMPACTING = 64 << 20
# So many bytes are sooner copied once more than mapped: of all arrays together, of one.
_SOON_COPIED = 4 << 20
_SMALL = 4 << 10


class Busy(Exception):
    """Another attempt has the file."""


def boot_id() -> str:
    """This boot of this host: shared memory of another one is gone, its files may not be."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class Arena:
    def __init__(self, path: Path, reserve: int | None = None) -> None:
        """`reserve` is how many bytes of addresses the file may grow into."""
        self._path = path
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self._reserve = reserve or 2 * memory
        self._boot = boot_id().encode()
        self._handle = -1
        self._map = mmap.mmap(-1, 1)
        self._address = self._room = 0
        self._used = _FIRST
        # What this process stored last, to be had back as it is if nobody else was here.
        self._left: tuple[str, Any] | None = None

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Have the file alone; two attempts at one shard's step may be on at once."""
        self._open()
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise Busy(str(self._path)) from None
                time.sleep(0.005)
        try:
            yield
        finally:
            fcntl.flock(self._handle, fcntl.LOCK_UN)

    def attach(self, token: str) -> Any | None:
        """The value stored under a token, its arrays in place; None if that is not here.

        If this process has stored it, it is that value itself. Arrays that were copied
        into the file then are not those in it, so they will be copied once more.
        """
        header = self._header()
        if header is None or header.token != token:
            return None
        if self._left is not None and self._left[0] == token:
            return self._left[1]
        view = memoryview(self._map)
        rest, extents = pickle.loads(view[header.start : header.start + header.length])
        return pickle.loads(rest, buffers=[view[a : a + n] for a, n in extents])

    def soil(self) -> None:
        """From now until `store`, nobody is to believe what is here."""
        self._left = None
        self._map[_CLEAN] = 0

    def store(self, value: Any, token: str) -> int:
        """Keep a value under a token; how many bytes it takes."""
        buffers: list[pickle.PickleBuffer] = []

        def is_small(buffer: pickle.PickleBuffer) -> bool:
            small = memoryview(buffer).nbytes < _SMALL
            if not small:
                buffers.append(buffer)
            return small

        rest = pickle.dumps(value, 5, buffer_callback=is_small)
        views = [buffer.raw() for buffer in buffers]
        extents = [self._extent(view) for view in views]
        live = sum(len(view) for view in views) + len(rest)
        if self._used > max(_WORTH_COMPACTING, 4 * live):
            self._begin_anew()
            extents = [None] * len(views)
        free = _Free([extent for extent in extents if extent is not None])
        placed: list[tuple[int, int]] = []
        for view, extent in zip(views, extents, strict=True):
            placed.append(extent if extent is not None else self._put(view, free))
        copied = sum(len(v) for v, extent in zip(views, extents, strict=True) if extent is None)
        meta = pickle.dumps((rest, placed), 5)
        start, length = self._put(memoryview(meta), free)
        self._used = max(self._used, free.end)
        header = _HEADER.pack(self._boot, token.encode(), start, length, self._used)
        self._map[_HEADER_AT : _HEADER_AT + len(header)] = header
        _SUM.pack_into(self._map, _SUM_AT, zlib.crc32(header))
        self._map[_CLEAN] = 1
        os.utime(self._handle)
        self._left = (token, value) if copied <= _SOON_COPIED else None
        return live

    def _put(self, view: memoryview, free: _Free) -> tuple[int, int]:
        start = free.place(len(view))
        self._allocate(start + len(view))
        self._map[start : start + len(view)] = view
        return start, len(view)

    def _extent(self, view: memoryview) -> tuple[int, int] | None:
        """Where a buffer lies in the file; None if it is elsewhere."""
        if not len(view):
            return None
        at = int(np.frombuffer(view, np.uint8).ctypes.data) - self._address
        return (at, len(view)) if 0 <= at < self._reserve else None

    # The file

    def _open(self) -> None:
        """Open the file, or the one that has taken its place."""
        if self._handle >= 0 and self._is_current():
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._map_file(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))

    def _is_current(self) -> bool:
        try:
            return os.fstat(self._handle).st_ino == os.stat(self._path).st_ino
        except FileNotFoundError:
            return False

    def _begin_anew(self) -> None:
        """Go on in an empty file; arrays in the old one stay readable while somebody has them."""
        partial = self._path.with_suffix(f".{os.getpid()}")
        handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.replace(partial, self._path)
        self._map_file(handle)

    def _map_file(self, handle: int) -> None:
        if os.fstat(handle).st_size < self._reserve:
            os.ftruncate(handle, self._reserve)
        self._handle, old = handle, self._handle
        self._map = mmap.mmap(handle, self._reserve)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._room, self._used = 0, _FIRST
        self._allocate(_FIRST)
        if old >= 0:
            os.close(old)

    def _allocate(self, end: int) -> None:
        """Have room up to a place: writing where there is none would end the process."""
        if end > self._room:
            self._room = min(-(-end // _STEP) * _STEP, self._reserve)
            os.posix_fallocate(self._handle, 0, max(self._room, end))

    def _header(self) -> _Header | None:
        """What the file says of itself, if that can be believed."""
        raw = self._map[_HEADER_AT : _HEADER_AT + _HEADER.size]
        (known,) = _SUM.unpack_from(self._map, _SUM_AT)
        if not self._map[_CLEAN] or zlib.crc32(raw) != known:
            return None
        boot, token, start, length, used = _HEADER.unpack(raw)
        if boot != self._boot:
            return None
        self._used = used
        return _Header(token.rstrip(b"\0").decode(), start, length)


@dataclass(frozen=True, slots=True)
class _Header:
    token: str
    start: int
    length: int


class _Free:
    """Room between extents that are in use, given out from the front."""

    def __init__(self, used: list[tuple[int, int]]) -> None:
        self._gaps: list[tuple[int, int]] = []
        self.end = _FIRST
        for start, length in sorted(used):
            if start > self.end:
                self._gaps.append((self.end, start))
            self.end = max(self.end, _aligned(start + length))

    def place(self, length: int) -> int:
        for i, (start, end) in enumerate(self._gaps):
            if end - start >= length:
                self._gaps[i] = (_aligned(start + length), end)
                return start
        start, self.end = self.end, _aligned(self.end + length)
        return start


def _aligned(place: int) -> int:
    return -(-place // _ALIGNED) * _ALIGNED
