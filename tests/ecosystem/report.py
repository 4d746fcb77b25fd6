"""What a scan of the list says: what changed against the ledger, the figures, and what is left to judge."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.ecosystem.ledger import FOUND, GONE, JUDGEMENTS, UNJUDGED
from tests.ecosystem.scanning import source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tests.ecosystem.ledger import Entry, Ledger
    from tests.ecosystem.scanning import Found, Result

COLUMNS = ("findings", *JUDGEMENTS, UNJUDGED)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A scan against the ledger: what it found that the ledger does not have as found, what it no longer finds, and
    what of its findings nobody judged."""

    new: list[Found]
    gone: list[Entry]
    unjudged: list[Found]


def compared(results: Sequence[Result], ledger: Ledger) -> Comparison:
    """Compare what was found in the scanned repositories with the ledger."""
    findings = [found for result in results for found in result.findings]
    known = {entry.fingerprint for entry in ledger.entries.values() if entry.state == FOUND}
    now = {found.fingerprint for found in findings}
    scanned = {result.repository for result in results}
    return Comparison(
        new=[found for found in findings if found.fingerprint not in known],
        gone=sorted(
            entry
            for entry in ledger.entries.values()
            if entry.repository in scanned and entry.state != GONE and entry.fingerprint not in now
        ),
        unjudged=[found for found in findings if ledger.judged(found.fingerprint) == UNJUDGED],
    )


def changes(comparison: Comparison, ledger: Ledger) -> Iterator[str]:
    """What is new and what is gone, a line each with its judgement, and how much of it there is."""
    for found in comparison.new:
        judged = ledger.judged(found.fingerprint)
        yield f"new   {judged:8} {found.code} {found.level} {found.repository} {found.place}  {found.message}"
    for entry in comparison.gone:
        yield f"gone  {entry.judged:8} {entry.code} {entry.level} {entry.repository} {entry.path}  {entry.why}"
    yield (
        f"{len(comparison.new)} new ({_counts(ledger.judged(found.fingerprint) for found in comparison.new)}), "
        f"{len(comparison.gone)} gone ({_counts(entry.judged for entry in comparison.gone)}), "
        f"{len(comparison.unjudged)} unjudged"
    )


def _counts(judgements: Iterable[str]) -> str:
    counts = Counter(judgements)
    return ", ".join(f"{counts[judged]} {judged}" for judged in (*JUDGEMENTS, UNJUDGED) if counts[judged]) or "none"


def figures(half: str, results: Sequence[Result], ledger: Ledger) -> Iterator[str]:
    """The findings of one half by level and code, with how many are false and trivial for 100 files that train."""
    training = sum(result.training for result in results)
    findings = [found for result in results for found in result.findings]
    yield f"{half}: {len(results)} repositories, {training} files that train"
    heads = "".join(f"{column:>10}" for column in COLUMNS)
    yield f"{'':12}{heads}   for 100 files that train:  trivial  false"
    groups: dict[str, list[Found]] = {"all": findings}
    for level in sorted({found.level for found in findings}):
        groups[f"level {level}"] = [found for found in findings if found.level == level]
    for code, level in sorted({(found.code, found.level) for found in findings}):
        groups[f"{code} {level}"] = [found for found in findings if (found.code, found.level) == (code, level)]
    for name, group in groups.items():
        counts = Counter(ledger.judged(found.fingerprint) for found in group)
        numbers = "".join(f"{count:10}" for count in (len(group), *(counts[column] for column in COLUMNS[1:])))
        rates = "".join(f"{100 * counts[judged] / max(training, 1):{width}.2f}" for judged, width in RATES)
        yield f"{name:12}{numbers}   {rates}"
    yield unfollowed(results)


REASONS = {
    "not found": "which was not found",
    "limits": "limit|seconds",
    "unknown results": "result is unknown",
    "unknown values": "unknown values",
}
"""Kinds of reasons why a training loop is not followed, by what their texts contain."""


def unfollowed(results: Sequence[Result]) -> str:
    """How many of the files that train have a loop that was not followed, in percent, and why."""
    reasons = [reason for result in results for _, reason in result.unfollowed]
    kinds = Counter(
        next((kind for kind, words in REASONS.items() if re.search(words, reason)), "others") for reason in reasons
    )
    share = 100 * len(reasons) / max(sum(result.training for result in results), 1)
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return f"{len(reasons)} training loops not followed ({share:.1f} %){f': {told}' if told else ''}"


RATES = (("trivial", 34), ("false", 7))


def shown(found: Found, checkout: Path, around: int) -> Iterator[str]:
    """A finding for somebody to judge: what it says, its trail, and the source around it."""
    file = source(checkout, found.path)
    start = next((cell.first_row for cell in file.cells or () if cell.number == found.cell), 1)
    row = start + found.row - 1
    yield f"{found.fingerprint}  {found.code} {found.level}  {found.repository}  {found.place}"
    yield f"  {found.message}"
    yield from (f"  help: {line}" for line in found.help.splitlines())
    yield from (f"  - {step}" for step in found.trail)
    for number in range(max(row - around, 1), min(row + around, len(file.shown)) + 1):
        mark = ">" if number == row else " "
        yield f"{mark}{number - start + 1 if number >= start else '':>5} | {file.shown[number - 1]}".rstrip()
    yield ""
