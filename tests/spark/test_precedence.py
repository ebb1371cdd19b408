"""Operators bind as in Spark SQL: random sequences of them have the same value."""

from __future__ import annotations

import random

import pytest
from expressions import disagreements
from pyspark.sql import SparkSession

OPERATORS = (
    "*", "/", "%", "DIV", "+", "-", "||", "<<", ">>", ">>>", "&", "^", "|", "=", "<=>", "<>",
    "<", "<=", ">", ">=", "AND", "OR",
)  # fmt: skip
OPERANDS = ("1", "2", "3", "5", "7", "-4", "12L", "'3'", "2::int", "-1::int")
BEFORE = ("", "", "", "", "-", "~", "NOT ")
BEHIND = ("", "", "", "", "", " IS NULL", " IS NOT TRUE", " IN (2, 3)", " BETWEEN 1 AND 3")


def sequence(rng: random.Random) -> str:
    text = ""
    for place in range(rng.randint(2, 5)):
        text += f" {rng.choice(OPERATORS)} " if place else ""
        # A second minus would start a comment.
        operand = rng.choice(OPERANDS)
        sign = rng.choice(BEFORE)
        text += (" " if sign == "-" and operand.startswith("-") else "").join((sign, operand))
    return text + rng.choice(BEHIND)


@pytest.mark.spark
def test_random_sequences_agree_with_spark(spark: SparkSession) -> None:
    rng = random.Random(20)
    texts = list(dict.fromkeys(sequence(rng) for _ in range(200)))
    assert not (wrong := disagreements(spark, texts, "UTC")), "\n".join(wrong)
