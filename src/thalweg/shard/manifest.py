"""What Spark's state store keeps of a shard: how to get its state back.

The last snapshot, and everything that came in since. A step is a function of the
state and its input alone, so doing the steps since the snapshot again leads to the
same state, whatever operators it is made of. A new snapshot is worth its room when
the input since the last one outweighs the state some times over: what is written
then stays in proportion to what comes in, however large the state is, and so does
what a recovery has to do again.
"""

from __future__ import annotations

import os
import pickle
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thalweg.segments import Piece

# A snapshot is due when the input since the last one is this many times the state.
_INPUT_PER_STATE = 4
_LEAST_INPUT = 4 << 20
_MOST_INPUTS = 256


@dataclass(frozen=True, slots=True)
class Input:
    """What a step of a shard had to go by. `flush`: small parts of answers are to be written."""

    batch: int
    pieces: tuple[Piece, ...]
    promises: dict[int, int]
    firsts: dict[str, int]
    lasts: dict[str, int]
    flush: bool

    @property
    def size(self) -> int:
        return sum(piece.length for piece in self.pieces)

    @property
    def oldest(self) -> int:
        """The first batch whose segments it needs: derived pieces are from the one before."""
        return self.batch - 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """`token` names the working state that equals all this."""

    token: str
    snapshot: str | None
    snapshot_batch: int
    inputs: tuple[Input, ...]

    def to_bytes(self) -> bytes:
        return pickle.dumps(self, 5)

    @staticmethod
    def from_bytes(data: bytes) -> Manifest:
        manifest: Manifest = pickle.loads(data)
        return manifest

    def after(self, step: Input) -> Manifest:
        return replace(self, token=token_of(step.batch), inputs=(*self.inputs, step))

    def is_long(self, state_size: int) -> bool:
        """Whether a snapshot is due."""
        size = sum(step.size for step in self.inputs)
        enough = max(_LEAST_INPUT, _INPUT_PER_STATE * state_size)
        return size > enough or len(self.inputs) > _MOST_INPUTS

    @property
    def oldest(self) -> int:
        """The first batch whose segments are needed; one that is still to come if none is."""
        return min((step.oldest for step in self.inputs), default=self.snapshot_batch)


FIRST = Manifest("", None, -1, ())


def token_of(batch: int) -> str:
    return f"{batch}-{uuid.uuid4().hex}"


def write_snapshot(folder: Path, value: Any) -> str:
    """Store a value; its arrays are written as they lie in memory."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / uuid.uuid4().hex
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, 5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    with open(path, "wb") as file:
        pickle.dump((rest, [len(view) for view in views]), file, 5)
        for view in views:
            file.write(view)
        file.flush()
        os.fsync(file.fileno())
    return str(path)


def read_snapshot(path: str) -> Any:
    with open(path, "rb") as file:
        rest, lengths = pickle.load(file)
        return pickle.loads(rest, buffers=[bytearray(file.read(length)) for length in lengths])
