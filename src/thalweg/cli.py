"""The command `thalweg`."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from thalweg.catalog import Entry, Query
from thalweg.closing import counted, print_report, print_standing
from thalweg.cql.script import read_script
from thalweg.errors import QueryError, QueryErrors, did_you_mean
from thalweg.explain import explain_json, explain_text
from thalweg.explain_analyze import analyzed_text, explain_analyze
from thalweg.explain_job import explain_global, explain_job, text_of
from thalweg.interrupts import Interrupted, Interrupts
from thalweg.job.checkpoint import known_work
from thalweg.job.failures import JobFailed
from thalweg.outlet.decided import kept_decisions
from thalweg.outlet.learning import kept_lessons
from thalweg.program import Program, bind_script
from thalweg.run import run_on_reference
from thalweg.testing.scripts import test_scripts

app = typer.Typer(
    help="Continuous queries over streams, in CQL.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_errors = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
_out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


class Stage(StrEnum):
    bound = "bound"
    logical = "logical"
    whole = "global"
    job = "job"


class Format(StrEnum):
    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"


class EngineName(StrEnum):
    reference = "reference"
    spark = "spark"


Script = Annotated[Path, typer.Argument(metavar="FILE", help="A CQL script.")]


def load(path: Path) -> Program:
    """A script, bound; relative file names are looked up beside it, then here."""
    return bind_script(read_script(path), (path.resolve().parent, Path.cwd()))


@app.command()
def check(file: Script) -> None:
    """Find the mistakes in a script without running it."""
    program = load(file)
    kinds: dict[str, Sequence[Entry]] = {
        "stream": program.catalog.streams(),
        "table": program.catalog.tables(),
        "query": program.catalog.queries(),
        "sink": program.catalog.sinks(),
    }
    parts = [counted(len(entries), kind) for kind, entries in kinds.items() if entries]
    _out.print(f"{file.name}: no mistakes in {', '.join(parts) or 'an empty script'}.")


@app.command()
def explain(
    file: Script,
    query: Annotated[
        str | None, typer.Option("--query", help="Only this query; all if not given.")
    ] = None,
    stage: Annotated[
        Stage,
        typer.Option(
            help="Plans as bound, or after the rewrites; the one plan of all, or its job."
        ),
    ] = Stage.logical,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    analyze: Annotated[
        bool,
        typer.Option(
            "--analyze", help="The job with its rows and times, measured by running the script."
        ),
    ] = False,
    seconds: Annotated[
        float, typer.Option(min=0, help="How long --analyze runs a script that does not end.")
    ] = 10.0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="With --analyze: as a run was measured there, going on or stopped."
        ),
    ] = None,
) -> None:
    """Show the plans of a script's queries."""
    program = load(file)
    only = program.query(query) if query else None
    if analyze:
        _explain_analyze(program, only, as_json, seconds, checkpoint)
        return
    if checkpoint is not None:
        raise QueryError("--checkpoint goes with --analyze", hint="add --analyze")
    if stage in (Stage.whole, Stage.job):
        document = (
            explain_job(program, only) if stage is Stage.job else explain_global(program, only)
        )
        print(json.dumps(document, indent=2) if as_json else text_of(document))
        return
    queries = [only] if only else program.catalog.queries()
    if as_json:
        print(json.dumps([explain_json(q, stage.value) for q in queries], indent=2))
        return
    _out.print("\n\n".join(explain_text(q, stage.value) for q in queries))


def _explain_analyze(
    program: Program, only: Query | None, as_json: bool, seconds: float, checkpoint: Path | None
) -> None:
    # Here, because it loads Spark: the other commands answer at once.
    from thalweg.job.analyze import analyze_kept, analyze_run

    if not program.catalog.queries():
        raise QueryError("there is no query to run", hint="add CREATE QUERY name AS …")
    if checkpoint is not None:
        found = analyze_kept(program, checkpoint)
    else:
        with _errors.status("…") as status:
            found = analyze_run(program, seconds, lambda text: status.update(Text(text)))
    document = explain_analyze(program, found.account, found.decisions, found.shards, only)
    print(json.dumps(document, indent=2) if as_json else analyzed_text(document))


@app.command()
def run(
    file: Script,
    engine: Annotated[
        EngineName, typer.Option(help="What computes the answers; reference is slow and simple.")
    ] = EngineName.spark,
    drain: Annotated[
        bool,
        typer.Option("--drain", help="Read what is there, let time run to its end, and stop."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Write one file per query here, instead of the terminal."
        ),
    ] = None,
    file_format: Annotated[
        Format, typer.Option("--format", help="The format of these files.")
    ] = Format.jsonl,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep the run here; go on where an earlier run of the script was."
        ),
    ] = None,
    batch_rows: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Read so many rows at a time.")
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Spread the work so; a checkpoint keeps to it."),
    ] = None,
    master: Annotated[
        str, typer.Option("--master", help="Where Spark runs: local[*], local[2], spark://…")
    ] = "local[*]",
) -> None:
    """Run a script's queries."""
    program = load(file)
    for request in program.explains:
        _out.print(explain_text(request.query, request.stage or "logical"))
    if not program.catalog.queries():
        if not program.explains:
            raise QueryError(f"{file.name} has no query to run", hint="add CREATE QUERY name AS …")
        return
    if engine is EngineName.reference:
        _refuse_with_reference(checkpoint=checkpoint, batch_rows=batch_rows, shards=shards)
        with _errors.status("…") as status:
            report = run_on_reference(
                program, out, file_format.value, lambda text: status.update(Text(text))
            )
        print_report(_errors, report, program.catalog.queries())
        return
    # Here, because it loads Spark: the other commands answer at once.
    from thalweg.job.attended import run_attended

    with Interrupts() as interrupts:
        try:
            report = run_attended(
                program,
                out,
                file_format.value,
                _errors,
                interrupts,
                master=master,
                checkpoint=checkpoint,
                rows_per_batch=batch_rows,
                shards=shards,
            )
        except BrokenPipeError:
            raise Interrupted(signal.SIGPIPE) from None
    print_report(_errors, report, program.catalog.queries())
    if not report.finished:
        print_standing(_errors, report, program.catalog.queries()[0], checkpoint)
    if interrupts.code is not None:
        raise typer.Exit(interrupts.code)


def _refuse_with_reference(**options: object) -> None:
    for name, value in options.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise QueryError(f"{option} goes with the engine on Spark", hint="leave it out")


@app.command()
def decisions(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="DIR", help="The checkpoint of a run, going on or stopped.")
    ],
    query: Annotated[
        str | None, typer.Option("--query", help="Only what is for this query; all if not given.")
    ] = None,
    worth: Annotated[
        bool,
        typer.Option("--worth", help="Instead, what the best single plans would have cost."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List what a run has decided to do in another way, and what came of it."""
    names = [placed.name for placed in known_work(checkpoint).placement.queries]
    if query is not None and query not in names:
        raise QueryError(
            f'there is no query "{query}" in {checkpoint}',
            detail=f"There is: {', '.join(names)}.",
            hint=did_you_mean(query, names),
        )
    if worth:
        lessons = [
            lesson
            for lesson in kept_lessons(checkpoint).values()
            if query is None or query in lesson.queries
        ]
        if as_json:
            print(json.dumps([lesson.told() for lesson in lessons], indent=2))
            return
        for lesson in lessons:
            print(lesson)
        return
    made = [
        (batch, decision)
        for batch, decision in kept_decisions(checkpoint)
        if query is None or query in decision.queries
    ]
    if as_json:
        print(json.dumps([{"batch": b, **asdict(decision)} for b, decision in made], indent=2))
        return
    for batch, decision in made:
        print(f"batch {batch}: {decision}")


@app.command()
def demo(
    seconds: Annotated[
        float, typer.Option(min=0, help="How long to play from the first answer on.")
    ] = 30.0,
) -> None:
    """Run a few queries over made-up streams that drift, and show their answers as they change."""
    # Here, because it loads Spark: the other commands answer at once.
    from thalweg.demo.show import run_demo

    with Interrupts() as interrupts:
        run_demo(_out, seconds, interrupts)
    if interrupts.code is not None:
        raise typer.Exit(interrupts.code)


class BenchName(StrEnum):
    join3 = "join3"
    agg = "agg"
    filter = "filter"
    filters = "filters"
    joins = "joins"
    caching = "caching"
    adapt_overhead = "adapt-overhead"
    scale = "scale"
    state = "state"


@app.command()
def bench(
    name: Annotated[BenchName, typer.Argument(metavar="NAME", help="The benchmark.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object as the last line.")
    ] = False,
    rows: Annotated[
        int | None, typer.Option(min=100_000, help="Rows to feed; each has a number of its own.")
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="How often each system runs; by default 3 to 7 times."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few rows and one round: does it run, is it right?")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Where the made-up streams are kept."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="DIR", help="Draw charts into this folder, as SVG."),
    ] = None,
) -> None:
    """Measure the engine against Spark's own streaming, and against bare kernels."""
    # Here, because it loads Spark: the other commands answer at once.
    from thalweg.bench.compare import Options
    from thalweg.bench.plot import write_charts
    from thalweg.bench.suite import run_bench

    cache = data or Path(tempfile.gettempdir()) / "thalweg-bench"
    with _errors.status("…") as status:
        options = Options(
            rows,
            repeats,
            quick,
            cache,
            lambda text: status.update(Text(text)),
            charts=plot is not None,
        )
        findings = run_bench(name.value, options)
    _out.print(findings.text())
    for path in write_charts(findings.charts, plot) if plot is not None else ():
        _errors.print(f"drawn: {path}")
    if as_json:
        print(json.dumps(findings.to_json()))
    if not findings.answers_equal:
        raise typer.Exit(1)


@app.command(name="test")
def run_golden_scripts(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help="Golden scripts, or folders of them.")
    ],
    accept: Annotated[
        bool, typer.Option("--accept", help="Rewrite what the scripts expect with what happened.")
    ] = False,
) -> None:
    """Run golden scripts (.cqlt): queries with their feeds and expected answers."""
    if not test_scripts(_out, paths, accept):
        raise typer.Exit(1)


@app.command(name="version")
def show_version() -> None:
    """Print the version."""
    _out.print(f"thalweg {version('thalweg')}")


# A level of parentheses costs the parser some twenty calls; Python's limit of 1,000
# would allow 50. Ten times as many are far from the end of the stack.
_RECURSION_LIMIT = 10_000


def main() -> None:
    """Entry point: a user's mistake ends in a message, never in a traceback."""
    sys.setrecursionlimit(_RECURSION_LIMIT)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            app(prog_name="thalweg")
        finally:
            sys.stdout.flush()
    except (QueryError, QueryErrors) as error:
        _errors.print(_coloured(error.render()))
        sys.exit(1)
    except RecursionError:
        _errors.print(_coloured(QueryError("a query is nested too deeply").render()))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except Interrupted as interrupted:
        sys.exit(interrupted.code)
    except BrokenPipeError:
        # The reader of our output has gone; nothing is left to say to it.
        _drop_output()
        sys.exit(141)
    except OSError as error:
        _drop_output()
        _errors.print(_coloured(QueryError(_told_by_system(error)).render()))
        sys.exit(1)
    except JobFailed as failure:
        _errors.print(f"internal error: {failure}", style="red")
        if failure.log is not None:
            _errors.print(f"  Spark's log says more: {failure.log}")
        sys.exit(70)
    except Exception as error:
        if os.environ.get("THALWEG_TRACEBACK"):
            raise
        _errors.print(f"internal error: {type(error).__name__}: {error}", style="red")
        _errors.print("  This is a bug in Thalweg. THALWEG_TRACEBACK=1 shows where it happened.")
        sys.exit(70)


def _drop_output() -> None:
    """What is still in the buffer would fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _told_by_system(error: OSError) -> str:
    where = error.filename or "the output"
    return f"cannot use {where}: {error.strerror or error}"


def _coloured(text: str) -> Text:
    coloured = Text(text)
    coloured.highlight_regex(r"(?m)^error:", "bold red")
    coloured.highlight_regex(r"(?m)^  hint:", "cyan")
    return coloured


if __name__ == "__main__":
    main()
