"""What a user is told when a task of Spark has failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg.errors import QueryError, SourceText, Span
from thalweg.job.failures import JobFailed, as_error, carries_mistakes

# As Spark 4.3 tells of a task that raised inside foreachBatch, shortened.
TOLD = """\
[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: An exception was raised by \
the Python Proxy. Return Message: Traceback (most recent call last):
  File "/site-packages/py4j/clientserver.py", line 617, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
  File "/site-packages/py4j/protocol.py", line 327, in get_return_value
    raise Py4JJavaError(
py4j.protocol.Py4JJavaError: An error occurred while calling o95.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 4.0 failed \
4 times, most recent failure: Lost task 0.3 in stage 4.0: {}
\tat org.apache.spark.api.python.BasePythonRunner.compute(PythonRunner.scala:1)
"""
PYTHON = """org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/site-packages/thalweg/job/tasks.py", line 12, in take_batch
    raise {0}
{0}

"""


def test_a_mistake_arrives_as_it_was_made() -> None:
    source = SourceText("s.cql", "CREATE STREAM S FROM csv('x')")

    @carries_mistakes
    def task(name: str) -> None:
        raise QueryError(f"cannot read {name}", Span(17, 20), detail="d", hint="h", source=source)

    with pytest.raises(Exception, match="<mistake") as raised:
        task("x")
    error = as_error(
        TOLD.format(PYTHON.format(f"thalweg.job.failures.Mistake: {raised.value}")), None
    )
    assert isinstance(error, QueryError)
    assert error.render() == (
        "error: cannot read x\n  s.cql:1:18\n  1 | CREATE STREAM S FROM csv('x')\n"
        "    |                  ^^^\n  d\n  hint: h"
    )


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            TOLD.format(PYTHON.format("AssertionError: a slice has rows")),
            "AssertionError: a slice has rows",
        ),
        (
            TOLD.format("org.apache.spark.SparkException: Python worker exited unexpectedly"),
            "a Python worker crashed, again and again: out of memory, or inside a function",
        ),
        ("[STREAM_FAILED] something else\n\tat x", "[STREAM_FAILED] something else"),
    ],
)
def test_anything_else_is_told_in_a_line(told: str, said: str) -> None:
    error = as_error(told, Path("spark.log"))
    assert isinstance(error, JobFailed)
    assert (str(error), error.log) == (said, Path("spark.log"))
