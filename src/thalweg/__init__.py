"""Continuous queries over streams, in CQL, on PySpark.

What a program needs stands here. Whatever takes time to load is loaded when it is
first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from thalweg.vectorized import vectorized

if TYPE_CHECKING:
    from thalweg.answers import Change
    from thalweg.errors import QueryError, QueryErrors
    from thalweg.intake.feed import Fed
    from thalweg.job.engine import Engine
    from thalweg.job.failures import JobFailed
    from thalweg.job.session import session
    from thalweg.outlet.answer import Answer
    from thalweg.report import RunReport

_HOMES = {
    "Answer": "thalweg.outlet.answer",
    "Change": "thalweg.answers",
    "Engine": "thalweg.job.engine",
    "Fed": "thalweg.intake.feed",
    "JobFailed": "thalweg.job.failures",
    "QueryError": "thalweg.errors",
    "QueryErrors": "thalweg.errors",
    "RunReport": "thalweg.report",
    "session": "thalweg.job.session",
}

__all__ = [
    "Answer",
    "Change",
    "Engine",
    "Fed",
    "JobFailed",
    "QueryError",
    "QueryErrors",
    "RunReport",
    "session",
    "vectorized",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
