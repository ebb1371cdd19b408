"""What counts as a change of the rows that filters see."""

from __future__ import annotations

import pytest

from thalweg.adapt.lookout import Lookout
from thalweg.operators.join_pipeline import UNSURE_ROWS, even_stretch

STRETCH = [10_000, 5_000, 500]


def seen(lookout: Lookout, counts: list[int], per_row: float = 10.0, times: int = 1) -> Lookout:
    for _ in range(times):
        lookout.see(counts, per_row)
    return lookout


def test_rows_that_behave_as_they_did_are_no_change() -> None:
    lookout = seen(Lookout(), STRETCH, times=20)
    assert not lookout.has_changed


def test_another_part_that_passes_is_a_change_and_lasts_if_it_is_seen_again_and_again() -> None:
    lookout = seen(seen(Lookout(), STRETCH), [10_000, 6_000, 600])
    assert lookout.has_changed
    assert not lookout.is_lasting
    assert seen(lookout, [10_000, 6_000, 600], times=8).is_lasting
    assert not seen(lookout, STRETCH).has_changed


def test_a_change_may_have_come_with_the_first_rows() -> None:
    assert seen(Lookout(STRETCH), [10_000, 6_000, 600]).has_changed
    assert not seen(Lookout(STRETCH), STRETCH).has_changed


def test_few_rows_are_looked_at_with_those_that_follow() -> None:
    lookout = seen(Lookout(STRETCH), [1_000, 900, 100], times=8)
    assert not lookout.has_changed
    assert seen(lookout, [1_000, 900, 100]).has_changed


def test_few_rows_that_take_long_are_looked_at() -> None:
    lookout = seen(Lookout(STRETCH), [1_000, 900, 100], per_row=19_000.0)
    assert not lookout.has_changed
    assert seen(lookout, [1_000, 900, 100], per_row=19_000.0).has_changed


def test_few_that_reach_a_filter_say_nothing_about_it() -> None:
    lookout = seen(Lookout(), [10_000, 100, 90])
    assert not seen(lookout, [10_000, 100, 10]).has_changed


def test_rows_that_take_longer_are_a_change_unless_it_is_for_a_moment() -> None:
    lookout = seen(Lookout(), STRETCH, 10.0, times=3)
    assert not seen(lookout, STRETCH, 15.0, times=2).has_changed
    assert seen(lookout, STRETCH, 15.0).is_slower
    assert lookout.has_changed
    assert not seen(lookout, STRETCH, 11.0).has_changed


@pytest.mark.parametrize("rows", [1, 5_000, 40_000, 100_000, 200_000])
def test_stretches_of_a_trial_are_as_long_and_as_many_for_each_order(rows: int) -> None:
    stretch = even_stretch(rows)
    if rows < 2 * UNSURE_ROWS:
        assert stretch == rows
        return
    count = -(-rows // stretch)
    assert count % 2 == 0
    assert stretch >= UNSURE_ROWS
    assert rows - stretch * (count - 1) > stretch - count
