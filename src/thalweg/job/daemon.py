"""The daemon that forks Spark's Python workers: it imports and warms up first, and collects
no garbage after every task.

Spark's own daemon runs a full collection after each task, which with these
libraries loaded costs more than a small task; one in two hundred is enough.

Columns are decoded into jemalloc's memory where there is one: (m) reading ten columns of
Parquet took 224 ns of a row with it and 337 ns with Arrow's default, which asks for huge
pages again in each batch.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
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


_JEMALLOC = "jemalloc"

PRELOADED = (pyspark.worker, thalweg.job.tasks)

if __name__ == "__main__":
    if _JEMALLOC in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    if JOB in os.environ:
        rehearse(Path(os.environ[JOB]))
    setattr(pyspark.daemon, "gc", _RareCollection)  # noqa: B010
    gc.collect()
    gc.freeze()
    pyspark.daemon.manager()
