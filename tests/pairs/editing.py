"""Right scripts whose lines have names, and the edits that put a bug into them.

The names stand in a comment at the end of a line, behind `#:`. Edits speak of lines by their names alone, so that one bug
goes into scripts of any form.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

SCRIPTS = Path(__file__).with_name("scripts")
NAMES = re.compile(r"  #: (?P<names>[\w -]+)$")


class CannotBeEditedError(Exception):
    """The script has no such line, or the line no such text: another edit took it away."""


class Place(NamedTuple):
    """Where a line stands: the file, the cell of a notebook (0: none), and the row."""

    file: str
    cell: int
    row: int


@dataclass(frozen=True)
class Line:
    """A line of a script: its file and cell, its code, and its names."""

    file: str
    cell: int
    code: str
    names: frozenset[str]

    @property
    def indent(self) -> str:
        return self.code[: len(self.code) - len(self.code.lstrip())]


@dataclass(frozen=True)
class Script:
    """The lines of a script, of all its files and cells."""

    lines: tuple[Line, ...]

    def index(self, name: str) -> int:
        """Where the line of this name is among the lines.

        Raises:
            CannotBeEditedError: there is none.
        """
        for index, line in enumerate(self.lines):
            if name in line.names:
                return index
        message = f"there is no line called {name}"
        raise CannotBeEditedError(message)

    def place(self, name: str) -> Place:
        """Where the line of this name stands."""
        index = self.index(name)
        line = self.lines[index]
        before = sum((each.file, each.cell) == (line.file, line.cell) for each in self.lines[:index])
        return Place(line.file, line.cell, before + 1)

    def with_lines(self, start: int, end: int, *lines: Line) -> Script:
        """The script with other lines in the place of these."""
        return Script((*self.lines[:start], *lines, *self.lines[end:]))

    def files(self) -> dict[str, str]:
        """What its files contain."""
        units: dict[str, dict[int, list[str]]] = {}
        for line in self.lines:
            units.setdefault(line.file, {}).setdefault(line.cell, []).append(line.code)
        return {
            file: _notebook(cells) if file.endswith(".ipynb") else "\n".join(cells[0]) + "\n"
            for file, cells in units.items()
        }


class Edit(Protocol):
    """A change of a script that is told by the names of its lines."""

    def __call__(self, script: Script) -> Script:
        """The script after the change.

        Raises:
            CannotBeEditedError: it is not as the edit needs it.
        """


def swap(name: str, old: str, new: str) -> Edit:
    """Another text in a line; `old` is a pattern, and has to match once."""

    def edit(script: Script) -> Script:
        index = script.index(name)
        line = script.lines[index]
        code, count = re.subn(old, new, line.code)
        if count != 1:
            message = f"{line.code.strip()!r} has {old!r} {count} times"
            raise CannotBeEditedError(message)
        return script.with_lines(index, index + 1, replace(line, code=code))

    return edit


def drop(name: str) -> Edit:
    """A line less."""

    def edit(script: Script) -> Script:
        index = script.index(name)
        return script.with_lines(index, index + 1)

    return edit


def add(code: str, *, name: str = "", after: str = "", before: str = "") -> Edit:
    """A line more, beside another and as far to the right as that."""

    def edit(script: Script) -> Script:
        index = script.index(after or before)
        beside = script.lines[index]
        line = replace(beside, code=beside.indent + code, names=frozenset({name}))
        return script.with_lines(index, index + 1, *((beside, line) if after else (line, beside)))

    return edit


def move(name: str, *, after: str = "", before: str = "") -> Edit:
    """A line in another place."""

    def edit(script: Script) -> Script:
        index = script.index(name)
        line = script.lines[index]
        rest = script.with_lines(index, index + 1)
        place = rest.index(after or before)
        beside = rest.lines[place]
        moved = replace(beside, code=beside.indent + line.code.lstrip(), names=line.names)
        return rest.with_lines(place, place + 1, *((beside, moved) if after else (moved, beside)))

    return edit


def unwrap(name: str) -> Edit:
    """A decorator less, or a `with` whose block is left as it is."""

    def edit(script: Script) -> Script:
        index = script.index(name)
        head = script.lines[index]
        end = index + 1
        while end < len(script.lines) and len(script.lines[end].indent) > len(head.indent):
            end += 1
        block = script.lines[index + 1 : end]
        return script.with_lines(index, end, *(replace(line, code=line.code[4:]) for line in block))

    return edit


@cache
def scripts() -> dict[str, Script]:
    """The right scripts, by name."""
    return {path.stem: _read(path) for path in sorted(SCRIPTS.iterdir()) if path.name != "__pycache__"}


def _read(path: Path) -> Script:
    if path.is_dir():
        parts = [_python(file) for file in sorted(path.glob("*.py"))]
        return Script(tuple(line for part in parts for line in part.lines))
    return _cells(path) if path.suffix == ".ipynb" else _python(path)


def _python(path: Path) -> Script:
    return Script(tuple(_line(path.name, 0, text) for text in path.read_text(encoding="utf-8").splitlines()))


def _cells(path: Path) -> Script:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return Script(
        tuple(
            _line(path.name, number, text.rstrip("\n"))
            for number, cell in enumerate(cells, start=1)
            for text in cell["source"]
            if cell["cell_type"] == "code"
        )
    )


def _line(file: str, cell: int, text: str) -> Line:
    found = NAMES.search(text)
    names = frozenset(found["names"].split()) if found else frozenset()
    return Line(file, cell, NAMES.sub("", text), names)


def _notebook(cells: dict[int, list[str]]) -> str:
    """The cells of a notebook; those that have no code are empty."""
    made: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": "\n".join(cells.get(number, [])),
        }
        for number in range(1, max(cells) + 1)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
