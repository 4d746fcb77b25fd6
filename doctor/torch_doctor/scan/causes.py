"""One cause is told once: of the findings that it gives, the most telling one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from torch_doctor.rule import Level

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from torch_doctor.rule import Finding, Rule
    from torch_doctor.trace import Site

Key: TypeAlias = "tuple[str, str, str]"
ROOM = 100
"""The most characters that a message may have."""
SHORTEST = 9
"""No name is cut to fewer characters than this."""


class Causes:
    """The findings of one project, until all of its traces are judged.

    A rule yields to those of the rules that it names whose finding is at the very same place, or whose trail comes there.
    Findings of a rule in one file that share a cause are one: the first, which counts the others; wide ones are so in all
    files. Of the `quiet` rules no advice is told.
    """

    def __init__(self, rules: Iterable[Rule], quiet: Collection[str] = ()) -> None:
        self._yields_to = {rule.code: rule.yields_to for rule in rules}
        self._step_of = {rule.code: rule.step_of for rule in rules}
        self._quiet = quiet
        self._waiting: dict[tuple[str, Site], Finding] = {}
        self._told: set[Key] = set()

    def add(self, finding: Finding) -> None:
        """Take a finding in; of several of one rule at one place the first counts."""
        if self._is_wanted(finding):
            self._waiting.setdefault((finding.code, finding.site), finding)

    def _is_wanted(self, finding: Finding) -> bool:
        return finding.level is not Level.ADVICE or finding.code not in self._quiet

    def told(self) -> Iterator[Finding]:
        """The findings that are to be reported; they are not given again."""
        found = self.taken()
        at = {(finding.code, finding.site) for finding in found}
        along = {(finding.code, step.site) for finding in found for step in finding.trail}
        groups: dict[Key | tuple[str, Site], list[Finding]] = {}
        for finding in found:
            if any((code, finding.site) in at for code in self._yields_to[finding.code]):
                continue
            if any((code, finding.site) in along for code in self._step_of[finding.code]):
                continue
            cause = _key(finding) if finding.cause else (finding.code, finding.site)
            groups.setdefault(cause, []).append(finding)
        for findings in groups.values():
            first, *others = sorted(findings, key=order)
            self._told.add(_key(first))
            yield for_all([first, *others])

    def taken(self) -> list[Finding]:
        """All findings since this was last asked."""
        found = self.waiting()
        self._waiting.clear()
        return found

    def waiting(self) -> list[Finding]:
        """All findings that were not told yet."""
        return list(self._waiting.values())

    def is_new(self, finding: Finding) -> bool:
        """Whether nothing has been reported of the finding's cause; it counts as reported from here on."""
        new = not finding.cause or _key(finding) not in self._told
        self._told.add(_key(finding))
        return new and self._is_wanted(finding)


def for_all(findings: Sequence[Finding]) -> Finding:
    """The first of findings with one cause, which says how many there are, and mends them all."""
    first, *others = findings
    if not others:
        return first
    edits = dict.fromkeys(edit for finding in findings for edit in finding.edits)
    message = _counting(first.message, len(others), len({finding.site.path for finding in findings}))
    return replace(first, message=message, edits=tuple(edits), members=tuple(findings))


def order(finding: Finding) -> tuple[str, int, int, int, str]:
    """Where a finding belongs in a report."""
    site = finding.site
    return site.path, site.cell or 0, site.row, site.column, finding.code


def _key(finding: Finding) -> Key:
    return finding.code, "" if finding.wide else finding.site.path, finding.cause


def _counting(message: str, others: int, files: int) -> str:
    """The message, which says how many others there are; its longest name makes room for that, or it is left out."""
    count = f" ({others:,} more, in {files:,} files)" if files > 1 else f" ({others:,} more)"
    excess = len(message) + len(count) - ROOM
    if excess <= 0:
        return message + count
    name = max(re.findall(r"`([^`]+)`", message), key=len, default="")
    keep = len(name) - excess - 1
    if keep < SHORTEST:
        return message
    return message.replace(f"`{name}`", f"`{name[: keep // 2]}…{name[len(name) - (keep - keep // 2) :]}`", 1) + count
