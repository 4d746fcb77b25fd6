"""What teachers of debugging ask for, and where a checkup answers it: `table.tsv` has a line for each answer."""

from __future__ import annotations

import functools
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.checkup.conftest import Heard
from torch_doctor.checkup.outcome import RUNGS, Checkup
from torch_doctor.checkup.running import Wanted, checkup
from torch_doctor.probing import Probing
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
SECONDS = 60.0


class Row(NamedTuple):
    """A line of the table.

    `place` is a rung, the code of a rule, "advice", or "error" where an error of torch is explained. `status` is that of
    the rung, the verdict of the finding, or "told", and `says` a part of what is said there: the reason of the rung, what to
    do next, or a measured value with its label.
    """

    place: str
    script: str
    status: str
    says: str


ROWS = [Row(*line.split("\t")) for line in (HERE / "table.tsv").read_text("utf-8").splitlines()[1:]]
ROWS.sort(key=lambda row: row.script)  # a process that gets several rows of a script examines it once
PLACES = {row.script: {each.place for each in ROWS if each.script == row.script} for row in ROWS}


@functools.cache
def examined(script: str) -> Checkup:
    """The checkup of a script with the rungs that its rows name: one for all of them."""
    path = Path(shutil.copy(HERE / "scripts" / f"{script}.py", Path.cwd()))
    scan = Options(paths=(path,), rules=all_rules(), probe=Probing(python=sys.executable))
    places = PLACES[script] | {"overfit-one-batch"} if "advice" in PLACES[script] else PLACES[script]
    rungs = tuple(name for name in RUNGS if name in places) or RUNGS[:1]
    wanted = Wanted(scan=scan, script=path, shown=path.name, seconds=SECONDS, rungs=rungs)
    return checkup(wanted, Heard()).checkup


def said(place: str, one: Checkup) -> Iterator[tuple[str, str]]:
    """What a checkup says at a place, each with its status or verdict."""
    for rung in one.rungs:
        if rung.name == place:
            yield rung.status, rung.reason
            yield rung.status, rung.next
            for fact in rung.evidence:
                yield rung.status, f"{fact.group}: {fact.label} {fact.value}".removeprefix(": ")
    for finding in one.findings:
        if finding.code == place:
            yield finding.verdict.value if finding.verdict else "undecided", finding.message
    told = {"advice": one.advice, "error": [one.cause]}
    yield from (("told", words) for words in told.get(place, ()))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("row", ROWS, ids=[f"{row.place}-{row.script}" for row in ROWS])
def test_a_row_holds(row: Row) -> None:
    found = list(said(row.place, examined(row.script)))
    assert any(status == row.status and row.says in words for status, words in found), found


def test_every_script_has_a_row() -> None:
    assert {path.stem for path in (HERE / "scripts").glob("*.py")} == set(PLACES)
