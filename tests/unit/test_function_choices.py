"""Where functions are not Spark's: on purpose, and as docs/functions.md says."""

from __future__ import annotations

import datetime as dt
import decimal as dec
from typing import Any

import pytest

from thalweg.errors import QueryError
from thalweg.testing import evaluate_expression
from thalweg.types import DATE, INT, STRING, TIMESTAMP, Type


def failures(text: str, row: dict[str, tuple[Type, Any]] | None = None) -> tuple[str, ...]:
    outcome = evaluate_expression(text, row)
    assert outcome.value is None
    return outcome.failures


def refusal(text: str, row: dict[str, tuple[Type, Any]] | None = None) -> str:
    with pytest.raises(QueryError) as caught:
        evaluate_expression(text, row)
    return caught.value.render()


@pytest.mark.parametrize(
    "pattern", ["(?=a)", "(?<!a)b", r"(a)\\1", "a++", "[a-z&&[^b]]", "[a[b]]", "(?U)a", "("]
)
def test_constant_patterns_that_re2_lacks_are_refused(pattern: str) -> None:
    assert "are not supported" in refusal(f"b rlike '{pattern}'", {"b": (STRING, "a")})


def test_other_patterns_fail_row_by_row() -> None:
    row = {"b": (STRING, "a"), "p": (STRING, "(?=a)")}
    assert "not a regular expression" in failures("b rlike p", row)[0]


@pytest.mark.parametrize(
    "pattern", ["[]a]", "[^]a]", r"\\[a", "[a-z]", r"[\\[]", "a&&b", r"\\Q[[\\E"]
)
def test_brackets_that_are_no_nested_class(pattern: str) -> None:
    assert evaluate_expression(f"'x' rlike '{pattern}'").value is not None


def test_a_pattern_takes_linear_time() -> None:
    row = {"b": (STRING, "a" * 50_000 + "b")}
    assert evaluate_expression("b rlike '(a+)+$'", row).value is False


def test_regular_expressions_of_data_stay_small() -> None:
    row = {"b": (STRING, "a"), "p": (STRING, "a" * 20_000)}
    assert "10,000" in failures("b rlike p", row)[0]


def test_the_clock_is_refused() -> None:
    assert "depends on the clock" in refusal("unix_timestamp()")


@pytest.mark.parametrize(
    "text",
    [
        "date_format(t, 'YYYY')",
        'date_format(t, "\'open")',
        "to_timestamp(s, 'Q')",
        "from_unixtime(1, 'zzzz')",
        "date_part('epoch', t)",
        "timestampadd(fortnight, 1, t)",
        "from_json(s, 'a NOPE')",
        "from_json(s, 'INT')",
        "from_json(s, 'a INT) FROM (SELECT 1')",
        "round(1.5, n)",
        "s like 'a' escape 'xy'",
        "named_struct(s, 1)",
    ],
)
def test_wrong_constants_are_refused_when_bound(text: str) -> None:
    row = {"t": (TIMESTAMP, None), "s": (STRING, None), "n": (INT, None)}
    assert refusal(text, row)


@pytest.mark.parametrize(
    "text",
    [
        "repeat('ab', 2147483647)",
        "space(2147483647)",
        "lpad('a', 2147483647, 'x')",
        "replace(repeat('a', 100000), 'a', repeat('b', 100000))",
        "regexp_replace(repeat('a', 100000), 'a', repeat('b', 100000))",
        "format_string('%2147483647d', 1)",
        "array_repeat(1, 2147483647)",
        "sequence(1, 2147483647)",
        "sequence(date'0001-01-01', cast('+99999-12-31' as date))",
        "array_insert(array(1), 2147483647, 1)",
    ],
)
def test_huge_results_fail(text: str) -> None:
    assert "is allowed" in failures(text)[0]


def test_try_functions_count_no_failure() -> None:
    for text in ("try_add(2147483647, 1)", "try_divide(1, 0)", "try_to_timestamp('x')"):
        assert failures(text) == ()


def test_decimals_keep_all_digits() -> None:
    digits = "12345678901234567890123456789012345678"
    row: dict[str, tuple[Type, Any]] = {"s": (STRING, digits)}
    negative = evaluate_expression("-cast(s as decimal(38,0))", row).value
    assert negative == dec.Decimal(f"-{digits}")
    size = evaluate_expression("abs(cast('-' || s as decimal(38,0)))", row).value
    assert size == dec.Decimal(digits)


def test_dates_do_not_wrap_around() -> None:
    assert (
        "does not fit" in failures("date_add(d, 2147483647)", {"d": (DATE, dt.date(2020, 1, 1))})[0]
    )
    assert "does not fit" in failures("from_unixtime(9223372036854775807)")[0]


def test_convert_timezone_gives_a_timestamp_of_the_session() -> None:
    text = "string(convert_timezone('Asia/Tokyo', timestamp'2020-07-01 00:00:00'))"
    for zone, shown in (("UTC", "2020-07-01 09:00:00"), ("Europe/Paris", "2020-07-01 07:00:00")):
        assert evaluate_expression(text, timezone=zone).value == shown


def test_fractions_right_after_seconds_can_be_read() -> None:
    text = "string(to_timestamp('20200105101112123', 'yyyyMMddHHmmssSSS'))"
    assert evaluate_expression(text).value == "2020-01-05 10:11:12.123"


def test_half_a_character_in_json_becomes_a_question_mark() -> None:
    row = {"s": (STRING, '{"a": "x\\ud83d", "b\\udc4d": "\\ud83d\\udc4d"}')}
    assert evaluate_expression("get_json_object(s, '$.a')", row).value == "x?"
    assert evaluate_expression("json_object_keys(s)", row).value == ["a", "b?"]
    assert evaluate_expression("from_json(s, 'a STRING')", row).value == {"a": "x?"}
    assert evaluate_expression("get_json_object(s, '$')", row).value == '{"a":"x?","b?":"👍"}'


def test_deep_json_is_no_crash() -> None:
    deep = '{"a":' * 100_000
    assert failures("get_json_object(s, '$.a')", {"s": (STRING, deep)}) == ()
    assert evaluate_expression("from_json(s, 'a INT')", {"s": (STRING, deep)}).value == {"a": None}


def test_huge_numbers_in_json_are_no_crash() -> None:
    row = {"s": (STRING, '{"a": 1e999999999, "b": 1e-999999999}')}
    text = "from_json(s, 'a DECIMAL(10,2), b DECIMAL(10,2)')"
    assert evaluate_expression(text, row).value == {"a": None, "b": dec.Decimal("0.00")}
    assert evaluate_expression("get_json_object(s, '$.a')", row).value == "Infinity"
