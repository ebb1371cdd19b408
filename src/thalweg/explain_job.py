"""The one plan of all queries of a script, and the job that runs it, as text and as JSON.

*Global* says what is cut where: fragments, the exchanges behind them with their keys,
the window stores, and which queries share them. *Job* says what runs: what the intake
reads and does for each stream, the operators of a shard in the order in which they
step, and where the answers go. The text is made from the JSON document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from thalweg.assembly import Node
from thalweg.catalog import Connector, Query, Stream
from thalweg.dataflow import Dataflow, Purpose
from thalweg.explain import plan_json
from thalweg.operators.stored import StoreRun
from thalweg.optimize.place import place
from thalweg.optimize.rules import optimized
from thalweg.outputs import is_folder
from thalweg.plan.nodes import Plan, QueryScan, StreamScan
from thalweg.plan.placed import Exchange, Placement, Received
from thalweg.program import Program, load_python
from thalweg.sinks import SINKS
from thalweg.units import Unit
from thalweg.work import ROWS_PER_BATCH, SHARDS

Document = dict[str, Any]


def explain_global(program: Program, only: Query | None = None) -> Document:
    """The global plan; with `only`, the part of it that one query needs."""
    return _Explained(program, only).global_plan()


def explain_job(program: Program, only: Query | None = None) -> Document:
    """The job, likewise."""
    return _Explained(program, only).job()


class _Explained:
    def __init__(self, program: Program, only: Query | None) -> None:
        catalog = program.catalog
        self._program = program
        self._streams = {stream.name: stream for stream in catalog.streams()}
        self._queries = {query.name: query for query in catalog.queries()}
        self._wanted = frozenset(self._queries if only is None else (only.name,))
        plans = {name: optimized(query.plan).plan for name, query in self._queries.items()}
        self._placement: Placement = place(plans, self._streams)

    # The global plan

    def global_plan(self) -> Document:
        return {
            "stage": "global",
            "exchanges": [
                {**self._exchange(e), "plan": plan_json(e.plan, self._tick(e.plan))}
                for e in self._exchanges()
            ],
            "stores": list(self._stores()),
            "queries": [
                {
                    "query": placed.name,
                    "runs_in": "all shards" if placed.spread else "the first shard",
                    "plan": plan_json(placed.plan, self._queries[placed.name].tick),
                }
                for placed in self._placement.queries
                if placed.name in self._wanted
            ],
        }

    def _exchanges(self) -> Iterator[Exchange]:
        for exchange in self._placement.exchanges:
            if self._placement.queries_for(exchange.number) & self._wanted:
                yield exchange

    def _exchange(self, exchange: Exchange) -> Document:
        keys, schema = exchange.keys, exchange.plan.schema
        return {
            "number": exchange.number,
            "stream": exchange.stream,
            "runs_in": "the shards" if exchange.stream is None else "the intake",
            "to": "the first shard" if keys is None else "all shards",
            "by": [schema[key].name for key in keys or ()],
            "for": self._for((exchange.number,)),
        }

    def _stores(self) -> Iterator[Document]:
        operators = self._shard().operators()
        for node, purposes in operators:
            if isinstance(node.operator, StoreRun) and self._is_wanted(purposes):
                below, _ = operators[node.inputs[0]]
                key, schema = node.operator.key, node.operator.schema
                yield {
                    "of": [name for name, _ in node.sources],
                    "exchange": below.origin,
                    "columns": [field.name for field in schema],
                    "by": [schema[i].name for i in key],
                    "for": self._for(purposes),
                }

    def _for(self, purposes: Iterable[Purpose]) -> list[str]:
        """The queries that something works for, in the order of the script."""
        found = frozenset[str]().union(*map(self._placement.queries_for, purposes))
        return [name for name in self._queries if name in found]

    def _is_wanted(self, purposes: Iterable[Purpose]) -> bool:
        return not self._wanted.isdisjoint(self._for(purposes))

    def _tick(self, plan: Plan) -> Unit:
        """The tick of a fragment."""
        name, scale = next(_origins(plan, 1))
        return Unit(self._streams[name].tick.value // scale)

    # The job

    def job(self) -> Document:
        return {
            "stage": "job",
            "shards": SHARDS,
            "rows_per_batch": ROWS_PER_BATCH,
            "intake": [
                self._intake(stream)
                for stream in self._streams.values()
                if any(e.stream == stream.name for e in self._exchanges())
            ],
            "shard": {
                "operators": list(self._operators(self._shard())),
                "sends": [self._exchange(e) for e in self._exchanges() if e.stream is None],
                "only_in_the_first": [
                    placed.name
                    for placed in self._placement.queries
                    if not placed.spread and placed.name in self._wanted
                ],
            },
            "outlet": [
                {"query": name, "to": list(self._places(name))}
                for name in self._queries
                if name in self._wanted
            ],
        }

    def _intake(self, stream: Stream) -> Document:
        # All of them, so that operators have the numbers that they have in a job.
        own = [e for e in self._placement.exchanges if e.stream == stream.name]
        judging = stream.required | ({stream.time_column} - {None})
        read = self._placement.columns_read(stream.name) | judging
        assert stream.connector is not None, "a declared stream has a connector"
        return {
            "stream": stream.name,
            "source": _source_text(stream.connector),
            "reads": [field.name for i, field in enumerate(stream.columns) if i in read],
            "skips": [field.name for i, field in enumerate(stream.columns) if i not in read],
            "operators": list(self._operators(self._dataflow({}, own))),
            "sends": [self._exchange(e) for e in self._exchanges() if e.stream == stream.name],
        }

    def _operators(self, dataflow: Dataflow) -> Iterator[Document]:
        for number, (node, purposes) in enumerate(dataflow.operators()):
            if self._is_wanted(purposes):
                yield {
                    "number": number,
                    "operator": _operator_text(node),
                    "inputs": list(node.inputs),
                    "for": self._for(purposes),
                }

    def _shard(self) -> Dataflow:
        derived = [e for e in self._placement.exchanges if e.stream is None]
        return self._dataflow(self._placement.queries_of(0), derived)

    def _dataflow(self, queries: dict[str, Plan], exchanges: list[Exchange]) -> Dataflow:
        ranks = {name: stream.rank for name, stream in self._streams.items()}
        no_rows: dict[str, list[Any]] = {t.name: [] for t in self._program.catalog.tables()}
        load = partial(load_python, folders=self._program.folders, aggregate=False)
        return Dataflow(queries, exchanges, ranks, no_rows, load)

    def _places(self, query: str) -> Iterator[str]:
        sinks = self._program.catalog.sinks()
        for sink in sinks:
            if sink.query.lower() == query.lower():
                how = ", whole at the end"
                if SINKS[sink.connector.name].suffix is None:
                    how = ""
                elif is_folder(sink.connector):
                    how = ", in parts by the shards"
                yield f"{sink.name}: {_source_text(sink.connector)}{how}"
        if not sinks:
            yield "the terminal"


def _origins(plan: Plan, scale: int) -> Iterator[tuple[str, int]]:
    """The source streams below, each with the length of its unit in ticks here."""
    for node in plan.walk():
        if isinstance(node, StreamScan):
            yield node.name, scale * node.scale
        if isinstance(node, Received):
            yield from ((name, scale * own) for name, own, _ in node.origins)
        if isinstance(node, QueryScan):
            yield from _origins(node.plan, scale * node.scale)


def _source_text(connector: Connector) -> str:
    location = "" if connector.location is None else repr(connector.location)
    return f"{connector.name}({location})"


def _operator_text(node: Node) -> str:
    """What an operator is called: FilterRun is a filter."""
    words = re.findall(r"[A-Z][a-z]*", type(node.operator).__name__.removesuffix("Run"))
    text = " ".join(words).lower()
    if isinstance(node.operator, StoreRun):
        names = [node.operator.schema[i].name for i in node.operator.key]
        return f"{text} by {', '.join(names) or 'nothing'}"
    if isinstance(node.origin, int):
        return f"{text} from exchange {node.origin}"
    return text if node.origin is None else f"{text} {node.origin}"


# As text


def text_of(document: Document) -> str:
    """What `explain_global` or `explain_job` say, for people."""
    lines = _global_lines if document["stage"] == "global" else _job_lines
    return "\n".join(lines(document))


def _global_lines(document: Document) -> Iterator[str]:
    for exchange in document["exchanges"]:
        stream = f"{exchange['stream']} in " if exchange["stream"] else "in "
        yield f"Exchange {exchange['number']}: {stream}{exchange['runs_in']}, {_to(exchange)}"
        yield from _tree(exchange["plan"], 1)
    for store in document["stores"]:
        names = ", ".join(store["columns"])
        streams = " and ".join(store["of"])
        yield f"Store of {streams} ({names}) by {_by(store)}, for {_listed(store['for'])}"
    for query in document["queries"]:
        yield f"Query {query['query']} in {query['runs_in']}"
        yield from _tree(query["plan"], 1)


def _job_lines(document: Document) -> Iterator[str]:
    shards, rows = document["shards"], document["rows_per_batch"]
    yield f"Job: {shards} shards, {rows:,} rows per batch"
    for intake in document["intake"]:
        yield f"Intake of {intake['stream']} from {intake['source']}"
        skips = f", skips {', '.join(intake['skips'])}" if intake["skips"] else ""
        yield f"  reads {', '.join(intake['reads']) or 'no column'}{skips}"
        yield from _operator_lines(intake)
    shard = document["shard"]
    yield "Shard"
    yield from _operator_lines(shard)
    if shard["only_in_the_first"]:
        yield f"  only in the first: {_listed(shard['only_in_the_first'])}"
    yield "Outlet"
    for outlet in document["outlet"]:
        yield f"  {outlet['query']} to {'; '.join(outlet['to']) or 'nowhere'}"


def _operator_lines(part: Document) -> Iterator[str]:
    for own in part["operators"]:
        yield f"  {operator_line(own)}"
    for exchange in part["sends"]:
        yield f"  {exchange_line(exchange)}"


def operator_line(own: Document) -> str:
    inputs = f" of {', '.join(map(str, own['inputs']))}" if own["inputs"] else ""
    return f"{own['number']}: {own['operator']}{inputs}, for {_listed(own['for'])}"


def exchange_line(exchange: Document) -> str:
    return f"exchange {exchange['number']} {_to(exchange)}"


def _tree(plan: Document, depth: int) -> Iterator[str]:
    yield "  " * depth + str(plan["label"])
    for subquery in plan["subqueries"]:
        yield "  " * (depth + 1) + f"{subquery['name']}:"
        yield from _tree(subquery["plan"], depth + 2)
    for below in plan["inputs"]:
        yield from _tree(below, depth + 1)


def _to(exchange: Document) -> str:
    by = f" by {_by(exchange)}" if exchange["to"] == "all shards" else ""
    return f"to {exchange['to']}{by}, for {_listed(exchange['for'])}"


def _by(part: Document) -> str:
    return ", ".join(part["by"]) or "nothing"


def _listed(names: list[str]) -> str:
    return ", ".join(names)
