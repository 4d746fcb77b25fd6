"""What a scan says of the bugs of the ledger, and the figures."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.ecosystem.repositories import Repository, UnscannedError, checkout
from tests.reported.ledger import FAMILIES
from torch_doctor.rule import all_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tests.reported.ledger import Bug

COMMAND = (
    sys.executable,
    "-m",
    "torch_doctor",
    "scan",
    "--isolated",
    "--no-cache",
    "--quiet",
    "--output-format",
    "json",
)
NAMED, CONDITIONAL, MISSED = "named", "with a condition", "missed"
NEAR = 3
"""How many lines a finding may be away from the line of the ledger."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a scan said of a bug."""

    bug: Bug
    said: str


def scored(bug: Bug, clones: Path, checkouts: Path) -> Score:
    """Scan the file of a bug in its repository at its commit, with the default selection.

    Raises:
        UnscannedError: there is no clone, the commit lacks the file, or the scan did not end as scans do.
    """
    folder = checkout(Repository(bug.repository, bug.commit, "", ""), clones, checkouts)
    if not (folder / bug.path).is_file():
        message = f"{bug.repository}: no file {bug.path} in {bug.commit[:10]}"
        raise UnscannedError(message)
    command = [*COMMAND, bug.path]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    try:
        records = json.loads(done.stdout)
    except ValueError:
        message = f"{bug.repository}: the scan exited with status {done.returncode}: {done.stderr.strip()[-200:]}"
        raise UnscannedError(message) from None
    return Score(bug, said_of(bug, records))


def said_of(bug: Bug, records: Iterable[dict[str, Any]]) -> str:
    """Return what findings say of a bug: one of its codes near its line names it."""
    near = [
        record
        for record in records
        if record["filename"] == bug.path
        and record["code"] in bug.accepted
        and record["verdict"] != "refuted"
        and abs(record["location"]["row"] - bug.line) <= NEAR
    ]
    if any(not record.get("condition") for record in near):
        return NAMED
    return CONDITIONAL if near else MISSED


def figures(half: str, scores: Sequence[Score]) -> Iterator[str]:
    """Yield the share that is named, of all bugs and of those that a rule is about, by family."""
    yield f"{half}: {share(scores)}; of those with a rule {share(_with_rule(scores))}"
    for family in FAMILIES:
        if group := [score for score in scores if score.bug.family == family]:
            yield f"  {family:12}{share(group):38}with a rule {share(_with_rule(group))}"


def misses(scores: Sequence[Score]) -> Iterator[str]:
    """Yield how many bugs are missed for each reason, the most frequent first."""
    missed = [score.bug for score in scores if score.said == MISSED]
    for reason, count in Counter(bug.miss or "not analyzed yet" for bug in missed).most_common():
        codes = sorted({bug.codes for bug in missed if (bug.miss or "not analyzed yet") == reason})
        yield f"  {count:4}  {reason} ({' '.join(codes)})"


def share(scores: Sequence[Score]) -> str:
    """Return how many of some bugs are named, and how many only with a condition."""
    said = Counter(score.said for score in scores)
    conditional = f", {said[CONDITIONAL]} {CONDITIONAL}" if said[CONDITIONAL] else ""
    return f"{said[NAMED]} of {len(scores)} named ({100 * said[NAMED] / max(len(scores), 1):.0f} %){conditional}"


def _with_rule(scores: Sequence[Score]) -> list[Score]:
    codes = {rule.code for rule in all_rules()}
    return [score for score in scores if score.bug.accepted & codes]
