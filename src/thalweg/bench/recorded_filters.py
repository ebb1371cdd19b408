"""Filters over recorded streams: packets of several networks, and a day of edits.

The recordings are short, so each phase repeats one of them: a phase of packets is one network,
a phase of edits a part of the day. They are not part of Thalweg; where they are not, these
workloads are left out.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.bench.filter_race import Phase, Workload, interpreted
from thalweg.errors import SourceText
from thalweg.plan.expressions import conjuncts
from thalweg.plan.nodes import Filter
from thalweg.program import bind_script
from thalweg.vector.column import from_shown

_NETWORKS = (
    "gnutella_p2p",
    "syn_flood_spoofed",
    "alexa_home",
    "modbus_scada",
    "dns_amplification",
    "kakaotalk_mobile",
)
_PARTS_OF_THE_DAY = 4
# Rows of a phase, as parts of those of other workloads: texts take longer than numbers.
_PACKETS_PART, _EDITS_PART = 2, 16
# How often they come round.
_ROUNDS = 10
# Addresses of each network that are on the list.
_LISTED = 20


def data_folder() -> Path | None:
    """Where recorded streams are: the folder that THALWEG_DATA names, or ../shared/data."""
    folder = Path(os.environ.get("THALWEG_DATA") or Path.cwd().parent / "shared" / "data")
    return folder if folder.is_dir() else None


def packets(folder: Path, rows: int) -> Workload:
    """Two patterns, a list of addresses, ports and a length."""
    names = ["src_ip", "dst_ip", "src_port", "dst_port", "frame_len", "app_proto"]
    tables = [pq.read_table(folder / "network" / f"{n}.parquet", columns=names) for n in _NETWORKS]
    listed = sorted(
        address
        for table in tables
        for address, _ in Counter(table["src_ip"].drop_null().to_pylist()).most_common(_LISTED)
    )
    addresses = ", ".join(f"'{address}'" for address in listed)
    return _workload(
        "packets",
        "src_ip STRING, dst_ip STRING, src_port INT, dst_port INT, frame_len INT, app_proto STRING",
        r"dst_ip RLIKE '^(10|192\\.168|172\\.(1[6-9]|2[0-9]|3[01]))\\.'"
        r" AND app_proto RLIKE '^(UDP|TLS|DNS|Gnut|Modbus)'"
        f" AND src_ip IN ({addresses})"
        " AND (dst_port >= 1024 OR src_port IN (80, 443))"
        " AND frame_len >= 60",
        tables,
        max(1, rows // _PACKETS_PART),
    )


def edits(folder: Path, rows: int) -> Workload:
    """Patterns, and values inside of a JSON text."""
    table = pq.read_table(folder / "web" / "wikipedia_edits_20150912.parquet")
    texts = pa.array([_event(row) for row in table.to_pylist()])
    table = table.select(["page", "user", "namespace", "delta"]).append_column("event", texts)
    part = table.num_rows // _PARTS_OF_THE_DAY
    return _workload(
        "edits",
        "page STRING, user STRING, namespace STRING, delta BIGINT, event STRING",
        "get_json_object(event, '$.flags.robot') = 'false'"
        " AND get_json_object(event, '$.place.country') IS NULL"
        " AND page RLIKE '[Ll]ist|[0-9]{4}|:'"
        " AND user RLIKE '[a-z]+[0-9]*$'"
        " AND namespace IN ('Main', 'Talk', 'User', 'File')"
        " AND delta > 20",
        [table.slice(number * part, part) for number in range(_PARTS_OF_THE_DAY)],
        max(1, rows // _EDITS_PART),
    )


RECORDED: tuple[Callable[[Path, int], Workload], ...] = (packets, edits)


def _event(row: dict[str, object]) -> str:
    flags = {name[2:].lower(): row[name] for name in ("isRobot", "isMinor", "isNew")}
    place = {"country": row["countryName"], "city": row["cityName"]}
    whole = {"channel": row["channel"], "page": row["page"], "flags": flags, "place": place}
    return json.dumps(whole)


def _workload(name: str, columns: str, where: str, tables: list[pa.Table], rows: int) -> Workload:
    """The recordings one after the other, each as often as makes so many rows."""
    script = f"CREATE STREAM S ({columns}) FROM memory();"
    script += f"CREATE QUERY q AS SELECT ISTREAM(*) FROM S WHERE {where}"
    (query,) = bind_script(SourceText(name, script)).catalog.queries()
    (filter_,) = (node for node in query.plan.walk() if isinstance(node, Filter))
    predicates = tuple(conjuncts(filter_.predicate))
    types = [column.type for column in filter_.schema]
    phases = []
    for table in tables:
        once = tuple(
            from_shown(array.combine_chunks(), type_)
            for array, type_ in zip(table.columns, types, strict=True)
        )
        times = max(1, rows // table.num_rows)
        all_ = pa.concat_tables([table] * times)
        columns_ = tuple(
            from_shown(array.combine_chunks(), type_)
            for array, type_ in zip(all_.columns, types, strict=True)
        )
        phases.append(Phase(columns_, times * interpreted(predicates, once, table.num_rows)))
    return Workload(name, predicates, tuple(phases), _ROUNDS, max(1, rows // 16))
