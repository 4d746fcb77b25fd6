"""Names for findings that stay the same when lines move, for services that compare one scan with the next."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from torch_doctor.report.reported import from_checkout

if TYPE_CHECKING:
    from torch_doctor.report.reported import Reported
    from torch_doctor.rule import Finding


class Fingerprints:
    """The names of the findings of one report: made of the rule, the file and the text of the line."""

    def __init__(self, reported: Reported) -> None:
        self._sources = reported.sources
        self._seen: dict[str, int] = {}

    def of(self, finding: Finding) -> str:
        """The name of the next finding; equal lines of one file are counted, so that no two findings share a name."""
        site, source = finding.site, self._sources.get(finding.site.path)
        rows = source.shown if source is not None else []
        row = source.row_of(site) if source is not None else 0
        line = rows[row - 1].strip() if 0 < row <= len(rows) else ""
        digest = hashlib.sha256(
            "\0".join((finding.code, from_checkout(site.path), line)).encode("utf-8", "surrogatepass")
        ).hexdigest()[:32]
        self._seen[digest] = count = self._seen.get(digest, 0) + 1
        return f"{digest}:{count}"
