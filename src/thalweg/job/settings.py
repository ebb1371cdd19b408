"""How Spark is set up; each setting has a reason."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from thalweg.errors import QueryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STREAMING = "org.apache.spark.sql.execution.streaming"

# What a job sets in a session of its own, whatever the session it was given has.
JOB = {
    # Fewer looks at the file system for each small file of the checkpoint: 100 ms a batch.
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # Stores what a batch changed instead of everything.
    "spark.sql.streaming.stateStore.providerClass": (
        f"{_STREAMING}.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.minBatchesToRetain": "5",
    # How often to look for something to do where there was nothing; the default is 10 ms.
    "spark.sql.streaming.pollingDelay": "50ms",
}

# What can only be set before Spark starts, and what it costs to go without.
_UNIX_SOCKETS = "spark.python.unix.domain.socket.enabled"
_DAEMON = "spark.python.daemon.module"
START = {_UNIX_SOCKETS: "true", _DAEMON: "thalweg.job.daemon"}
_COSTS = {
    _UNIX_SOCKETS: "Unix sockets to its Python workers (some 110 ms a batch)",
    _DAEMON: "workers that import once (some 65 ms a batch)",
}

# Java plans and schedules here, and hardly touches a row: on few cores, code that is
# compiled at once and collected by one thread beats code that is compiled again and again
# beside the tasks (a batch of 490 ms took 380 ms).
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# Nothing of Spark shows, and on one machine it listens to that machine alone.
_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
_ONE_MACHINE = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}

# How often a task is tried. On one machine Spark tries once by default, and a killed
# Python worker would be the end of the job.
_TRIES = 4
_LOCAL = re.compile(r"local(?:\[\s*(\d+|\*)\s*(?:,\s*(\d+)\s*)?\])?")


def with_retries(master: str) -> str:
    """`local[2]` → `local[2,4]`: see `_TRIES`. Other masters are what they are."""
    found = _LOCAL.fullmatch(master)
    if found is None or found[2] is not None:
        return master
    return f"local[{found[1] or 1},{_TRIES}]"


def start_settings(master: str) -> dict[str, str]:
    """Everything to start a session with."""
    if not re.match(r"local\b|spark://|yarn\b|k8s://", master):
        raise QueryError(
            f"{master!r} is no place where Spark can run",
            hint="name it as in local[*], local[2] or spark://host:7077",
        )
    local = _ONE_MACHINE if is_local(master) else {}
    return {"spark.master": with_retries(master), **JOB, **START, **_QUIET, **local}


def is_local(master: str) -> bool:
    return master.startswith("local")


def name_interpreter(master: str) -> None:
    """Python workers and data sources run in the interpreter that runs us, where there is one."""
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        if is_local(master) or name not in os.environ:
            os.environ[name] = sys.executable


def own_session(spark: SparkSession) -> SparkSession:
    """A session for one job: the same Spark, with SQL settings that nobody else sees."""
    own = spark.newSession()
    for name, value in JOB.items():
        own.conf.set(name, value)
    own.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    return own


def shortcomings(spark: SparkSession) -> str | None:
    """What a session that somebody else has started lacks; None if it lacks nothing."""
    conf = spark.sparkContext.getConf()
    missing = [cost for name, cost in _COSTS.items() if conf.get(name) != START[name]]
    master = conf.get("spark.master") or ""
    if with_retries(master) != master:
        missing.append("second tries of tasks (a killed worker ends the job)")
    if not missing:
        return None
    listed = ", ".join(missing[:-1]) + " and " + missing[-1] if missing[1:] else missing[0]
    return f"this Spark session has no {listed}; thalweg.session() starts one that has"
