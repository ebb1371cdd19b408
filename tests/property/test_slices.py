"""A source in slices has the rows of the whole source, wherever it is cut."""

from __future__ import annotations

import decimal as dec
import gzip
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.catalog import Stream
from thalweg.errors import QueryError, SourceText
from thalweg.intake.accept import accept
from thalweg.intake.generator_slices import GeneratorSlices
from thalweg.intake.parquet_slices import ParquetSlices
from thalweg.intake.reading import Cursor, Slice, StreamReader, as_delta
from thalweg.program import Program, bind_script
from thalweg.sources import SOURCES, ReadRequest
from thalweg.sources.parquet import ParquetRows
from thalweg.vector.column import Vector

ALL = 1_000_000
SIZES = (1, 7, ALL)
SEEDS = 150

# For each declared type: the types in which a file may have it, and values there.
Values = tuple[Any, ...]
INTEGERS: dict[pa.DataType, Values] = {
    pa.int8(): (0, 1, -1, 127, -128),
    pa.uint8(): (0, 1, 127, 128, 255),
    pa.int16(): (0, 7, 128, 2**15 - 1, -(2**15)),
    pa.uint16(): (0, 7, 2**15, 2**16 - 1),
    pa.int32(): (0, 7, -7, 2**31 - 1, -(2**31)),
    pa.uint32(): (0, 7, 2**31, 2**32 - 1),
    pa.int64(): (0, 7, -7, 2**31, 2**63 - 1, -(2**63)),
    pa.uint64(): (0, 7, 2**63 - 1, 2**63, 2**64 - 1),
}
FLOATS = (0.5, -0.0, 0.0, 1.5, float("nan"), float("inf"))
TEXTS = ("", "a", "Ä", "a,b", 'x"y', "two\nlines", "\u2028")
MONEY = tuple(map(dec.Decimal, ("0.00", "1.25", "-3.10", "999.99")))
TIMES = (0, 1, -1, 10**9, 1_711_846_799_999_999, 1_711_850_400_000_000, 1_729_989_000_000_001)
FAR_TIMES = (2**63 - 1, -(2**63), -(2**63) + 1, 9_223_372_036_854_775)
PAIR = pa.struct([("a", pa.int32()), ("b", pa.timestamp("us", "UTC"))])
FILE_TYPES: dict[str, dict[pa.DataType, Values]] = {
    "BOOLEAN": {pa.bool_(): (True, False), pa.null(): (None,)},
    "TINYINT": INTEGERS,
    "SMALLINT": INTEGERS,
    "INT": INTEGERS | {pa.dictionary(pa.int32(), pa.int32()): (1, 2)},
    "BIGINT": INTEGERS,
    "FLOAT": {pa.float32(): FLOATS, pa.float16(): FLOATS},
    "DOUBLE": {pa.float64(): (*FLOATS, 0.1), pa.float32(): FLOATS, pa.int32(): (1, -7)},
    "DECIMAL(5,2)": {
        pa.decimal128(5, 2): MONEY,
        pa.decimal128(4, 2): MONEY[:3],
        pa.decimal128(9, 2): (*MONEY, dec.Decimal("1234.00")),
        pa.decimal128(9, 3): (*MONEY, dec.Decimal("0.005")),
        pa.decimal256(5, 2): MONEY,
        pa.int32(): (1, 999, 1000),
    },
    "STRING": {
        pa.string(): TEXTS,
        pa.large_string(): TEXTS,
        pa.string_view(): TEXTS,
        pa.dictionary(pa.int32(), pa.string()): TEXTS,
    },
    "BINARY": {
        pa.binary(): (b"", b"\xff\0"),
        pa.large_binary(): (b"", b"\xff"),
        pa.binary(2): (b"ab", b"\xff\0"),
    },
    "DATE": {pa.date32(): (0, 1, -2, 2**31 - 1), pa.date64(): (0, 86_400_000, -86_400_000)},
    "TIMESTAMP": {
        pa.timestamp(unit, zone): TIMES + (FAR_TIMES if far else ())
        for unit, zone, far in (
            ("us", "UTC", True), ("us", None, False), ("ms", "UTC", True), ("ms", None, True),
            ("ns", "Europe/Paris", True), ("s", None, False), ("s", "UTC", False),
        )
    },
    "ARRAY<INT>": {
        pa.list_(pa.int32()): ([], [1, None], [2]),
        pa.list_(pa.int64()): ([], [1, None], [2**40]),
        pa.large_list(pa.int32()): ([], [3]),
    },
    "ARRAY<STRUCT<a: INT, b: TIMESTAMP>>": {
        pa.list_(PAIR): ([], [{"a": 1, "b": 5}, None], [{"a": None, "b": 7}]),
    },
    "STRUCT<a: INT, b: TIMESTAMP>": {
        PAIR: ({"a": 1, "b": 2}, {"a": None, "b": 0}),
        pa.struct([("b", pa.timestamp("ms")), ("a", pa.int64())]): (
            {"a": 1, "b": 2},
            {"a": 2**40, "b": 0},
        ),
    },
}  # fmt: skip
TIME_TYPES = (
    ("BIGINT", "", pa.int64(), 1),
    ("INT", " UNIT MILLISECOND", pa.int32(), 1),
    ("TIMESTAMP", "", pa.timestamp("us", "UTC"), 1_000_000),
    ("TIMESTAMP", "", pa.timestamp("ms", "UTC"), 1_000),
)


def declared(random: random.Random, columns: list[str], time: str, source: str) -> str:
    """A script with one stream to read, and perhaps one of shorter ticks."""
    listing = "".join(
        f"c{i} {type_}{random.choice(('', '', ' NOT NULL'))}, " for i, type_ in enumerate(columns)
    )
    type_, _, unit = time.partition(" ")
    slack = random.choice(("", "", " SLACK 1 SECOND", " SLACK 3 SECONDS"))
    script = [f"SET timezone = '{random.choice(('UTC', 'Europe/Paris', '+01:30'))}'"]
    script += [f"CREATE STREAM S ({listing}ts {type_}) TIMESTAMP BY ts{slack} {unit} {source}"]
    if random.random() < 0.3:
        script += ["CREATE STREAM F (n BIGINT) TIMESTAMP BY n UNIT NANOSECOND FROM memory()"]
    return ";\n".join(script)


def event_times(random: random.Random, rows: int, far: Values) -> list[int | None]:
    """Seconds that mostly grow, with ties, disorder, NULLs and what is no instant."""
    time, times = random.choice((-5, 0, 1000)), []
    for _ in range(rows):
        time += random.choice((0, 0, 1, 1, 2, 9))
        odd = random.random()
        shift = random.choice((0, 0, 0, 1, 2, 4))
        times.append(None if odd < 0.05 else random.choice(far) if odd < 0.1 else time - shift)
    return times


def arrow_array(values: list[Any], type_: pa.DataType) -> pa.Array:
    """Values of an Arrow type; times are given as numbers."""
    if pa.types.is_timestamp(type_) or pa.types.is_date64(type_):
        return pa.array(values, pa.int64()).view(type_)
    if pa.types.is_date32(type_):
        return pa.array(values, pa.int32()).view(type_)
    if pa.types.is_dictionary(type_):
        return pa.array(values, type_.value_type).dictionary_encode()
    if pa.types.is_string_view(type_):
        return pa.array(values, pa.string()).cast(type_)
    return pa.array(values, type_)


def some_cells(random: random.Random, values: Values, rows: int, nulls: float) -> list[Any]:
    return [None if random.random() < nulls else random.choice(values) for _ in range(rows)]


def parquet_case(random: random.Random, folder: Path) -> Program:
    columns = [random.choice(list(FILE_TYPES)) for _ in range(random.randint(1, 4))]
    time, unit, time_type, scale = random.choice(TIME_TYPES)
    far = (0,) if time == "INT" else (2**63 - 1, -(2**63), 2**63 - 2, 10**15, -(10**15))
    (folder / "s").mkdir()
    for file in range(random.randint(1, 3)):
        rows = random.choice((0, 1, 5, 20))
        nulls = random.choice((0, 0.2))
        table: dict[str, pa.Array] = {}
        for i, column in enumerate(columns):
            given = random.choice(list(FILE_TYPES[column]))
            cells = some_cells(random, FILE_TYPES[column][given], rows, nulls)
            table[f"C{i}"] = arrow_array(cells, given)
            if given == pa.string() and random.random() < 0.3 and rows:
                broken = [None if c is None else c.encode() for c in cells]
                broken[random.randrange(rows)] = b"\xff"
                table[f"C{i}"] = pa.array(broken, pa.binary()).view(pa.string())
        times = event_times(random, rows, far)
        table["ts"] = arrow_array(
            [t if t is None or t in far else t * scale for t in times], time_type
        )
        names = random.sample(list(table), len(table))
        pq.write_table(
            pa.table({name: table[name] for name in names}),
            folder / "s" / f"{file}.parquet",
            row_group_size=random.choice((1, 3, 100)),
        )
    script = declared(random, columns, time + unit, "FROM parquet('s')")
    return bind_script(SourceText("case", script), (folder,))


CELLS = {
    "INT": ("1", "-7", "x", "99999999999", " 2 "),
    "DOUBLE": ("1.5", "NaN", "1e3", "one"),
    "STRING": ("a", "Ä", '"a,b"', '"two\nlines"', '"x""y"', '"open', "\ufeff"),
    "DATE": ("2024-01-01", "2024-13-01"),
}


def csv_case(random: random.Random, folder: Path) -> Program:
    columns = [random.choice(list(CELLS)) for _ in range(random.randint(0, 3))]
    header = random.choice((True, False))
    (folder / "s").mkdir()
    for file in range(random.randint(1, 3)):
        lines = [",".join([*(f"c{i}" for i in range(len(columns))), "ts"])] if header else []
        for time in event_times(random, random.choice((0, 1, 5, 20)), (2**63, 10**15)):
            cells = [random.choice((*CELLS[column], "")) for column in columns]
            line = ",".join([*cells, "" if time is None else str(time)])
            lines.append(random.choice((*[line] * 8, "", line + ",more", "\udcff" + line)))
        write_text(random, folder / "s" / f"{file}.csv", lines)
    option = ", header = true" if header else ""
    script = declared(random, columns, "BIGINT", f"FROM csv('s'{option})")
    return bind_script(SourceText("case", script), (folder,))


def jsonl_case(random: random.Random, folder: Path) -> Program:
    values: dict[str, Values] = {
        "INT": (1, -7, 2**40, "x"),
        "STRING": ("a", "Ä", "two\nlines", 5),
        "ARRAY<INT>": ([], [1, None], [2**40]),
        "STRUCT<a: INT, b: STRING>": ({"a": 1}, {"b": "x", "a": None}, 7),
    }
    columns = [random.choice(list(values)) for _ in range(random.randint(0, 3))]
    (folder / "s").mkdir()
    for file in range(random.randint(1, 3)):
        lines = []
        for time in event_times(random, random.choice((0, 1, 5, 20)), (2**63, 10**15)):
            cells = {f"c{i}": random.choice((*values[c], None)) for i, c in enumerate(columns)}
            line = json.dumps(cells | {"ts": time}, ensure_ascii=random.random() < 0.5)
            lines.append(random.choice((*[line] * 8, " ", line[:-1], "[1]", line + "\udcff")))
        write_text(random, folder / "s" / f"{file}.jsonl", lines)
    script = declared(random, columns, "BIGINT", "FROM jsonl('s')")
    return bind_script(SourceText("case", script), (folder,))


def write_text(random: random.Random, path: Path, lines: list[str]) -> None:
    end = random.choice(("\n", "\n", "\r\n", "\r"))
    text = random.choice(("", "\ufeff")) + end.join(lines) + random.choice((end, ""))
    data = text.encode("utf-8", "surrogateescape")
    if random.random() < 0.2:
        path, data = path.with_name(path.name + ".gz"), gzip.compress(data)
    path.write_bytes(data)


def generator_case(random: random.Random, folder: Path) -> Program:
    model, columns = random.choice(
        (
            ("trades", "symbol STRING, volume INT, price DOUBLE NOT NULL"),
            ("readings", "sensor STRING, temperature DOUBLE NOT NULL"),
            ("readings", "temperature DOUBLE, sensor STRING"),
            ("packets", "pid BIGINT, src STRING, dst STRING, size INT"),
            ("numbers", "key BIGINT, a INT, b INT, c INT, d INT"),
            ("network', link = 'B", "pid BIGINT, size INT"),
        )
    )
    options = random.choice(("", ", burst = 20", ", rate_drift = 0.9, drift = 1, drift_every = 20"))
    script = (
        f"CREATE STREAM S ({columns}, ts TIMESTAMP) TIMESTAMP BY ts "
        f"FROM generator('{model}', rows = {random.choice((0, 1, 30, 300))}{options})"
    )
    return bind_script(SourceText("case", script), (folder,))


Make = Callable[[random.Random, Path], Program]
MAKERS: tuple[Make, ...] = (parquet_case, csv_case, jsonl_case, generator_case)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("part", range(4))
def test_slices_are_the_whole(make: Make, part: int, tmp_path: Path) -> None:
    for seed in range(part, SEEDS if make is not generator_case else 40, 4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        program = make(random.Random(seed), folder)
        stream = program.catalog.streams()[0]
        request = program.read_request(stream)
        for size in SIZES:
            for fresh in (True, False):
                slices = all_slices(request, stream, program, size, fresh)
                case = f"slices of {size}, {'fresh readers' if fresh else 'one reader'}"
                compare(program, stream, request, slices, f"seed {seed}, {case}")


@pytest.mark.parametrize("make", [parquet_case, generator_case], ids=lambda make: make.__name__)
@pytest.mark.parametrize("part", range(4))
def test_parts_are_the_whole(make: Make, part: int, tmp_path: Path) -> None:
    for seed in range(part, SEEDS if make is not generator_case else 40, 4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        program = make(random.Random(seed), folder)
        stream = program.catalog.streams()[0]
        request = program.read_request(stream)
        for rows, parts in ((3, 2), (8, 3), (ALL, 5)):
            source = random.Random(seed)
            every = range(len(stream.columns))
            columns = frozenset(source.sample(every, source.randint(0, len(every))))
            slices = all_parts(source, request, stream, program, rows, parts, columns)
            case = f"seed {seed}, {parts} parts of {rows}, columns {columns}"
            compare(program, stream, request, slices, case, columns)


def compare(
    program: Program,
    stream: Stream,
    request: ReadRequest,
    slices: list[Slice],
    case: str,
    columns: frozenset[int] | None = None,
) -> None:
    finest = program.catalog.finest_tick()
    whole = accept(stream, SOURCES[request.connector.name].read(request), finest)
    # As text: NaN is not equal to itself.
    assert list(map(repr, (row for s in slices for row in s.late))) == list(
        map(repr, whole.late)
    ), case
    assert [row for s in slices for row in s.rejects] == whole.rejects, case
    assert slices[-1].cursor.seen == whole.seen, case
    assert slices[-1].cursor.largest == whole.largest, case
    expected = as_delta(whole.arrivals, stream.columns)
    assert [t for s in slices for t in s.rows.start.tolist()] == expected.start.tolist(), case
    position = [p for s in slices for p in numbers(s.rows.position)]
    assert position == numbers(expected.position), case
    for i, column in enumerate(expected.columns):
        got = [v for s in slices for v in s.rows.columns[i].values()]
        if columns is not None and i not in columns:
            assert not got, case
            continue
        assert repr(got) == repr(column.values()), f"{case}, {stream.columns[i]}"
        assert {forms(s.rows.columns[i]) for s in slices} == {forms(column)}, case
    for s in slices:
        assert s.rows.end.tolist() == s.rows.start.tolist(), case
        assert set(s.rows.weight.tolist()) <= {1}, case


def numbers(array: Any) -> list[int]:
    assert array is not None
    return list(array.tolist())


def forms(column: Vector) -> str:
    return f"{column.type}, {column.data.dtype if column.is_fixed else column.data.type}"


def all_slices(
    request: ReadRequest, stream: Stream, program: Program, size: int, fresh: bool
) -> list[Slice]:
    finest = program.catalog.finest_tick()
    reader = StreamReader(request, stream, finest)
    cursor, slices = Cursor(), []
    while not slices or not slices[-1].at_end:
        if fresh:
            reader = StreamReader(request, stream, finest)
            cursor = Cursor.from_json(json.loads(json.dumps(cursor.to_json())))
        slices.append(reader.read(cursor, size))
        assert slices[-1].cursor.seen - cursor.seen <= size
        cursor = slices[-1].cursor
    return slices


def all_parts(
    random: random.Random,
    request: ReadRequest,
    stream: Stream,
    program: Program,
    rows: int,
    parts: int,
    columns: frozenset[int],
) -> list[Slice]:
    """Batch after batch in parts, each read by one of two readers, in any order."""
    finest = program.catalog.finest_tick()
    kind = ParquetSlices if request.connector.name == "parquet" else GeneratorSlices
    readers = [kind(request, stream, finest, columns) for _ in range(2)]
    cursor, slices = Cursor(), list[Slice]()
    while not slices or not slices[-1].at_end:
        cuts = readers[0].cuts(cursor, rows, parts)
        assert 1 <= len(cuts) <= parts
        assert all(size > 0 for size in cuts)
        assert sum(cuts) <= rows + rows // parts // 4 + 1
        batch = dict[int, list[Slice]]()
        for i in random.sample(range(len(cuts)), len(cuts)):
            reader = random.choice(readers)
            start = reader.ahead(cursor, sum(cuts[:i]), random.choice([0, cuts[i]]))
            if random.random() < 0.5:
                batch[i] = [*reader.slices(start, cuts[i])]
            else:
                batch[i] = [reader.read(start, cuts[i])]
        in_order = [part for i in range(len(cuts)) for part in batch[i]]
        slices += in_order
        known = [part.cursor.largest for part in in_order if part.cursor.largest is not None]
        cursor = replace(slices[-1].cursor, largest=max(known, default=None))
        slices[-1] = replace(slices[-1], cursor=cursor)
    return slices


def test_parts_end_between_groups_of_rows(tmp_path: Path) -> None:
    for file in range(3):
        table = pa.table({"ts": pa.array(range(250), pa.int64())})
        pq.write_table(table, tmp_path / f"{file}.parquet", row_group_size=100)
    script = f"CREATE STREAM S (ts BIGINT) TIMESTAMP BY ts FROM parquet('{tmp_path}')"
    program = bind_script(SourceText("case", script), (tmp_path,))
    stream = program.catalog.streams()[0]
    request, finest = program.read_request(stream), program.catalog.finest_tick()
    slices = ParquetSlices(request, stream, finest, frozenset())
    assert slices.cuts(Cursor(), 220, 2) == (100, 100)
    assert slices.cuts(slices.ahead(Cursor(), 200), 220, 2) == (110, 110)
    assert slices.cuts(slices.ahead(Cursor(), 200), 180, 2) == (90, 90)
    assert slices.cuts(slices.ahead(Cursor(), 500), 300, 2) == (100, 151)
    assert slices.ahead(Cursor(), 350).largest == 249


@pytest.mark.parametrize("wrong", [False, True])
def test_texts_that_repeat_are_read_by_dictionary(tmp_path: Path, wrong: bool) -> None:
    """Also where an entry of the dictionary is no text."""
    entries = [b"a", None, "é".encode(), b"\xff" if wrong else b"bb"]
    held = pa.array(entries * 500, pa.binary())
    bits, offsets, content = held.buffers()
    texts = pa.StringArray.from_buffers(len(held), offsets, content, bits, held.null_count)
    table = pa.table({"text": texts, "ts": pa.array(range(len(texts)), pa.int64())})
    pq.write_table(table, tmp_path / "s.parquet", row_group_size=900)
    script = f"""CREATE STREAM S (text STRING, ts BIGINT)
      TIMESTAMP BY ts FROM parquet('{tmp_path}')"""
    program = bind_script(SourceText("case", script), (tmp_path,))
    stream = program.catalog.streams()[0]
    request = program.read_request(stream)
    with ParquetRows(tmp_path / "s.parquet", request) as file:
        _, batch = next(file.batches())
        assert pa.types.is_dictionary(batch.column(0).type)
    slices = all_slices(request, stream, program, 700, fresh=False)
    compare(program, stream, request, slices, "texts")
    got = [text for s in slices for text in s.rows.columns[0].values()]
    assert got == ["a", None, "é", *([] if wrong else ["bb"])] * 500
    assert sum(len(s.rejects) for s in slices) == 500 * wrong


def test_columns_that_nobody_reads_are_not_decoded(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    table = {name: pa.array(range(100), pa.int64()) for name in ("a", "b", "c", "ts")}
    pq.write_table(pa.table(table), path, compression="zstd")
    content = bytearray(path.read_bytes())
    group = pq.ParquetFile(path).metadata.row_group(0)
    for damaged in (0, 2):  # nothing says that c is an INT but its smallest and largest value
        chunk = group.column(damaged)
        start = chunk.dictionary_page_offset
        content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(content)
    script = f"""CREATE STREAM S (a BIGINT, b BIGINT, c INT NOT NULL, ts BIGINT)
      TIMESTAMP BY ts FROM parquet('{path}')"""
    program = bind_script(SourceText("case", script), (tmp_path,))
    stream = program.catalog.streams()[0]
    request, finest = program.read_request(stream), program.catalog.finest_tick()
    reader = StreamReader(request, stream, finest, frozenset((1,)))
    assert reader.read(Cursor(), ALL).rows.columns[1].values() == list(range(100))
    with pytest.raises(QueryError, match="cannot read"):
        StreamReader(request, stream, finest).read(Cursor(), ALL)


def test_the_end_is_only_for_now(tmp_path: Path) -> None:
    for kind, text in (("csv", "1\n2\n"), ("jsonl", '{"ts": 1}\n{"ts": 2}\n')):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "1").write_text(text)
        script = f"CREATE STREAM S (ts BIGINT) TIMESTAMP BY ts FROM {kind}('{kind}')"
        program = bind_script(SourceText("case", script), (tmp_path,))
        stream = program.catalog.streams()[0]
        reader = StreamReader(program.read_request(stream), stream, program.catalog.finest_tick())
        first = reader.read(Cursor(), ALL)
        assert first.at_end
        again = reader.read(first.cursor, ALL)
        assert again.at_end
        assert again.cursor == first.cursor
        (tmp_path / kind / "2").write_text(text)
        more = reader.read(first.cursor, ALL)
        assert len(more.rows) + len(more.late) == 2
        assert more.cursor.seen == 4
        (tmp_path / kind / "0").write_text(text)
        with pytest.raises(QueryError, match="no longer number"):
            reader.read(more.cursor, ALL)
