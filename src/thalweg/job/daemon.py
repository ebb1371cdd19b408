"""The daemon that forks Spark's Python workers: it imports and warms up first, and collects
no garbage after every task.

Spark's own daemon runs a full collection after each task, which with these
libraries loaded costs more than a small task; one in two hundred is enough.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pyspark.daemon
import pyspark.worker

import thalweg.job.tasks
from thalweg.job.rehearsal import JOB, rehearse

_TASKS_PER_COLLECTION = 200


class _RareCollection:
    """Stands in for the module `gc` in Spark's daemon."""

    tasks = 0

    @classmethod
    def collect(cls, *generation: Any) -> int:
        cls.tasks += 1
        return gc.collect(*generation) if cls.tasks % _TASKS_PER_COLLECTION == 0 else 0


PRELOADED = (pyspark.worker, thalweg.job.tasks)

if __name__ == "__main__":
    if JOB in os.environ:
        rehearse(Path(os.environ[JOB]))
    setattr(pyspark.daemon, "gc", _RareCollection)  # noqa: B010
    gc.collect()
    gc.freeze()
    pyspark.daemon.manager()
