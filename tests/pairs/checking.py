"""Scripts with bugs put into them, scanned."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tests.pairs.bugs import BUGS, Bug
from tests.pairs.editing import CannotBeEditedError, Place, Script, scripts
from tests.pairs.exceptions import EXCEPTIONS
from torch_doctor.rule import Level, all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Pair: TypeAlias = "tuple[str, str]"
"""The codes of two bugs, in the order of `BUGS`."""


class Outcome(NamedTuple):
    """What is not told of the bugs in a script, and what is told beside them."""

    hidden: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not (self.hidden or self.others)

    def __str__(self) -> str:
        return "; ".join([*(f"{code} is hidden" for code in self.hidden), *self.others])


def pairs() -> list[Pair]:
    """All pairs of bugs of which both are to be told."""
    return [pair for pair in combinations(BUGS, 2) if frozenset(pair) not in EXCEPTIONS]


@cache
def checked(name: str, *codes: str) -> Outcome:
    """What a scan says of the script of this name with these bugs in it."""
    script, wanted = with_bugs(scripts()[name], codes)
    found = _found(script)
    return Outcome(
        tuple(sorted(code for code, place in wanted if (code, place) not in found)),
        tuple(text for key, text in sorted(found.items()) if key not in wanted),
    )


def with_bugs(script: Script, codes: Sequence[str]) -> tuple[Script, set[tuple[str, Place]]]:
    """The script with these bugs in it, and where each is to be reported.

    Raises:
        CannotBeEditedError: one of them leaves no place for another, whichever comes first.
    """
    bugs = [BUGS[code] for code in codes]
    try:
        edited = _with(script, *bugs)
    except CannotBeEditedError:
        edited = _with(script, *reversed(bugs))
    return edited, {(bug.code, edited.place(bug.at)) for bug in bugs}


def _with(script: Script, *bugs: Bug) -> Script:
    for bug in bugs:
        script = bug.into(script)
    return script


def _found(script: Script) -> dict[tuple[str, Place], str]:
    """All findings, each with its text."""
    rules = tuple(rule for rule in all_rules() if rule.level is not Level.ADVICE)
    with _alone() as folder:
        paths = []
        for name, text in script.files().items():
            paths.append(folder / name)
            paths[-1].write_text(text, encoding="utf-8")
        report = scan(Options(paths=tuple(paths), rules=rules))
    assert not report.errors, report.errors
    return {
        (found.code, Place(found.site.path, found.site.cell or 0, found.site.row)): (
            f"{found.site} {found.code} {found.message}"
        )
        for found in report.findings
    }


@contextmanager
def _alone() -> Iterator[Path]:
    """An empty working directory, as a user's project would be."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)
