"""The one stateful operator of a job: a shard's step, its manifest in Spark's store."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

OUTPUT = "batch long, body binary"
STATE = "manifest binary"


def shard_function(
    root: str, token: str, labels: list[int]
) -> Callable[..., Iterator[pd.DataFrame]]:
    def step(key: tuple[Any, ...], parts: Iterator[pd.DataFrame], state: Any) -> Any:
        from thalweg.job.tasks import Start, shard_batch

        batch, bodies = 0, []
        for part in parts:
            batch = int(part["batch"].iloc[0])
            bodies += [bytes(body) for body in part["body"]]
        before = bytes(state.get[0]) if state.exists else None
        result, takes = shard_batch(
            Start(root, token), labels.index(int(key[0])), batch, bodies, before
        )
        state.update((result.manifest,))
        yield pd.DataFrame({"batch": [batch], "body": [pickle.dumps((result, takes))]})

    return step
