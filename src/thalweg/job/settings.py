"""How Spark is set up; each setting has a reason."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STREAMING = "org.apache.spark.sql.execution.streaming"

SETTINGS = {
    # Fewer looks at the file system for each small file of the checkpoint.
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.stateStore.providerClass": (
        f"{_STREAMING}.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Workers are met through Unix sockets, and forked by a daemon that has imported all.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "thalweg.job.daemon",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.streaming.minBatchesToRetain": "5",
}

_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %p %c{{1}}: %m%n%ex
"""


def session(master: str, root: Path) -> SparkSession:
    """A session of our own; its log goes to a file beside the checkpoint."""
    from pyspark.sql import SparkSession

    folder = root / "spark"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log4j2.properties").write_text(_LOGGING.format(path=folder / "spark.log"))
    os.environ["SPARK_CONF_DIR"] = str(folder)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("thalweg")
    cores = os.cpu_count() or 2
    builder = builder.config("spark.local.dir", str(folder / "local"))
    for name, value in {**SETTINGS, "spark.sql.shuffle.partitions": str(cores)}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
