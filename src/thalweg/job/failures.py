"""What went wrong in another process, on its way to the user.

Spark tells of a failed task as text, stack traces and all. A mistake of the user
travels inside that text and comes out as the error it is; of anything else the
line that says what happened comes out, and where the rest can be read.
"""

from __future__ import annotations

import base64
import pickle
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from thalweg.errors import QueryError, QueryErrors

_MISTAKE = re.compile(r"<mistake ([A-Za-z0-9+/=]+)>")
# The last line of a traceback of Python: not indented, behind lines that are.
_RAISED = re.compile(r"^  .*\n(?!Traceback)([A-Za-z_][\w.]*(?:: .*)?)$", re.M)
_CRASHED = "Python worker exited unexpectedly"
_LONGEST = 300


class JobFailed(Exception):
    """A job that ended by a fault of ours or of the machine, and the log that tells more."""

    def __init__(self, message: str, log: Path | None = None) -> None:
        super().__init__(message)
        self.log = log


class Mistake(Exception):
    """A mistake of the user as Spark can carry it."""

    def __init__(self, error: QueryError | QueryErrors) -> None:
        super().__init__(f"<mistake {base64.b64encode(pickle.dumps(error)).decode()}>")


Given = ParamSpec("Given")
Result = TypeVar("Result")


def carries_mistakes(task: Callable[Given, Result]) -> Callable[Given, Result]:
    """For functions that Spark calls in its workers."""

    @wraps(task)
    def carried(*arguments: Given.args, **named: Given.kwargs) -> Result:
        try:
            return task(*arguments, **named)
        except (QueryError, QueryErrors) as error:
            raise Mistake(error) from None

    return carried


def as_error(text: str, log: Path | None) -> Exception:
    """The failure that Spark tells of in so many words."""
    carried = _MISTAKE.search(text)
    if carried is not None:
        error: Any = pickle.loads(base64.b64decode(carried[1]))
        assert isinstance(error, QueryError | QueryErrors), "mistakes are errors of queries"
        return error
    if _CRASHED in text:
        return JobFailed(
            "a Python worker crashed, again and again: out of memory, or inside a function", log
        )
    raised = [line for line in _RAISED.findall(text) if not line.startswith("py4j.")]
    return JobFailed((raised[-1] if raised else text.strip().split("\n")[0])[:_LONGEST], log)
