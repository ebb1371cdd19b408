"""Files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from thalweg.errors import QueryError


@contextmanager
def whole_file(path: Path, durable: bool = False) -> Iterator[Path]:
    """A place to write to, beside `path`: it gets that name if nothing fails.

    Whatever happens, Ctrl-C included, nothing half-written stays behind. A link
    stays a link: what it leads to is replaced. A `durable` file is on disk before
    it gets its name, and the name is too before this returns; two attempts at one
    such file may write at the same time.
    """
    real = path.resolve()
    attempt = f".{secrets.token_hex(4)}" if durable else ""
    partial = real.with_name(f".{real.name}{attempt}.partial")
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        if durable:
            _sync(partial)
        os.replace(partial, real)
        if durable:
            _sync(real.parent)
    except OSError as error:
        raise QueryError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Have the disk hold a file's content, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
