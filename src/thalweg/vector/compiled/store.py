"""Where compiled code is kept: one module per text, in a folder that processes share.

A text is compiled once, by whoever claims it first, aside of the work; all others
load the machine code from the folder, which takes some milliseconds. Until it is
there, `find` gives nothing and its caller goes on interpreted. Each module has
one function of one signature, so that whatever processes write to Numba's cache
at the same time is the same.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba import types

Run = Callable[..., tuple[int, int]]

# Whoever has claimed a text for longer than this has died over it.
_CLAIM_SECONDS = 60.0
# Compiling takes about a second: batches of fewer rows win less than that in an hour.
_ROWS_WORTH_CODE = 20_000


def user_folder() -> Path:
    """A folder that keeps code from one run to the next, for this user alone."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(caches) / "thalweg" / "code"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.access(folder, os.W_OK):
        return folder
    return Path(tempfile.mkdtemp(prefix="thalweg-code-"))


@dataclass(frozen=True)
class Code:
    """The text of a function `run`.

    Its parameters are arrays: those of `results`, which it writes, two of constants
    (integers and doubles), and for each of `columns` the values and which of them
    are there, an empty array where all are. It returns two numbers.
    """

    text: str
    results: tuple[str, ...]
    columns: tuple[str, ...]

    @cached_property
    def key(self) -> str:
        """What the machine code depends on, as a name."""
        machine = (sys.version, numba.__version__, llvmlite.binding.get_host_cpu_name())
        jit = os.environ.get("NUMBA_DISABLE_JIT")
        known = repr((self.text, self.results, self.columns, machine, jit))
        return hashlib.sha256(known.encode()).hexdigest()[:32]

    @property
    def signature(self) -> Any:
        columns = (array for name in self.columns for array in (_read(name), _read("bool")))
        counts: Any = types.Tuple
        return counts((types.int64, types.int64))(
            *(_written(name) for name in self.results), _read("int64"), _read("float64"), *columns
        )


def _read(dtype: str) -> Any:
    return types.Array(numba.from_dtype(np.dtype(dtype)), 1, "C", readonly=True)


def _written(dtype: str) -> Any:
    return types.Array(numba.from_dtype(np.dtype(dtype)), 1, "C")


class _Process:
    """What this process has loaded, and the one thread in which it compiles."""

    def __init__(self) -> None:
        self.loaded: dict[str, Run] = {}
        self.asked: dict[str, float] = {}
        self.waiting = 0
        self.thread = ThreadPoolExecutor(1, "compile")

    def forked(self) -> None:
        """A child has the code, but not the thread."""
        self.asked.clear()
        self.waiting = 0
        self.thread = ThreadPoolExecutor(1, "compile")


_PROCESS = _Process()
os.register_at_fork(after_in_child=_PROCESS.forked)


class CodeStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, code: Code, rows: int) -> Run | None:
        """The function, if it can be had without waiting.

        Else it is asked for, if so many rows are worth it.
        """
        known = _PROCESS.loaded.get(code.key)
        if known is not None:
            return known
        if _PROCESS.waiting:  # the compiler is at work, and does one thing at a time
            return None
        if self._ready(code).exists():
            return self._load(code)
        if rows >= _ROWS_WORTH_CODE and self._is_due(code):
            _PROCESS.waiting += 1
            _PROCESS.thread.submit(self._compile_aside, code)
        return None

    def _is_due(self, code: Code) -> bool:
        """Whether it was not asked for lately; who was to compile it may have died."""
        now = time.monotonic()
        due = now - _PROCESS.asked.get(code.key, -_CLAIM_SECONDS) >= _CLAIM_SECONDS
        if due:
            _PROCESS.asked[code.key] = now
        return due

    def warm(self, codes: Iterable[Code]) -> None:
        """Have the functions before they are needed, however long it takes."""
        for code in codes:
            if code.key not in _PROCESS.loaded:
                self._compile(code)

    def _compile_aside(self, code: Code) -> None:
        try:
            if self._claim(code):
                self._compile(code)
        finally:
            _PROCESS.waiting -= 1

    def _compile(self, code: Code) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(code)
        if not path.exists():
            draft = path.with_suffix(f".{os.getpid()}.draft")
            draft.write_text(f"import numpy as np\n\n\n{code.text}")
            draft.replace(path)
        self._load(code)
        self._ready(code).touch()

    def _claim(self, code: Code) -> bool:
        self._folder.mkdir(parents=True, exist_ok=True)
        claim = self._path(code).with_suffix(".claim")
        try:
            claim.touch(exist_ok=False)
        except FileExistsError:
            if time.time() - claim.stat().st_mtime < _CLAIM_SECONDS:
                return False
            claim.touch()
        return True

    def _load(self, code: Code) -> Run:
        name = f"thalweg_code_{code.key}"
        spec = importlib.util.spec_from_file_location(name, self._path(code))
        assert spec is not None, "the file is a module"
        assert spec.loader is not None, "modules in files have a loader"
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # Numba's cache looks for it there
        spec.loader.exec_module(module)
        jit = numba.njit(code.signature, cache=True, nogil=True, error_model="numpy")
        run: Run = jit(module.run)
        _PROCESS.loaded[code.key] = run
        return run

    def _path(self, code: Code) -> Path:
        return self._folder / f"{code.key}.py"

    def _ready(self, code: Code) -> Path:
        return self._folder / f"{code.key}.ready"
