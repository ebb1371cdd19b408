"""Streams share a batch such that it brings them to one instant."""

from __future__ import annotations

import pytest

from thalweg.intake.shares import UNKNOWN, Pace, shares


def test_equal_streams_have_equal_parts() -> None:
    pace = Pace(1_000, 100, 1_000)
    assert shares(300, {"a": pace, "b": pace, "c": pace}) == {"a": 100, "b": 100, "c": 100}


def test_before_the_first_row_all_are_equal() -> None:
    assert shares(10, {"a": UNKNOWN, "b": UNKNOWN}) == {"a": 5, "b": 5}
    assert shares(10, {}) == {}


def test_a_dense_stream_has_more_rows() -> None:
    assert shares(1000, {"dense": Pace(0, 90, 100), "sparse": Pace(0, 30, 100)}) == {
        "dense": 750,
        "sparse": 250,
    }


def test_a_stream_that_is_behind_catches_up_first() -> None:
    # 200 rows bring it level, and the other 800 are shared.
    assert shares(1000, {"behind": Pace(0, 10, 10), "ahead": Pace(200, 10, 10)}) == {
        "behind": 600,
        "ahead": 400,
    }


def test_a_stream_far_ahead_is_not_left_out() -> None:
    assert shares(51_200, {"behind": Pace(0, 10, 10), "ahead": Pace(10**18, 10, 10)}) == {
        "behind": 51_200,
        "ahead": 100,
    }


def test_many_rows_of_one_instant() -> None:
    assert shares(100, {"a": Pace(5, 50, 0), "b": Pace(5, 50, 0)}) == {"a": 50, "b": 50}


@pytest.mark.parametrize("seconds", range(1, 5))
def test_streams_of_any_density_stay_together(seconds: int) -> None:
    """Once the first batch is made up for, they are never farther apart than a batch covers."""
    densities = {"a": 1e-6, "b": 1e-6 * 3**seconds}
    times = dict.fromkeys(densities, 0.0)
    got = shares(1000, dict.fromkeys(densities, UNKNOWN))
    for batch in range(80):
        covered = {name: got[name] / densities[name] for name in times}
        times = {name: times[name] + covered[name] for name in times}
        got = shares(
            1000,
            {name: Pace(int(times[name]), got[name], int(covered[name])) for name in times},
        )
        if batch > 60:
            assert abs(times["a"] - times["b"]) <= max(covered.values())
