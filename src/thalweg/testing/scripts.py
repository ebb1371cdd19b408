"""Golden scripts from the command line: `thalweg test PATH…`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from thalweg.errors import QueryError, QueryErrors
from thalweg.testing.engines import ENGINES
from thalweg.testing.golden import run_golden
from thalweg.testing.sections import GoldenError, read_golden


def golden_files(paths: list[Path]) -> list[Path]:
    """The scripts that the paths name, folders searched through."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(path.rglob("*.cqlt"))
        elif path.is_file():
            found.append(path)
        else:
            raise QueryError(f"there is no file {path}")
    if not found:
        raise QueryError("no golden scripts found", hint="they end in .cqlt")
    return found


def test_scripts(console: Console, paths: list[Path], accept: bool) -> bool:
    """Run scripts on every engine; whether all gave what they expect."""
    failed = 0
    files = golden_files(paths)
    for path in files:
        complaints: list[str] = []
        for name, engine in ENGINES.items():
            try:
                verdict = run_golden(read_golden(path), engine)
            except GoldenError as error:
                complaints = [str(error)]
                break
            except (QueryError, QueryErrors) as error:
                complaints = [f"on {name}:", *error.render().split("\n")]
                break
            if accept and name == "reference":
                path.write_text(verdict.text, encoding="utf-8")
            if verdict.complaints and not (accept and name == "reference"):
                complaints = [f"on {name}:", *verdict.complaints]
                break
        failed += bool(complaints)
        mark = Text("failed", "red") if complaints else Text("passed", "green")
        console.print(mark, Text(str(path)))
        for line in complaints:
            console.print(f"  {line}", markup=False)
    console.print(f"{len(files) - failed} passed, {failed} failed")
    return failed == 0


# pytest would take it for a test of its own.
test_scripts.__test__ = False  # type: ignore[attr-defined]
