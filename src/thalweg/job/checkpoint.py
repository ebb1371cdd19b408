"""The folder of a job: one run at a time, and only of the script that it began with."""

from __future__ import annotations

import fcntl
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from thalweg.errors import QueryError
from thalweg.plan.nodes import Plan, QueryScan
from thalweg.plan.placed import Exchange, Received
from thalweg.shard.working import remove_working_state
from thalweg.work import PartSink, Work

# The Java process of a run that was killed may take a moment to notice.
_PATIENCE_SECONDS = 30.0
_LOCK = "lock"
# Of Spark, made before there is anything to go on from.
_SPARK = "spark"


@dataclass(frozen=True)
class Folder:
    """Where a job keeps everything. Whoever has the open file `lock` has the folder."""

    root: Path
    lock: int

    @property
    def spark(self) -> Path:
        """For Spark's own files, its log among them."""
        return self.root / _SPARK


@contextmanager
def job_folder(checkpoint: Path | None, notice: Callable[[str], None]) -> Iterator[Folder]:
    """The checkpoint, or a folder that is removed at the end."""
    root = _checked(checkpoint) if checkpoint else Path(tempfile.mkdtemp(prefix="thalweg-"))
    lock = _locked(root, notice)
    try:
        yield Folder(root, lock)
    finally:
        os.close(lock)
        if checkpoint is None:
            remove_working_state(root)
            shutil.rmtree(root, ignore_errors=True)


def _checked(checkpoint: Path) -> Path:
    root = checkpoint.resolve()
    try:
        root.mkdir(parents=True, exist_ok=True)
        strange = sorted({path.name for path in root.iterdir()} - {_LOCK, _SPARK})
    except OSError as error:
        raise QueryError(f"cannot use {checkpoint} as a checkpoint: {error.strerror}") from None
    if strange and not Work.is_saved(root):
        raise QueryError(
            f"{checkpoint} is not a checkpoint",
            detail=f"There are other files in it: {', '.join(strange[:3])} …",
            hint="name a folder that is empty or not there yet",
        )
    return root


def _locked(root: Path, notice: Callable[[str], None]) -> int:
    handle = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(handle)
                raise QueryError(
                    f"another run is using the checkpoint {root}",
                    hint="stop it first, or name another checkpoint",
                ) from None
            notice("waiting for another run to let go of the checkpoint")
            time.sleep(0.1)


def going_on(fresh: Work, shards: int | None) -> Work:
    """The work to do in a folder: as given where it is new, else as it was begun there."""
    root = fresh.root
    if not Work.is_saved(root):
        _refuse_full_folders(fresh.part_sinks)
        return fresh
    known = known_work(root)
    _refuse_another(root, [*_other_plans(known, fresh), *_other_places(known, fresh)])
    if shards is not None and shards != known.shards:
        raise QueryError(
            f"the checkpoint {root} has {known.shards} shards, not {shards}",
            hint=f"leave --shards out, or say --shards {known.shards}",
        )
    # Tables stay as they were read when the job began, and made-up rows go on from then.
    return replace(fresh, tables=known.tables, shards=known.shards, begun=known.begun)


def known_work(root: Path) -> Work:
    """The work that was begun in a folder."""
    if not Work.is_saved(root):
        raise QueryError(f"{root} is not a checkpoint", hint="name the folder of run --checkpoint")
    try:
        return Work.load(root)
    except (AttributeError, ImportError, TypeError, EOFError, pickle.UnpicklingError):
        raise QueryError(
            f"the checkpoint {root} is of another version of Thalweg",
            hint="begin anew with another checkpoint folder",
        ) from None


def work_of_script(root: Path, fresh: Work) -> Work:
    """The work in a folder, which must be that of a script, wherever its answers go."""
    known = known_work(root)
    _refuse_another(root, [*_other_plans(known, fresh)])
    return known


def _refuse_another(root: Path, differences: list[str]) -> None:
    if differences:
        raise QueryError(
            f"the checkpoint {root} is of another script",
            detail="\n".join(differences),
            hint="run the script as it was, or begin anew with another checkpoint folder",
        )


def _other_plans(known: Work, fresh: Work) -> Iterator[str]:
    """What must not change while a job is kept in a checkpoint."""
    queries = [
        {query.name: (query, *_exchanges(work, query.plan)) for query in work.placement.queries}
        for work in (known, fresh)
    ]
    yield from _listed("stream", known.streams, fresh.streams)
    yield from _listed("query", *queries)


def _other_places(known: Work, fresh: Work) -> Iterator[str]:
    if _destinations(known) != _destinations(fresh):
        yield "Its answers go to other places."


def _listed(kind: str, before: Mapping[str, object], now: Mapping[str, object]) -> Iterator[str]:
    yield from (f'It has no {kind} "{name}".' for name in now if name not in before)
    yield from (f'It has the {kind} "{name}", too.' for name in before if name not in now)
    if before.keys() == now.keys():
        yield from (f'Its {kind} "{n}" is another one.' for n in now if before[n] != now[n])


def _exchanges(work: Work, plan: Plan) -> Iterator[Exchange]:
    """Those that a plan reads, directly or not."""
    for node in plan.walk():
        if isinstance(node, Received):
            exchange = work.placement.exchanges[node.number]
            yield exchange
            yield from _exchanges(work, exchange.plan)
        if isinstance(node, QueryScan):
            yield from _exchanges(work, node.plan)


def _destinations(work: Work) -> object:
    sinks = {(sink.query.name, sink.format, sink.folder) for sink in work.part_sinks}
    return sinks, work.followed, work.keeps_answers


def _refuse_full_folders(sinks: tuple[PartSink, ...]) -> None:
    for sink in sinks:
        if sink.folder.is_dir() and any(sink.folder.iterdir()):
            raise QueryError(
                f"cannot write {sink.query.name} into {sink.folder}: there are files in it",
                hint="name an empty folder, or go on from the checkpoint that wrote them",
            )
