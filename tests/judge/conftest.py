"""Time: these tests must stay under 90 seconds on one core."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    """Millions of rows and no cycles: looking for garbage took a third of the time."""
    gc.disable()
    yield
    gc.enable()
