"""Files that are either whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from thalweg.errors import QueryError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place to write to, beside `path`: it gets that name if nothing fails.

    Whatever happens, Ctrl-C included, nothing half-written stays behind. A link
    stays a link: what it leads to is replaced.
    """
    real = path.resolve()
    partial = real.with_name(f".{real.name}.partial")
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        os.replace(partial, real)
    except OSError as error:
        raise QueryError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
