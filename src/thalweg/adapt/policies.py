"""The policies by the names that a script calls them."""

from __future__ import annotations

from collections.abc import Callable

from thalweg.adapt.drops import Order, Policy
from thalweg.adapt.greedy import AGreedy, Independent
from thalweg.adapt.sweep import LocalSwaps, Sweep

# Without a policy, what is given is kept.
MakePolicy = Callable[[Order], Policy] | None

FILTER_POLICIES: dict[str, MakePolicy] = {
    "a-greedy": AGreedy,
    "sweep": Sweep,
    "independent": Independent,
    "local-swaps": LocalSwaps,
    "off": None,
}
