"""Functions for the tests of a rule pack: they check its fixtures and the examples on its pages.

A fixture is a script, a notebook or a folder of them. A comment such as `# TDX101` at the end of a line means that the rule
reports this line. No rule may report a line without a comment.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor import examples
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_doctor.rule import Rule
    from torch_doctor.scan import Report

MARK = re.compile(r"#\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*)\s*$")
_SUFFIXES = (".py", ".ipynb")
_UNREADABLE = "TDR000"


def wrong_in(fixture: Path, rules: Iterable[type[Rule]]) -> list[str]:
    """Return what the rules get wrong in a fixture, a line each: missed marks, findings without a mark, and errors.

    The scan uses a copy of the fixture in an empty folder, and also reports files that are not valid.
    """
    asked = _made(rules)
    with _alone() as folder:
        copy = folder / fixture.name
        if fixture.is_dir():
            shutil.copytree(fixture, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(fixture, copy)
        report = scan(Options(paths=(copy,), rules=asked))
        codes = {rule.code for rule in asked}
        marked = {place for place in _marks(copy) if place[3] in codes}
    found = {(each.site.path, each.site.cell or 0, each.site.row, each.code): each.message for each in report.findings}
    return [
        *(f"error: {error}" for error in report.errors),
        *(f"missed: {_shown(place)}" for place in sorted(marked - found.keys())),
        *(f"false alarm: {_shown(place)} {found[place]}" for place in sorted(found.keys() - marked)),
    ]


def wrong_on_page(code: str, rules: Iterable[type[Rule]]) -> list[str]:
    """Return what is wrong with the two scripts on the page of the rule with this code, a line each.

    The complete script of "Example" must have findings of this rule and of no other, that of "Use instead" no findings.

    Raises:
        ValueError: no rule has this code.
    """
    asked = _made(rules)
    rule = next((each for each in asked if each.code == code), None)
    if rule is None:
        message = f"no rule has the code {code}"
        raise ValueError(message)
    wrong = []
    for heading, script, wanted in (
        (examples.EXAMPLE, examples.example, {code}),
        (examples.INSTEAD, examples.instead, set[str]()),
    ):
        try:
            found = {finding.code for finding in _of_text(script(rule.page()), asked).findings}
        except ValueError as error:
            wrong.append(f"{code}: {error}")
            continue
        if found != wanted:
            wrong.append(
                f"{code}: the script of `## {heading}` has findings of {', '.join(sorted(found)) or 'no rule'}"
            )
    return wrong


def _made(rules: Iterable[type[Rule]]) -> tuple[Rule, ...]:
    """Return instances of the rules, and of the rule that reports files that are not valid."""
    return (*(rule() for rule in rules), *(rule for rule in all_rules() if rule.code == _UNREADABLE))


def _of_text(text: str, rules: tuple[Rule, ...]) -> Report:
    with _alone() as folder:
        path = folder / "train.py"
        path.write_text(text, encoding="utf-8")
        return scan(Options(paths=(path,), rules=rules))


@contextmanager
def _alone() -> Iterator[Path]:
    """Change to an empty folder, and back."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            yield Path(folder).resolve()
        finally:
            os.chdir(before)


def _marks(fixture: Path) -> Iterator[tuple[str, int, int, str]]:
    """Yield the file, the cell (0 for a script), the line and the code of each mark."""
    paths = sorted(path for path in fixture.rglob("*") if path.suffix in _SUFFIXES) if fixture.is_dir() else [fixture]
    for path in paths:
        name = path.relative_to(fixture.parent).as_posix()
        for cell, text in _cells(path):
            for row, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
                if mark := MARK.search(line):
                    yield from ((name, cell, row, code) for code in re.findall(r"[A-Z]+[0-9]+", mark["codes"]))


def _cells(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix != ".ipynb":
        yield 0, text
        return
    for number, cell in enumerate(json.loads(text)["cells"], start=1):
        yield number, "".join(cell["source"])


def _shown(place: tuple[str, int, int, str]) -> str:
    name, cell, row, code = place
    return f"{name}:{f'cell {cell}:' * bool(cell)}{row} {code}"
