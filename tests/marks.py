"""The fixtures, and what their marks say: which rule speaks at which line, and what the probe says of it.

A mark is a comment at the end of the reported line:

- `# TDR101`: reported there; where a run can show it, the probe confirms it, and a rule of the probe alone reports it only
  when the script is run.
- `# probe TDR101`: only a run shows it, although the rule reads the source too.
- `# refuted TDR101` (and `not-reached`, `undecided`): reported there, and this is what the probe says of it.
- `# gpu TDR101`: as without a word before it, on a machine with a GPU; elsewhere nothing is said of it.
- `# TDR101 with --amp`: reported there, with this condition; may have a word before it, too.
- `# todo TDR101`: known to be missed. `# todo-ok TDR101`: right, and known to be reported all the same; the probe does not
  confirm it.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torch_doctor.rule import Level, all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.rule import Rule

FIXTURES = Path(__file__).parents[1] / "fixtures"
KINDS = ("todo-ok", "todo", "probe", "gpu", "refuted", "not-reached", "undecided")
MARK = re.compile(
    rf"#\s*(?:(?P<kind>{'|'.join(KINDS)})\s+)?(?P<codes>TDR\d{{3}}(?:[\s,]+TDR\d{{3}})*)"
    r"(?:\s+(?P<condition>(?:with|without|when)\s.*\S))?\s*$"
)
SUFFIXES = (".py", ".ipynb")
ASKED_FOR = {"rivals": ("TDR815",)}
"""Advice that a folder asks for which has no code for its name."""


def rules_for(folder: str) -> tuple[Rule, ...]:
    """The rules that are on by default, and the one that the folder is called after, which may be advice."""
    asked = ASKED_FOR.get(folder, (folder,))
    return tuple(rule for rule in all_rules() if rule.level is not Level.ADVICE or rule.code in asked)


class Place(NamedTuple):
    """Where a mark stands, or a finding."""

    file: str
    cell: int
    row: int
    code: str

    def __str__(self) -> str:
        cell = f"cell {self.cell}:" if self.cell else ""
        return f"{self.file}:{cell}{self.row} {self.code}"


def fixtures() -> list[Path]:
    """Every fixture: a script, a notebook, or a folder of files that belong together."""
    groups = [folder for folder in sorted(FIXTURES.iterdir()) if folder.is_dir()]
    entries = [entry for group in groups for entry in sorted(group.iterdir())]
    return [entry for entry in entries if entry.is_dir() or entry.suffix in SUFFIXES]


def name_of(fixture: Path) -> str:
    """What a test about it is called."""
    return fixture.relative_to(FIXTURES).as_posix()


def files_of(fixture: Path) -> list[Path]:
    if fixture.is_file():
        return [fixture]
    return sorted(path for path in fixture.rglob("*") if path.suffix in SUFFIXES)


def scripts_of(fixture: Path) -> list[Path]:
    """The files that somebody would run: those that no other file of the fixture imports."""
    files = files_of(fixture)
    if len(files) == 1:
        return files
    imported = {name for path in files for name in _imports(path)}
    alone = [path for path in files if path.stem not in imported and path.stem != "__init__"]
    return alone or files


def _imports(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.rpartition(".")[2] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").rpartition(".")[2]
            yield from (alias.name for alias in node.names)


def marks(fixture: Path) -> Iterator[tuple[str, Place]]:
    """The kind of each mark (plain: "") with its place."""
    for path in files_of(fixture):
        name = path.relative_to(fixture.parent).as_posix()
        for cell, row, line in lines_of(path):
            if found := MARK.search(line):
                for code in re.findall(r"TDR\d{3}", found["codes"]):
                    yield found["kind"] or "", Place(name, cell, row, code)


def conditions(fixture: Path) -> dict[Place, str]:
    """The condition of each mark that has one."""
    return {
        Place(path.relative_to(fixture.parent).as_posix(), cell, row, code): found["condition"]
        for path in files_of(fixture)
        for cell, row, line in lines_of(path)
        if (found := MARK.search(line)) and found["condition"]
        for code in re.findall(r"TDR\d{3}", found["codes"])
    }


def lines_of(path: Path) -> Iterator[tuple[int, int, str]]:
    """Cell (0 in a script), row and text of every line, also of files that are not valid."""
    text = path.read_bytes().decode("latin-1")
    if path.suffix != ".ipynb":
        for row, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
            yield 0, row, line
        return
    try:
        cells = json.loads(text)["cells"]
    except (ValueError, KeyError):
        return
    for number, cell in enumerate(cells, start=1):
        for row, line in enumerate("".join(cell["source"]).split("\n"), start=1):
            yield number, row, line
