"""Folders talk through plain data: which folder may import which.

A folder is listed with everything of ours that it may import beside itself and
`errors`, `types`, `values` and `units`, which everyone may.
"""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "thalweg"
EVERYONE = {"errors", "types", "values", "units"}
LANGUAGE = {"catalog", "coercion", "cql", "functions", "plan", "settings"}
RUNNING = {"answers", "evaluate", "intake", "python_values"}
ALLOWED = {
    "errors": set(),
    "types": set(),
    "values": set(),
    "units": set(),
    "coercion": set(),
    "settings": {"adapt", "functions"},
    "functions": {"coercion", "cql", "plan"},
    "cql": set(),
    "catalog": {"plan", "settings"},
    "plan": LANGUAGE,
    "optimize": {"catalog", "evaluate", "operators", "plan"},
    "explain": {"catalog", "optimize", "plan"},
    "explain_job": {
        "assembly",
        "catalog",
        "dataflow",
        "explain",
        "operators",
        "optimize",
        "outputs",
        "plan",
    }
    | {"program", "sinks", "work"},
    "explain_analyze": {"adapt", "catalog", "explain_job", "outlet", "program", "progress"},
    "vectorized": set(),
    "evaluate": {"functions", "plan", "python_values", "vector", "vectorized"},
    "python_values": {"functions"},
    "answers": {"plan"},
    "bags": {"plan"},
    "connectors": {"catalog", "cql"},
    "sources": {"catalog", "coercion", "connectors", "functions"},
    "intake": {
        "adapt",
        "catalog",
        "clock",
        "dataflow",
        "functions",
        "kernels",
        "operators",
        "plan",
        "python_values",
        "segments",
    }
    | {"sources", "vector"},
    "group_value": {"evaluate", "functions", "plan", "python_values", "vector", "vectorized"},
    "reference": {"answers", "bags", "evaluate", "functions", "group_value", "intake", "plan"},
    "adapt": set(),
    "vector": {"adapt", "evaluate", "functions", "kernels", "plan", "python_values", "vectorized"},
    "kernels": set(),
    "operators": {"adapt", "answers", "bags", "evaluate", "functions", "kernels", "plan"}
    | {"reference", "vector"},
    "assembly": {"adapt", "evaluate", "group_value", "operators", "plan", "vector"},
    "dataflow": {"adapt", "assembly", "evaluate", "operators", "plan", "vector"},
    "segments": {"operators", "vector"},
    "record_segments": {"operators", "vector"},
    "clock": set(),
    "control": {"adapt", "record_segments", "segments"},
    "work": {"adapt", "catalog", "dataflow", "intake", "plan", "program", "sources", "vector"},
    "shard": {
        "adapt",
        "assembly",
        "clock",
        "control",
        "dataflow",
        "intake",
        "operators",
        "plan",
        "record_segments",
    }
    | {"segments", "sinks", "work"},
    "outlet": {"adapt", "answers", "catalog", "clock", "control", "dataflow", "intake", "operators"}
    | {"record_segments"}
    | {"segments", "shard", "sources", "work"}
    | {"bags", "plan", "python_values", "sinks"},
    "local": {
        "answers",
        "assembly",
        "catalog",
        "dataflow",
        "evaluate",
        "intake",
        "operators",
        "plan",
    }
    | {"reference", "vector"},
    "sinks": {"answers", "catalog", "connectors", "functions", "operators", "vector"},
    "program": LANGUAGE | {"connectors", "evaluate", "sources", "sinks", "vectorized"},
    "outputs": {"catalog", "connectors", "program", "sinks", "sources"},
    "deliver": {"answers", "catalog", "outputs", "sinks"},
    "report": {"catalog", "outputs", "sinks", "sources"},
    "run": {"answers", "catalog", "deliver", "evaluate", "intake", "outputs", "program"}
    | {"reference", "report", "sources"},
    "job": {
        "adapt",
        "answers",
        "interrupts",
        "operators",
        "progress",
        "catalog",
        "clock",
        "control",
        "cql",
        "dataflow",
        "deliver",
        "explain",
        "explain_job",
        "intake",
        "optimize",
        "outlet",
    }
    | {
        "outputs",
        "plan",
        "program",
        "record_segments",
        "report",
        "run",
        "segments",
        "shard",
        "sinks",
        "sources",
        "work",
    },
    "demo": {"answers", "bags", "catalog", "functions", "interrupts", "job", "operators", "outlet"}
    | {"plan", "program", "progress", "sinks"},
    "testing": LANGUAGE
    | RUNNING
    | {
        "control",
        "explain",
        "explain_job",
        "local",
        "optimize",
        "outlet",
        "program",
        "reference",
        "segments",
    }
    | {"shard", "sinks", "sources", "vector", "work"},
    "closing": {"catalog", "report", "sinks"},
    "interrupts": set(),
    "progress": {"catalog", "job", "program", "sinks"},
    "bench": {
        "adapt",
        "assembly",
        "cql",
        "dataflow",
        "evaluate",
        "job",
        "kernels",
        "operators",
        "optimize",
        "plan",
        "program",
    }
    | {"vector"},
    "cli": {
        "bench",
        "catalog",
        "closing",
        "cql",
        "demo",
        "explain",
        "explain_analyze",
        "explain_job",
        "interrupts",
        "job",
        "outlet",
        "program",
    }
    | {"run", "testing"},
}


def imports(path: Path) -> set[str]:
    """The parts of Thalweg that a file imports, outside of TYPE_CHECKING."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    names = [
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in skipped
    ]
    return {name.split(".")[1] for name in names if name.startswith("thalweg.")}


def test_folders_import_only_what_they_may() -> None:
    wrong = []
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        surplus = imports(path) - ALLOWED[part] - EVERYONE - {part}
        wrong += [f"{path.relative_to(SOURCE)} imports {name}" for name in sorted(surplus)]
    assert not wrong, "\n".join(wrong)


def test_only_the_job_and_benchmarks_know_spark() -> None:
    knowing = {"job", "bench"}
    guilty = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if "pyspark" in path.read_text() and path.relative_to(SOURCE).parts[0] not in knowing
    ]
    assert not guilty
