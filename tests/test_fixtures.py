"""Every fixture through the real scan: what is marked is reported, and nothing else.

`# TDR101` at the end of a line: reported there. `# todo TDR101`: known to be missed. `# todo-ok TDR101`: right, and
known to be reported all the same. A known one that starts to work fails here until its mark is mended.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from torch_doctor.rule import Level, all_rules
from torch_doctor.scan import Options, Report, scan

if TYPE_CHECKING:
    from collections.abc import Iterator

FIXTURES = Path(__file__).parents[1] / "fixtures"
MARK = re.compile(r"#\s*(?:(?P<todo>todo|todo-ok)\s+)?(?P<codes>TDR\d{3}(?:[\s,]+TDR\d{3})*)\s*$")
LONGEST_MESSAGE = 100


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
    return [entry for entry in entries if entry.is_dir() or entry.suffix in (".py", ".ipynb")]


def files_of(fixture: Path) -> list[Path]:
    if fixture.is_file():
        return [fixture]
    return sorted(path for path in fixture.rglob("*") if path.suffix in (".py", ".ipynb"))


def marks(fixture: Path) -> Iterator[tuple[str, Place]]:
    """The kind of each mark (plain, `todo`, `todo-ok`) with its place."""
    for path in files_of(fixture):
        name = path.relative_to(fixture.parent).as_posix()
        for cell, row, line in lines_of(path):
            if found := MARK.search(line):
                for code in re.findall(r"TDR\d{3}", found["codes"]):
                    yield found["todo"] or "", Place(name, cell, row, code)


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


@functools.cache
def scanned(fixture: Path) -> Report:
    """The report on a copy of the fixture that lies alone, as a user's project would."""
    rules = tuple(rule for rule in all_rules() if rule.level is not Level.ADVICE)
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as alone:
        copy = Path(alone).resolve() / fixture.name
        if fixture.is_dir():
            shutil.copytree(fixture, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(fixture, copy)
        os.chdir(copy.parent)
        try:
            return scan(Options(paths=(copy,), rules=rules))
        finally:
            os.chdir(before)


every_fixture = pytest.mark.parametrize("fixture", fixtures(), ids=lambda path: path.relative_to(FIXTURES).as_posix())


@every_fixture
def test_what_is_marked_is_reported_and_nothing_else(fixture: Path) -> None:
    marked: dict[str, set[Place]] = defaultdict(set)
    for kind, place in marks(fixture):
        marked[kind].add(place)
    report = scanned(fixture)
    assert report.errors == []
    found = {
        Place(finding.site.path, finding.site.cell or 0, finding.site.row, finding.code) for finding in report.findings
    }
    told = [f"{finding.site} {finding.code} {finding.message}" for finding in report.findings]
    missed = marked[""] - found
    mended = {f"{place} is reported now: drop `todo`" for place in marked["todo"] & found}
    mended |= {f"{place} is silent now: drop `todo-ok`" for place in marked["todo-ok"] - found}
    false = found - marked[""] - marked["todo"] - marked["todo-ok"]
    assert not mended
    assert not missed, f"missed {', '.join(map(str, sorted(missed)))}; found {told}"
    assert not false, f"false alarms {', '.join(map(str, sorted(false)))}; found {told}"


@every_fixture
def test_its_name_says_what_it_holds(fixture: Path) -> None:
    kinds = {kind for kind, _ in marks(fixture)}
    if fixture.parent.name == "whole":
        return
    codes = {place.code for kind, place in marks(fixture) if kind != "todo-ok"}
    if ".fixed" in fixture.name:
        assert kinds <= {"todo-ok"}
        assert (fixture.parent / fixture.name.replace(".fixed", "")).exists()
    elif fixture.name.startswith("ok_"):
        assert kinds <= {"todo-ok"}
    else:
        assert fixture.name.startswith("bad_")
        assert fixture.parent.name in codes


@every_fixture
def test_messages_are_short_and_trails_lead_somewhere(fixture: Path) -> None:
    report = scanned(fixture)
    for finding in report.findings:
        assert 0 < len(finding.message) <= LONGEST_MESSAGE
        assert not finding.message.endswith(".")
        assert "\n" not in finding.message
        assert finding.help
        for step in finding.trail:
            assert step.note
            assert step.site.path in report.sources
            source = report.sources[step.site.path]
            assert source.row_of(step.site) in source.row_range(step.site)


@pytest.mark.parametrize(
    ("name", "bytes_in_it"),
    [
        ("ok_windows_line_ends.py", b"\r\n"),
        ("ok_byte_order_mark.py", b"\xef\xbb\xbf"),
        ("ok_latin1_cookie.py", b"\xfc"),
        ("bad_latin1_without_cookie.py", b"\xe9"),
        ("bad_tabs_and_spaces.py", b"\t"),
    ],
)
def test_a_fixture_about_bytes_still_has_them(name: str, bytes_in_it: bytes) -> None:
    assert bytes_in_it in (FIXTURES / "TDR000" / name).read_bytes()
