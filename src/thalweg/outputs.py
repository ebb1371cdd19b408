"""Where the answers of a program go: no file twice, and none that is read.

All of this is known before anything is read, so a script that would lose data
loses none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thalweg.catalog import Connector, Query, Stream, Table, kind_of
from thalweg.connectors import path_of
from thalweg.errors import QueryError
from thalweg.program import Program
from thalweg.sinks import SINKS, SinkKind
from thalweg.sources import SOURCES, files_now, files_of, is_live

LATE, REJECTS, FAILURES = "_late", "_rejects", "_failures"


@dataclass(frozen=True, slots=True)
class Target:
    """One place for the answer of one query; `path` is None for the terminal.

    With `in_parts` it is a folder, and the answer comes as any number of files in it.
    """

    query: Query
    kind: SinkKind
    path: Path | None
    in_parts: bool = False

    @property
    def file(self) -> Path:
        """The file of the whole answer."""
        assert self.path is not None, "the terminal is no file"
        return self.path / f"part-0.{self.kind.suffix}" if self.in_parts else self.path


@dataclass(frozen=True, slots=True)
class _File:
    """A file that will be written: what into it, and where the script says so."""

    path: Path
    content: str
    connector: Connector | None = None
    in_parts: bool = False

    def error(self, message: str, hint: str | None = None) -> QueryError:
        if self.connector is None:
            return QueryError(message, hint=hint)
        return self.connector.error(message, hint=hint)

    def real_path(self) -> Path:
        """The file behind links; refuses what is there and cannot be replaced."""
        try:
            path = self.path.resolve()
            if path.is_dir() and not self.in_parts:
                raise self.error(
                    f"cannot write {self.path}: it is a folder",
                    hint="end the location with / to have the answer in parts in it",
                )
            if self.in_parts and path.exists() and not path.is_dir():
                raise self.error(f"cannot write into {self.path}: it is not a folder")
            if path.exists() and not path.is_file() and not self.in_parts:
                raise self.error(f"cannot write {self.path}: it is not a regular file")
            nearest = next(parent for parent in path.parents if parent.exists())
            if not nearest.is_dir():
                raise self.error(f"cannot write {self.path}: {nearest.name} is not a folder")
            return path
        except (OSError, RuntimeError) as error:
            raise self.error(f"cannot write {self.path}: {error}") from None


def list_of(out: Path, folder: str, name: str) -> Path:
    """The file that lists what was put aside of a stream, table or query."""
    return out / folder / f"{name}.jsonl"


def targets_of(program: Program, out: Path | None, file_format: str) -> list[Target]:
    """Every target of every query; refuses those that would destroy a file."""
    targets: list[Target] = []
    files: list[_File] = []
    if out is not None:
        for query in program.catalog.queries():
            path = out / f"{query.name}.{SINKS[file_format].suffix}"
            files.append(_File(path, f"the answer of {query.name}"))
            targets.append(Target(query, SINKS[file_format], path))
        files += _lists(program, out)
    for sink in program.catalog.sinks():
        kind, query = SINKS[sink.connector.name], program.query(sink.query)
        location: Path | None = None
        in_parts = False
        if kind.suffix is not None:
            location = program.folders[0] / path_of(sink.connector)
            in_parts = is_folder(sink.connector)
            files.append(_File(location, f'sink "{sink.name}"', sink.connector, in_parts))
        targets.append(Target(query, kind, location, in_parts))
    _refuse_collisions(program, files)
    return targets


def is_folder(connector: Connector) -> bool:
    """Whether a sink's location names a folder for parts of the answer."""
    return (connector.location or "").endswith("/")


def _inputs(program: Program) -> list[Stream | Table]:
    return [*program.catalog.streams(), *program.catalog.tables()]


def _lists(program: Program, out: Path) -> Iterator[_File]:
    for entry in _inputs(program):
        yield _File(list_of(out, REJECTS, entry.name), f"the rejects of {entry.name}")
        yield _File(list_of(out, LATE, entry.name), f"the late rows of {entry.name}")
    for query in program.catalog.queries():
        yield _File(list_of(out, FAILURES, query.name), f"the failures of {query.name}")


def _refuse_collisions(program: Program, files: list[_File]) -> None:
    written: dict[Path, _File] = {}
    for file in files:
        other = written.setdefault(file.real_path(), file)
        if other is not file:
            raise file.error(
                f"{other.content} and {file.content} go to one file, {file.path}",
                hint="give each a file of its own",
            )
    for entry in _inputs(program):
        request = program.read_request(entry)
        if not SOURCES[request.connector.name].reads_files:
            continue
        looked_up = files_now if is_live(request.connector) else files_of
        for path in looked_up(request):
            found = written.get(path.resolve()) or written.get(path.resolve().parent)
            if found is not None:
                raise found.error(
                    f"{found.content} would be written over {path.name}, which "
                    f'{kind_of(entry)} "{entry.name}" reads'
                )
