"""Names for findings that stay the same when lines move, for services that compare one scan with the next."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

from torch_doctor.report.reported import INCOMPLETE, from_checkout

if TYPE_CHECKING:
    from torch_doctor.report.reported import Incomplete, Reported
    from torch_doctor.rule import Finding
    from torch_doctor.trace import Site


class Fingerprints:
    """The names of the findings of one report, and of the files that were not analyzed completely.

    A name is made of the rule, the file and the text of the line.

    Equal lines of one file are counted from its top, so that no two findings share a name. What is left out of the report
    counts too: a finding has the same name whether or not those that were known before are reported beside it.
    """

    def __init__(self, reported: Reported) -> None:
        self._sources = reported.sources
        self._names: dict[int, str] = {}
        seen: Counter[str] = Counter()
        named: list[tuple[str, Finding | Incomplete]] = [(INCOMPLETE, each) for each in reported.incomplete]
        named += [(each.code, each) for each in (*reported.findings, *reported.left_out)]
        for code, each in sorted(named, key=_place):
            digest = self._digest(code, each.site)
            seen[digest] += 1
            self._names[id(each)] = f"{digest}:{seen[digest]}"

    def of(self, reported: Finding | Incomplete) -> str:
        """The name of a finding of the report, or of a file that was not analyzed completely."""
        return self._names[id(reported)]

    def _digest(self, code: str, site: Site) -> str:
        source = self._sources.get(site.path)
        rows = source.shown if source is not None else []
        row = source.row_of(site) if source is not None else 0
        line = rows[row - 1].strip() if 0 < row <= len(rows) else ""
        named = "\0".join((code, from_checkout(site.path), line))
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _place(named: tuple[str, Finding | Incomplete]) -> tuple[int, int, int]:
    site = named[1].site
    return site.cell or 0, site.row, site.column
