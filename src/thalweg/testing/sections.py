"""The text of a golden script, cut into sections.

A section starts with its word at the beginning of a line. A line with a bar is a
row of the section above, whatever its first word is, and `script`, `failures` and
`error` are headings only where they stand alone. Lines that start with # are
comments in every section; in a feed, lines that start with ! are for engines that
can stop, crash or idle a source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

# Each word, and what must follow it.
_ARGUMENTS = {
    "stream": "a declaration",
    "table": "a declaration",
    "view": "a name",
    "query": "a name",
    "feed": "a stream",
    "output": "a query",
    "plan": "a query",
    "late": "a stream",
    "rejects": "a stream",
}
_BARE = ("script", "failures", "error")
EXPECTATIONS = ("output", "plan", "late", "rejects", "failures", "error")
WHOLE_STAGES = ("global", "job")
_STAGES = ("bound", "logical", *WHOLE_STAGES)

_OPENING = re.compile(
    rf"(?:({'|'.join(_ARGUMENTS)})(?:[ \t]+([^|]*))?|({'|'.join(_BARE)})[ \t]*)\Z"
)
_COMMAND = re.compile(r"[ \t]*![ \t]*[a-z]+([ \t]+[^|]*)?\Z")


class GoldenError(Exception):
    """The script itself is malformed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a script and its number, counted from 1."""

    number: int
    text: str


@dataclass
class Section:
    """A heading and the lines below it; `number` is the line of the heading."""

    word: str
    argument: str
    heading: str
    number: int
    lines: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Line]:
        """The lines that hold something: neither empty nor comments nor commands."""
        skipped = ("#", "!") if self.word == "feed" else ("#",)
        return [
            Line(number, line)
            for number, line in enumerate(self.lines, self.number + 1)
            if line.strip() and not line.lstrip().startswith(skipped)
        ]

    @property
    def body(self) -> str:
        """The lines as one text; comments are empty lines, so that the others keep their place."""
        lines = ["" if line.startswith("#") else line for line in self.lines]
        return "\n".join(lines).strip("\n")

    @property
    def expected(self) -> list[str]:
        """The lines that must come out, exactly: all but comments."""
        lines = [line for line in self.lines if not line.startswith("#")]
        text = "\n".join(lines).strip("\n")
        return text.split("\n") if text else []


@dataclass
class GoldenScript:
    """A parsed script: what comes before the first section, and the sections."""

    name: str
    preamble: list[str]
    sections: list[Section]
    folder: Path

    def of(self, word: str) -> list[Section]:
        return [section for section in self.sections if section.word == word]

    def expectations(self) -> list[Section]:
        return [section for section in self.sections if section.word in EXPECTATIONS]

    def wrong(self, number: int, message: str) -> GoldenError:
        """What is wrong with a line."""
        return GoldenError(f"{self.name}:{number}: {message}")


def parse_golden(text: str, name: str = "script", folder: Path | None = None) -> GoldenScript:
    script = GoldenScript(name, [], [], folder or Path.cwd())
    # Not splitlines(), which also breaks at characters that a quoted text may hold.
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        opening = _OPENING.match(line)
        if opening:
            word = opening[1] or opening[3]
            section = Section(word, (opening[2] or "").strip(), line, number)
            _check_heading(section, script)
            script.sections.append(section)
        elif script.sections:
            script.sections[-1].lines.append(line)
            _check_line(script.sections[-1], line, number, script)
        elif line.strip() and not line.startswith("#"):
            raise script.wrong(number, f"a section is needed before {line!r}")
        else:
            script.preamble.append(line)
    if not script.sections:
        raise GoldenError(f"{name}: no section found")
    return script


def read_golden(path: Path) -> GoldenScript:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise GoldenError(f"{path.name}:{line}: not text in UTF-8") from None
    except OSError as error:
        raise GoldenError(f"{path.name}: cannot be read: {error.strerror}") from None
    return parse_golden(text, path.name, path.parent)


def _check_heading(section: Section, script: GoldenScript) -> None:
    word = section.word
    if word in _ARGUMENTS and not section.argument:
        raise script.wrong(section.number, f"{word} needs {_ARGUMENTS[word]}")


def _check_line(section: Section, line: str, number: int, script: GoldenScript) -> None:
    if section.word == "feed" and line.lstrip().startswith("!") and not _COMMAND.match(line):
        raise script.wrong(
            number, f"{line!r} is no command to the source: write ! and a word, or quote the text"
        )


def plan_section(section: Section) -> tuple[str, str]:
    """The query and the stage that a plan section names; a name may hold spaces."""
    name, _, stage = section.argument.rpartition(" ")
    return (name.rstrip(), stage) if stage in _STAGES and name else (section.argument, "logical")
