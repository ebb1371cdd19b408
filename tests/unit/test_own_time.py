"""What a thread takes, whatever others do beside it."""

from __future__ import annotations

import time

import pytest

from thalweg.adapt import own_time
from thalweg.adapt.own_time import OwnTime

COMPUTED = 30_000_000


def compute() -> None:
    until = time.thread_time_ns() + COMPUTED
    while time.thread_time_ns() < until:
        pass


def test_computing_counts_and_waiting_counts() -> None:
    own, wall = OwnTime(), time.perf_counter_ns()
    began = own()
    compute()
    computed = own()
    assert computed - began >= COMPUTED
    time.sleep(0.05)
    assert own() - computed >= 50_000_000
    assert own() - began <= time.perf_counter_ns() - wall


def test_what_others_take_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    own = OwnTime()
    monkeypatch.setattr(own_time, "_waits", lambda: 0)
    own()
    began, taken = own(), time.perf_counter_ns()
    # As if another process had run meanwhile: time passes, and this thread does not wait.
    while time.perf_counter_ns() < taken + COMPUTED:
        time.sleep(0.001)
    assert own() - began < COMPUTED // 2


def test_all_time_counts_where_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    own = OwnTime()
    monkeypatch.setattr(own_time, "_waits", lambda: -1)
    began, wall = own(), time.perf_counter_ns()
    compute()
    assert own() - began >= COMPUTED
    assert time.perf_counter_ns() - wall >= COMPUTED
