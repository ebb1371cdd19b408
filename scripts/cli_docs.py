"""Write docs/cli.md: what `thalweg COMMAND --help` prints. A test fails when it is stale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
COMMANDS = ("check", "explain", "run", "decisions", "test", "demo", "bench", "version")


def main() -> None:
    parts = ["# The command line\n\nWritten by `scripts/cli_docs.py`.\n"]
    for arguments in ([], *([command] for command in COMMANDS)):
        line = ["thalweg", *arguments, "--help"]
        shown = subprocess.run(
            [sys.executable, "-m", "thalweg.cli", *line[1:]],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        ).stdout
        text = "\n".join(row.rstrip() for row in shown.strip().splitlines())
        parts.append(f"```console\n$ {' '.join(line)}\n{text}\n```\n")
    PAGE.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
