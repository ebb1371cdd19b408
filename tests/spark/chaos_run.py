"""One attempt at a job, in a process that can be killed: SCRIPT CHECKPOINT OUT ROWS."""

from __future__ import annotations

import sys
from pathlib import Path

from thalweg.cql.script import read_script
from thalweg.job.run import BatchDone
from thalweg.job.script import run_on_spark
from thalweg.program import bind_script


def tell(done: BatchDone) -> None:
    print(f"batch {done.entry.batch} rebuilt {done.rebuilt}", flush=True)


if __name__ == "__main__":
    script, checkpoint, out = map(Path, sys.argv[1:4])
    run_on_spark(
        bind_script(read_script(script), (script.parent,)),
        out,
        master="local[2,4]",
        rows_per_batch=int(sys.argv[4]),
        checkpoint=checkpoint,
        follow=tell,
    )
    print("finished", flush=True)
