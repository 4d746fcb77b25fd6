"""Report one finding per cause."""

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
"""Maximum length of a message, in characters."""
SHORTEST = 9
"""Names are never truncated to fewer characters than this."""


class Causes:
    """The findings of one project, collected until all of its traces have been checked.

    A finding is dropped if a rule in `yields_to` has a finding at the same position, or a rule in `step_of` has a trail
    through it. Findings of a rule that share a cause within a file (or within the project, if they are `wide`) are merged
    into the first, whose message counts the others. Advice of the `quiet` rules is not reported.
    """

    def __init__(self, rules: Iterable[Rule], quiet: Collection[str] = ()) -> None:
        self._yields_to = {rule.code: rule.yields_to for rule in rules}
        self._step_of = {rule.code: rule.step_of for rule in rules}
        self._quiet = quiet
        self._waiting: dict[tuple[str, Site], Finding] = {}
        self._told: set[Key] = set()

    def add(self, finding: Finding) -> None:
        """Add a finding, unless its rule already has one at the same position that needs no setting, or needs one as well."""
        known = self._waiting.get((finding.code, finding.site))
        if self._is_wanted(finding) and (known is None or (known.condition and not finding.condition)):
            self._waiting[finding.code, finding.site] = finding

    def _is_wanted(self, finding: Finding) -> bool:
        return finding.level is not Level.ADVICE or finding.code not in self._quiet

    def told(self) -> Iterator[Finding]:
        """Yield the findings to report, and forget them."""
        found = self.taken()
        at = {(each.code, each.site, each.condition) for each in found}
        along = {(each.code, step.site, each.condition) for each in found for step in each.trail}
        groups: dict[Key | tuple[str, Site], list[Finding]] = {}
        for finding in found:
            conditions = {"", finding.condition}  # what needs another setting leaves what does not
            if any((code, finding.site, each) in at for code in self._yields_to[finding.code] for each in conditions):
                continue
            if any((code, finding.site, each) in along for code in self._step_of[finding.code] for each in conditions):
                continue
            cause = _key(finding) if finding.cause else (finding.code, finding.site)
            groups.setdefault(cause, []).append(finding)
        for findings in groups.values():
            first, *others = sorted(findings, key=order)
            self._told.add(_key(first))
            yield for_all([first, *others])

    def taken(self) -> list[Finding]:
        """Return all findings added since the last call, and forget them."""
        found = self.waiting()
        self._waiting.clear()
        return found

    def waiting(self) -> list[Finding]:
        """Return all findings that have not been reported yet."""
        return list(self._waiting.values())

    def is_new(self, finding: Finding) -> bool:
        """Return whether the finding's cause has not been reported before, and mark it as reported."""
        new = not finding.cause or _key(finding) not in self._told
        self._told.add(_key(finding))
        return new and self._is_wanted(finding)


def for_all(findings: Sequence[Finding]) -> Finding:
    """Merge findings with one cause into the first, with a count in its message and the edits of all."""
    first, *others = findings
    if not others:
        return first
    edits = dict.fromkeys(edit for finding in findings for edit in finding.edits)
    message = _counting(first.message, len(others), len({finding.site.path for finding in findings}))
    return replace(first, message=message, edits=tuple(edits), members=tuple(findings))


def order(finding: Finding) -> tuple[bool, str, int, int, int, str]:
    """Return the sort key of a finding in a report: those that need another setting come last."""
    site = finding.site
    return bool(finding.condition), site.path, site.cell or 0, site.row, site.column, finding.code


def _key(finding: Finding) -> Key:
    return finding.code, "" if finding.wide else finding.site.path, finding.cause


def _counting(message: str, others: int, files: int) -> str:
    """Return the message with the number of others; its longest name is shortened to make room, or the count omitted."""
    count = f" ({others:,} more, in {files:,} files)" if files > 1 else f" ({others:,} more)"
    excess = len(message) + len(count) - ROOM
    if excess <= 0:
        return message + count
    name = max(re.findall(r"`([^`]+)`", message), key=len, default="")
    keep = len(name) - excess - 1
    if keep < SHORTEST:
        return message
    return message.replace(f"`{name}`", f"`{name[: keep // 2]}…{name[len(name) - (keep - keep // 2) :]}`", 1) + count
