"""The ledger: every finding of the list with what somebody who read the source says of it."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.ecosystem.scanning import Found

LEDGER = Path(__file__).with_name("ledger.tsv")
UNJUDGED = "unjudged"
JUDGEMENTS = ("true", "trivial", "false")
FOUND, GONE = "found", "gone"
MOST_WORDS = 15
HEADING = ("repository", "path", "code", "fingerprint", "level", "state", "judged", "why")


class JudgementError(ValueError):
    """A line of judgements that cannot be taken; the message says which and why."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One finding, judged or not; `state` tells whether the last recorded scan found it."""

    repository: str
    path: str
    code: str
    fingerprint: str
    level: str
    state: str = FOUND
    judged: str = UNJUDGED
    why: str = ""


class Ledger:
    """All findings that were ever judged, and those of the last recorded scan, by their fingerprints."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = {entry.fingerprint: entry for entry in entries}

    @classmethod
    def read(cls, text: str) -> Ledger:
        """The ledger that a text holds: a heading, and a line for each finding, with tabs between its fields."""
        return cls(Entry(*line.split("\t")) for line in text.splitlines()[1:])

    def text(self) -> str:
        """It as text: sorted, so that two who judge change different lines."""
        rows = [HEADING, *(astuple(entry) for entry in sorted(self.entries.values()))]
        return "".join("\t".join(row) + "\n" for row in rows)

    def judged(self, fingerprint: str) -> str:
        """What is said of a finding."""
        entry = self.entries.get(fingerprint)
        return UNJUDGED if entry is None else entry.judged

    def record(self, findings: Iterable[Found], scanned: Iterable[str]) -> None:
        """Take what a scan of some repositories found: new findings are unjudged, and judgements stay.

        A finding that is gone stays, too, unless nobody had judged it: where it comes back, the judgement is known.
        """
        repositories = frozenset(scanned)
        for entry in list(self.entries.values()):
            if entry.repository in repositories:
                self.entries[entry.fingerprint] = replace(entry, state=GONE)
        for found in findings:
            known = self.entries.get(found.fingerprint)
            self.entries[found.fingerprint] = Entry(
                found.repository,
                found.path,
                found.code,
                found.fingerprint,
                found.level,
                judged=UNJUDGED if known is None else known.judged,
                why="" if known is None else known.why,
            )
        for entry in list(self.entries.values()):
            if entry.state == GONE and entry.judged == UNJUDGED:
                del self.entries[entry.fingerprint]

    def take(self, judgements: str) -> int:
        """Enter judgements, a line each: a fingerprint, `true`, `trivial` or `false`, and why. Returns how many.

        Raises:
            JudgementError: a line is not of this form, or its finding is not known; nothing is entered then.
        """
        lines = [line.split(maxsplit=2) for line in judgements.splitlines() if line.strip() and line[0] != "#"]
        taken = [self._judged(*line) for line in lines]
        self.entries.update((entry.fingerprint, entry) for entry in taken)
        return len(taken)

    def _judged(self, fingerprint: str, judged: str = "", why: str = "") -> Entry:
        if fingerprint not in self.entries:
            message = f"{fingerprint}: no such finding; record the scan first"
        elif judged not in JUDGEMENTS:
            message = f"{fingerprint}: judged `{judged}`, which is none of {', '.join(JUDGEMENTS)}"
        elif not 0 < len(why.split()) <= MOST_WORDS:
            message = f"{fingerprint}: why, in one to {MOST_WORDS} words"
        else:
            return replace(self.entries[fingerprint], judged=judged, why=" ".join(why.split()))
        raise JudgementError(message)
