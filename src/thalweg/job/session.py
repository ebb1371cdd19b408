"""Spark started for Thalweg: quietly, its log in a file."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.errors import QueryError
from thalweg.job.java import java_home
from thalweg.job.settings import JAVA, name_interpreter, start_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The processes that were started here; Spark allows one in a program.
_launched: list[int] = []
_LOG = "spark.thalweg.log"
_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %p %c{{1}}: %m%n%ex
"""


def session(
    master: str = "local[*]",
    folder: Path | None = None,
    lock: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark with the settings that Thalweg runs best with, and with further ones.

    Its log is `spark.log` in the folder, by default one that is removed at the end of
    the program. An open file given as `lock` stays open as long as Spark is there, even
    where this program is killed.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        raise QueryError(
            "this program has a Spark session already",
            hint="hand it over as in thalweg.Engine(spark), or stop it first",
        )
    own = {**start_settings(master), **(settings or {})}
    os.environ["JAVA_HOME"] = str(java_home())
    name_interpreter(master)
    folder = _made(folder)
    logging_file = folder / "log4j2.properties"
    logging_file.write_text(_LOGGING.format(path=folder / "spark.log"))
    conf = SparkConf().setAppName("thalweg").setAll(list(own.items()))
    conf.set("spark.local.dir", str(folder / "local"))
    conf.set("spark.sql.warehouse.dir", str(folder / "warehouse"))
    log_options = f"-Dlog4j2.configurationFile={logging_file.as_uri()}"
    conf.set("spark.driver.extraJavaOptions", f"{JAVA} {log_options}")
    conf.set(_LOG, str(folder / "spark.log"))
    with _interrupts_kept():
        gateway = SparkContext._gateway or _launch(conf, folder / "spark.log", lock)
        context = SparkContext(conf=conf, gateway=gateway)
        return SparkSession(context)


def log_of(spark: SparkSession) -> Path | None:
    """The log of a session that was started here."""
    path = spark.sparkContext.getConf().get(_LOG)
    return Path(path) if path else None


def kill() -> None:
    """End Spark and its workers at once, if it was started here.

    It asks Spark nothing, so a signal handler may call it.
    """
    for process in _launched:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
    _launched.clear()


def end(spark: SparkSession) -> None:
    """Stop a session that was started here; one that was killed is past that."""
    if _launched:
        spark.stop()


def _made(folder: Path | None) -> Path:
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="thalweg-spark-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _launch(conf: Any, log: Path, lock: int | None) -> Any:
    """The Java process of Spark, with a session and a log of its own.

    What the terminal sends to its processes (Ctrl-C) then does not reach it, and
    nothing that it or its Python workers print reaches the terminal.
    """
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    # What the bridge to Java has to say of broken connections goes the same way.
    handler = logging.FileHandler(log, delay=True)
    for name in ("py4j", "pyspark"):
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(handler)
            logger.propagate = False
    with open(log, "ab") as file:
        try:
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                conf,
                {
                    "stdout": file,
                    "stderr": subprocess.STDOUT,
                    "start_new_session": True,
                    "pass_fds": () if lock is None else (lock,),
                },
            )
        except PySparkRuntimeError:
            told = log.read_text(errors="replace").strip().splitlines()
            raise QueryError(
                "Spark did not start", detail="\n".join(told[-5:]), hint=f"its log is {log}"
            ) from None
    _launched.append(gateway.proc.pid)
    return gateway


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """PySpark takes over Ctrl-C, and would answer it by cancelling the batch that is on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
