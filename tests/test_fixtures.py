"""Every fixture through the real scan: what is marked is reported, and nothing else.

What the marks say is told in `marks.py`. A known miss that is found, and a known false alarm that falls silent, fail here
until the mark is mended.
"""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest

from tests.marks import FIXTURES, Place, fixtures, marks, name_of, rules_for
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, Report, scan

LONGEST_MESSAGE = 100
SILENT = ("todo", "todo-ok", "probe", "gpu")
MEANT_RIGHT = {"todo-ok", "refuted", "probe"}
WITNESSES = {rule.code: rule.witness for rule in all_rules()}


@functools.cache
def scanned(fixture: Path) -> Report:
    """The report on a copy of the fixture that lies alone, as a user's project would."""
    rules = rules_for(fixture.parent.name)
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


every_fixture = pytest.mark.parametrize("fixture", fixtures(), ids=name_of)


@every_fixture
def test_what_is_marked_is_reported_and_nothing_else(fixture: Path) -> None:
    marked: dict[str, set[Place]] = defaultdict(set)
    for kind, place in marks(fixture):
        if WITNESSES.get(place.code) != "P":  # else only a run shows it
            marked[kind if kind in SILENT else ""].add(place)
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
    codes = {place.code for kind, place in marks(fixture) if kind not in MEANT_RIGHT}
    if ".fixed" in fixture.name:
        assert kinds <= MEANT_RIGHT
        assert (fixture.parent / fixture.name.replace(".fixed", "")).exists()
    elif fixture.name.startswith("ok_"):
        assert fixture.parent.name not in codes
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
