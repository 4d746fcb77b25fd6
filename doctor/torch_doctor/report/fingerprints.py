"""Names for findings that stay the same when lines move, for services that compare one scan with the next."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

from torch_doctor.report.reported import from_checkout

if TYPE_CHECKING:
    from torch_doctor.report.reported import Reported
    from torch_doctor.rule import Finding


class Fingerprints:
    """The names of the findings of one report: made of the rule, the file and the text of the line.

    Equal lines of one file are counted from its top, so that no two findings share a name. What is left out of the report
    counts too: a finding has the same name whether or not those that were known before are reported beside it.
    """

    def __init__(self, reported: Reported) -> None:
        self._sources = reported.sources
        self._names: dict[int, str] = {}
        seen: Counter[str] = Counter()
        for finding in sorted([*reported.findings, *reported.left_out], key=_place):
            digest = self._digest(finding)
            seen[digest] += 1
            self._names[id(finding)] = f"{digest}:{seen[digest]}"

    def of(self, finding: Finding) -> str:
        """The name of a finding of the report."""
        return self._names[id(finding)]

    def _digest(self, finding: Finding) -> str:
        site, source = finding.site, self._sources.get(finding.site.path)
        rows = source.shown if source is not None else []
        row = source.row_of(site) if source is not None else 0
        line = rows[row - 1].strip() if 0 < row <= len(rows) else ""
        named = "\0".join((finding.code, from_checkout(site.path), line))
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _place(finding: Finding) -> tuple[int, int, int]:
    return finding.site.cell or 0, finding.site.row, finding.site.column
