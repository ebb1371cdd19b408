"""What counts as the same value, and as the same answer."""

from __future__ import annotations

from typing import Any

import pytest

from thalweg.answers import Change
from thalweg.testing.compare import differences, same_value
from thalweg.types import DOUBLE, Field

NAN = float("nan")


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.0 + 1e-6, False),
        (NAN, NAN, True),
        (NAN, 0.0, False),
        (0.0, 0.0, True),
        (0.0, -0.0, False),
        (0.0, 1e-300, False),
        (float("inf"), float("inf"), True),
        (float("inf"), float("-inf"), False),
        ((1, -0.0), (1, -0.0), True),
        ((1, -0.0), (1, 0.0), False),
        (("a", (NAN, None)), ("a", (NAN, None)), True),
        (None, 0, False),
        ("1", 1, False),
        (2**62, 2**62 + 1, False),
    ],
)
def test_same_value(a: Any, b: Any, same: bool) -> None:
    assert same_value(a, b) is same
    assert same_value(b, a) is same


def test_answers_are_bags_per_instant() -> None:
    columns = (Field("x", DOUBLE),)
    one, two = Change(1, "+", (-0.0,)), Change(1, "+", (0.0,))
    assert differences([one, two], [two, one], columns) == []
    assert differences([one], [two], columns) == [
        "missing:    1 | + | -0.0",
        "unexpected: 1 | + | 0.0",
    ]
    assert differences([one, one], [one], columns) == ["missing:    1 | + | -0.0"]
    assert differences([one], [Change(1, "-", (-0.0,))], columns)
    assert differences([one], [Change(2, "+", (-0.0,))], columns)
