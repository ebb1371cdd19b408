"""Calls with too few, too many, odd or only NULL arguments: refused here as in Spark."""

from __future__ import annotations

import pytest
from expressions import disagreements
from pyspark.sql import SparkSession

from thalweg.functions import SCALARS

ARGUMENTS = (
    "",
    "null",
    "null, null",
    "null, null, null",
    "named_struct('a', 1)",
    "array(array(1)), 1",
    "true, true",
    "1, 2, 3, 4, 5, 6, 7, 8, 9",
)
NOT_IN_SPARK = {"iff", "charindex"}
# Their arguments have a grammar of their own, or they give another type on purpose.
WITH_SYNTAX = {
    "and", "case", "convert_timezone", "div", "if", "ilike", "in", "like", "not", "or", "position",
    "regexp", "rlike", "timestampadd", "timestampdiff", "unix_timestamp",
}  # fmt: skip
# Forms that Spark has beside those that are here.
MORE_IN_SPARK = {
    "array_sort(array(array(1)), 1)",
    "decode(null, null, null)",
    "decode(1, 2, 3, 4, 5, 6, 7, 8, 9)",
    "hour(null, null)",
    "hour(null, null, null)",
    "instr(null, null, null)",
    "make_timestamp(null)",
    "make_timestamp(null, null)",
    "make_timestamp(null, null, null)",
    "minute(null, null)",
    "minute(null, null, null)",
    "second(null, null)",
    "second(null, null, null)",
}


@pytest.mark.spark
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_odd_calls_agree_with_spark(spark: SparkSession, arguments: str) -> None:
    names = [name for name in SCALARS if name[0].isalpha() and " " not in name]
    calls = [f"{name}({arguments})" for name in names if name not in NOT_IN_SPARK | WITH_SYNTAX]
    wrong = disagreements(spark, [call for call in calls if call not in MORE_IN_SPARK], "UTC")
    assert not wrong, "\n".join(wrong)
