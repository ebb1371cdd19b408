"""What happens to the rows of one input of a join.

They meet the other inputs in an order of their own, which may change between two stretches
of rows: every order finds the same combinations, and the rows that are stored stay as they
are. Caches may stand for some look-ups; what is not in them is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter_ns, thread_time_ns

import numpy as np

from thalweg.adapt.adaptive_order import Spent
from thalweg.adapt.drops import Index, Order
from thalweg.adapt.evidence import Evidence
from thalweg.adapt.join_order import Tree, look_ups, spanning_tree
from thalweg.adapt.learned import FoundPlan
from thalweg.adapt.lookup_order import LookupOrder, LookupTimes
from thalweg.adapt.measured import Tally
from thalweg.adapt.policies import MakePolicy
from thalweg.adapt.sample import told_apart
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta
from thalweg.operators.join_cache import SegmentCache
from thalweg.operators.join_graph import Lookup, Place, Topology
from thalweg.operators.join_scout import CLEARLY_BETTER, NewWalk, Scout
from thalweg.operators.join_walk import BASE, Partial, Walk
from thalweg.operators.stored import StoreView
from thalweg.vector.column import Columns

# Rows in a stretch as long as it is not known which order is good. (m) A stretch takes 0.2 to
# 0.4 ms before it has seen a row.
UNSURE_ROWS = 16_384
# Rows that pass by the caches now and then, and the part of all rows that they are.
BYPASS_ROWS, BYPASS_SHARE = 32_768, 0.01
# Rows of a batch that meet caches as long as it is not known whether these pay.
TRIED_ROWS = 8192
# The part of a pipeline's time that may go into watching which keys recur.
WATCH_SHARE = 0.002
# At every so many profiles it is asked for the best way to each member; and if rows behave as
# they did not before.
TREE_EVERY = 4
# Rows of a profile, and of one that is to tell what look-ups take that few combinations meet;
# fewer if so many of them take longer than that now.
PROFILE_ROWS, TIMING_ROWS, FEWEST_PROFILE_ROWS = 512, 4096, 64
PROFILE_NANOS = 400_000
# A row with more partners than that has many.
MANY_PARTNERS = 1.5
# What took less is not worth saying how it went.
TOLD_NANOS = 2_000_000

Found = tuple[Walk, Partial]
# An order of filters, and the ways to them: what decides on the order of look-ups.
Route = tuple[Order, Tree]


@dataclass(frozen=True)
class Cached:
    """A cache in place of some look-ups; `there` are the columns to ask it by."""

    cache: SegmentCache
    lookups: tuple[Lookup, ...]
    there: tuple[Place, ...]

    def keys(self, walk: Walk, partial: Partial) -> tuple[Partial, Columns]:
        """Combinations that may find something, and what to ask by: to be NULL is nothing
        that equals, but may be something that a condition is true of."""
        if self.cache.segment.outer:
            return partial, tuple(walk.column(place, partial) for place in self.there)
        return walk.keys(self.there, partial)


@dataclass(frozen=True)
class Path:
    """Look-ups in an order; `can_wait` where no later one depends on what is found. With
    caches, some of them are replaced; by position of the first."""

    lookups: tuple[Lookup, ...]
    can_wait: tuple[bool, ...]
    cached: dict[int, Cached]


@dataclass(frozen=True, slots=True)
class Course:
    """Rows on a path, and look-ups whose partners are still to be found."""

    path: Path
    walk: Walk
    waiting: list[Lookup] = field(default_factory=list)


class Pipeline:
    """`order` is one of the other members, numbered without the root. `plain` and `cached` say
    what rows cost without and with caches, `nanos` both, and `passed` by member what look-ups
    did without."""

    def __init__(
        self,
        root: int,
        topology: Topology,
        conditioned: frozenset[int],
        new_walk: NewWalk,
        view_of: Callable[[int], StoreView],
        make: MakePolicy,
    ) -> None:
        self.root = root
        self.others = tuple(m for m in topology.members if m != root)
        self._topology, self._new_walk = topology, new_walk
        self._conditioned = conditioned
        self.scout = Scout(root, topology, conditioned, new_walk, view_of)
        first = topology.first_orders[root]
        self._is_free = make is not None and topology.is_connected and len(self.others) > 1
        self._tree: Tree = spanning_tree(root, topology.neighbours)
        self._make = make if self._is_free else None
        self.order = self._new_order(first)
        self._paths: dict[Order, Path] = {}
        # By member: the partners of a combination that has any, lately.
        self._partners = dict.fromkeys(self.others, 1.0)
        # By position of the first look-up that it replaces.
        self.caches: dict[int, Cached] = {}
        self._cached_order: Order | None = None
        self.passed = {member: Tally() for member in self.others}
        self.plain, self.cached, self.nanos = Spent(), Spent(), 0
        self._bypassed, self._cached_before = 0, 0
        # Who wants to see the combinations that come to a position, and the time that it took.
        self.watch: Callable[[int, Walk, Partial], None] | None = None
        self._watching = 0
        # Whether its caches were found to pay; and the rows of a batch that met those of which
        # that is not known.
        self.has_proved = False
        self._tried = 0
        # Rows in the stretches of a trial, in this batch.
        self._even = 0
        # Where the counters stood when the order was last told: rows and nanoseconds without
        # caches, and by member the combinations that left it.
        self._told, self._told_left = (0, 0), dict.fromkeys(self.others, 0)
        self._times = LookupTimes(self.others)

    # Which way

    def _new_order(self, members: tuple[int, ...]) -> LookupOrder:
        numbers = tuple(self.others.index(member) for member in members)
        return LookupOrder(numbers, self._make, self._as_run)

    def _as_run(self, order: Order) -> Order:
        return tuple(self.others.index(member) for member in self.members(order))

    @property
    def route(self) -> Route:
        return self.order.order, self._tree

    def fix(self, route: Route) -> None:
        """Take a route from now on, whatever happens."""
        order, self._tree = route
        self._paths.clear()
        self.order = LookupOrder(order, None)

    def found(self) -> FoundPlan | None:
        """The route of now, if its order was tried and kept since this was asked last."""
        order = self.order.found()
        if order is None:
            return None
        return FoundPlan(order, tuple(sorted(self._tree.items())))

    def take_over(self, plan: FoundPlan) -> None:
        """A route that was found elsewhere; by other ways only if nothing is known of these."""
        if not self._is_free or not plan.fits(self.order.order):
            return
        ways = dict(plan.ways)
        if ways != self._tree:
            if not self.order.is_unsure or not self._leads(ways):
                return
            self._tree = ways
            self._paths.clear()
        self.order.suggest(plan.order)

    def _leads(self, ways: Tree) -> bool:
        """Whether ways go from the root to all others, from neighbour to neighbour."""
        if ways.keys() != set(self.others):
            return False
        near, reached = self._topology.neighbours, {self.root}
        for _ in ways:
            reached |= {m for m, way in ways.items() if way in reached and way in near[m]}
        return len(reached) > len(ways)

    def members(self, order: Order) -> tuple[int, ...]:
        """Members as they are looked up, in an order of filters."""
        members = tuple(self.others[number] for number in order)
        return look_ups(members, self._tree) if self._is_free else members

    def path(self, order: Order) -> Path:
        if order not in self._paths:
            lookups = self._topology.lookups(self.root, self.members(order))
            later = [_needs(lookups[at:]) | self._conditioned for at in range(len(lookups))]
            can_wait = (x.member not in needed for x, needed in zip(lookups, later, strict=True))
            self._paths[order] = Path(lookups, tuple(can_wait), {})
        return self._paths[order]

    def partners(self, member: int) -> float:
        """In a member, of a combination that has any there, before conditions are tested."""
        return self._partners[member]

    def use(self, caches: dict[int, Cached]) -> None:
        """Caches for the order of now, by the position of the first look-up they replace."""
        self.caches, self._cached_order = caches, self.order.order
        self._told = self.plain.rows, self.plain.nanos
        self._told_left = {member: tally.rows_out for member, tally in self.passed.items()}
        self._bypassed, self._cached_before = 0, self.cached.rows
        self.has_proved = False

    def _next(self, left: int) -> tuple[Path, Order, bool, int]:
        """How the next rows go, and how many of those that are left."""
        order = self.order.next()
        path = self.path(order)
        if self.order.is_trying:
            self._even = self._even or even_stretch(left)
            return path, order, True, min(left, self._even)
        if self.order.is_unsure:
            return path, order, True, min(left, UNSURE_ROWS)
        if not self.caches or self._cached_order != order:
            return path, order, True, left
        if self._bypassed <= BYPASS_SHARE * (self.cached.rows - self._cached_before):
            return path, order, True, min(left, BYPASS_ROWS)
        if self.has_proved:
            return replace(path, cached=self.caches), order, False, left
        if self._tried >= TRIED_ROWS:
            return path, order, True, left
        self._tried += min(left, TRIED_ROWS)
        return replace(path, cached=self.caches), order, False, min(left, TRIED_ROWS)

    # Going it

    def run(self, delta: Delta) -> Iterator[Found]:
        """The combinations of all rows, stretch by stretch."""
        first = self._tried = self._even = 0
        while first < len(delta):
            path, order, is_plain, rows = self._next(len(delta) - first)
            whole = rows == len(delta)
            part = delta if whole else delta.part(slice(first, first + rows))
            yield from self._stretch(part, path, order, is_plain)
            first += rows

    def _stretch(self, delta: Delta, path: Path, order: Order, is_plain: bool) -> list[Found]:
        walk = self._new_walk(frozenset((self.root,)), lambda p: delta.columns[p[1]], self.root)
        began = thread_time_ns()
        partial = walk.begin(delta.start, delta.end, delta.weight)
        course = Course(path, walk)
        found = self._go(course, 0, partial)
        nanos = thread_time_ns() - began
        (self.plain if is_plain else self.cached).add(len(delta), nanos)
        self.nanos += nanos
        if is_plain and self.caches:
            self._bypassed += len(delta)
        self._learn(walk)
        if self.caches or self.order.is_fixed:
            return found
        if self.plain.nanos - self._told[1] >= TOLD_NANOS or self.order.is_trying:
            self._tell(order)
            if self.order.wants_profile:
                self._profile(delta)
        return found

    def _go(self, course: Course, at: int, partial: Partial) -> list[Found]:
        """From a position on to the end."""
        path, walk, waiting = course.path, course.walk, course.waiting
        found: list[Found] = []
        watch = self.watch if self._watching <= WATCH_SHARE * self.nanos else None
        while at < len(path.lookups) and len(partial):
            if watch is not None:
                began = perf_counter_ns()
                watch(at, walk, partial)
                self._watching += perf_counter_ns() - began
            cached = path.cached.get(at)
            if cached is not None:
                at += len(cached.lookups)
                partial, missed = self._ask(cached, walk, partial)
                if len(missed):
                    other = walk.copy()
                    for lookup in cached.lookups:
                        missed = other.expand(lookup, missed)
                    found += self._go(Course(path, other, list(waiting)), at, missed)
                continue
            partial = self._look_up(course, at, partial)
            at += 1
        if waiting and len(partial):
            partial = walk.generate(waiting, partial)
        return [*found, (walk, partial)] if len(partial) else found

    def _look_up(self, course: Course, at: int, partial: Partial) -> Partial:
        path, walk, waiting = course.path, course.walk, course.waiting
        lookup, can_wait = path.lookups[at], path.can_wait[at]
        is_last = at == len(path.lookups) - 1
        came, began = len(partial), perf_counter_ns()
        if can_wait and not is_last and self._partners[lookup.member] > MANY_PARTNERS:
            waiting.append(lookup)
            partial = walk.drop(lookup, partial)
        elif can_wait and is_last and waiting:
            partial = walk.generate([*waiting, lookup], partial)
            waiting.clear()
        else:
            partial = walk.expand(lookup, partial)
        nanos = perf_counter_ns() - began
        self.passed[lookup.member].add(came, len(partial), nanos)
        self._times.add(lookup.member, came, nanos)
        return partial

    # Caches

    def _ask(self, cached: Cached, walk: Walk, partial: Partial) -> tuple[Partial, Partial]:
        """Combinations with what a cache has for them, and those that it has nothing about."""
        cache, began = cached.cache, perf_counter_ns()
        partial, keys = cached.keys(walk, partial)
        entries = cache.find(keys, len(partial))
        missing = np.flatnonzero(entries < 0)
        counts = cache.counts
        counts.probes += len(entries)
        counts.hits += len(entries) - len(missing)
        filling = 0
        if len(missing):
            since = perf_counter_ns()
            entries[missing] = self._fill(
                cached, tuple(key.take(missing) for key in keys), len(missing)
            )
            filling = perf_counter_ns() - since
        there = entries >= 0
        missed = partial.where(~there)
        if len(missed):
            partial, entries = partial.where(there), entries[there]
        found = cache.matches(entries, partial.start, partial.end)
        members, conditions = cache.segment.members, cache.segment.conditions
        walk.sides.update(dict.fromkeys(members, cache))
        partial = walk.joined(partial, found, members, conditions)
        counts.found += len(found.owners)
        counts.filling += filling
        counts.probing += perf_counter_ns() - began - filling
        return partial, missed

    def _fill(self, cached: Cached, keys: Columns, length: int) -> Index:
        """Have entries for keys, as far as there is room; -1 for those that have none."""
        cache, segment = cached.cache, cached.cache.segment
        entries, fresh = cache.admit(keys, length)
        if not len(fresh):
            return entries
        parts: Sequence[Place | int] = segment.outer or segment.classes
        columns = {part: key.take(fresh) for part, key in zip(parts, keys, strict=True)}
        walk = self._new_walk(
            frozenset(place[0] for place in segment.outer),
            lambda place: columns[place if segment.outer else self._topology.class_of(place)],
            self.root,
        ).testing(segment.conditions)
        partial = walk.begin(
            np.full(len(fresh), BEFORE_TIME),
            np.full(len(fresh), FOREVER),
            np.ones(len(fresh), np.int64),
        )
        for lookup in cached.lookups:
            if len(partial):
                partial = walk.expand(lookup, partial)
        if len(partial):
            keep(cache, walk, partial, entries[fresh][partial.rows[BASE]])
            entries[~cache.are_there(np.maximum(entries, 0))] = -1
        return entries

    # Learning

    def _tell(self, order: Order) -> None:
        """Say how the last stretches went."""
        rows, nanos = self._told
        self._told = self.plain.rows, self.plain.nanos
        counts = [self.plain.rows - rows]
        for lookup in self.path(order).lookups:
            left = self.passed[lookup.member].rows_out
            counts.append(left - self._told_left[lookup.member])
            self._told_left[lookup.member] = left
        self.order.ran(order, counts, self.plain.nanos - nanos)

    def _learn(self, walk: Walk) -> None:
        for member, (owners, partners) in walk.partners.items():
            self._partners[member] = (self._partners[member] + partners / owners) / 2

    def _profile(self, delta: Delta) -> None:
        began = perf_counter_ns()
        has_changed = self.order.has_changed
        if has_changed:
            self._times.forget()
        some = delta.take(spread(len(delta), self._affordable_rows()))
        is_asked = has_changed or self.order.profiles % TREE_EVERY == 0
        if self._topology.has_cycles and is_asked:
            self._choose_tree(some)
        self.order.profile(lambda: self._evidence(some), perf_counter_ns() - began)

    def _affordable_rows(self) -> int:
        wanted = PROFILE_ROWS if self._times.are_known else TIMING_ROWS
        affordable = int(PROFILE_NANOS / max(1.0, self.order.per_row))
        return min(wanted, max(FEWEST_PROFILE_ROWS, affordable))

    def _evidence(self, rows: Delta) -> Evidence:
        scouted = self.scout.along(self._tree, rows)
        times = told_apart(scouted.times(self.others, self._tree, self._times))
        own = {member: scouted.time(member, self._times) for member in self.others}
        many = {**self._partners, **scouted.partners}

        def cost(order: Order) -> float:
            """Of all look-ups, each for the combinations that those before it leave."""
            path, left, each, total = self.path(order), np.ones(len(rows), np.bool_), 1.0, 0.0
            for lookup, can_wait in zip(path.lookups, path.can_wait, strict=True):
                member = lookup.member
                total += np.count_nonzero(left) * each * own[member]
                left &= scouted.passes[:, self.others.index(member)]
                if not can_wait or many[member] <= MANY_PARTNERS:
                    each *= many[member]
            return total

        return Evidence(scouted.passes, times, cost)

    def _choose_tree(self, rows: Delta) -> None:
        tree, gain = self.scout.best_tree(self._tree, rows)
        if gain > CLEARLY_BETTER:
            changes = self.order.changes
            self._tree = tree
            self._paths.clear()
            self.order = self._new_order(self.members(self.order.order))
            self.order.changes = changes


def spread(rows: int, count: int) -> Index:
    """So many numbers of rows from all over."""
    return np.arange(0, rows, max(1, -(-rows // count)))


def even_stretch(rows: int) -> int:
    """What makes as many stretches for each of two orders, all of the same length: in a short
    one, every row takes longer."""
    pairs = rows // (2 * UNSURE_ROWS)
    return -(-rows // (2 * pairs)) if pairs else rows


def keep(cache: SegmentCache, walk: Walk, partial: Partial, entries: Index) -> None:
    """Add combinations to entries of a cache."""
    columns = tuple(walk.column(place, partial) for place in cache.segment.places)
    cache.add(entries, columns, partial.start, partial.end, partial.weight)


def _needs(lookups: Sequence[Lookup]) -> frozenset[int]:
    return frozenset[int]().union(*(lookup.needs for lookup in lookups))
