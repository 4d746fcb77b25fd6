"""Compares who reads scores and probabilities before and after fixes, in all files."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from torch_doctor.fixes import moved
from torch_doctor.rule import Level, Rule
from torch_doctor.scan import scan
from torch_doctor.trace import Kind, ScoresRead

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch_doctor.edits import Change
    from torch_doctor.rule import Finding
    from torch_doctor.scan import Options, Report
    from torch_doctor.trace import Site, Trace

Place: TypeAlias = tuple[str, int | None, int]

WORDS = {
    Kind.LOGITS: "logits",
    Kind.HIDDEN: "activations",
    Kind.PROBABILITIES: "probabilities",
    Kind.BOUNDED: "probabilities",
    Kind.LOG_PROBABILITIES: "log-probabilities",
    Kind.LOG_BOUNDED: "log-probabilities",
}


class Readers(Rule):
    """Every place that reads one kind of values, as findings that are never reported."""

    name = "readers"
    level = Level.ADVICE
    witness = "S"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Return the places that read values of this kind."""
        for event in trace.of(ScoresRead):
            if event.input.kind is self.kind and not event.order:
                yield self.finding(event.site, WORDS[self.kind])

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.code = f"{PREFIX}{kind.name}"  # type: ignore[misc]  # one rule for each kind


PREFIX = "reads-"
READERS = tuple(map(Readers, WORDS))


def taken_out(report: Report) -> list[Finding]:
    """Remove the findings of these rules from a report, and return them."""
    taken = []
    for findings in (report.findings, report.left_out):
        taken += [each for each in findings if is_read(each)]
        findings[:] = [each for each in findings if not is_read(each)]
    return taken


def is_read(finding: Finding) -> bool:
    """Return whether a finding only says who reads what."""
    return finding.code.startswith(PREFIX)


class Reads:
    """Who reads which kind of values in the original source; asked only when something is fixed."""

    def __init__(self, options: Options) -> None:
        self._options = options

    @cached_property
    def _before(self) -> list[Finding]:
        return taken_out(scan(replace(self._options, rules=READERS, hiding=(), narrowing=())))

    def lost(self, rounds: Sequence[Mapping[str, Sequence[Change]]], after: Iterable[Finding]) -> list[Finding]:
        """Return the places that read other values after the changes of these rounds, unless these are the changed lines."""
        kinds: dict[Place, dict[str, Finding]] = {}
        for each in after:
            kinds.setdefault(_line(each.site), {})[each.code] = each
        touched = {name for changes in rounds for name in changes}
        found = []
        for each in self._before:
            site: Site | None = each.site
            for changes in rounds:
                site = None if site is None or _is_changed(site, changes) else moved(site, changes)
            now = {} if site is None else kinds.get(_line(site), {})
            if site is not None and each.code not in now and (now or site.path not in touched):
                words = " or ".join(sorted({other.message for other in now.values()})) or "something else"
                found.append(replace(each, message=f"{each.site} would receive {words} instead of {each.message}"))
        return found


def _is_changed(site: Site, changes: Mapping[str, Sequence[Change]]) -> bool:
    """Whether a line is one of those that are changed; where lines are put in, nothing is."""
    return any(
        change.site.cell == site.cell
        and change.site.row <= site.row <= change.site.end_row
        and not (change.site.column == change.site.end_column == 1)
        for change in changes.get(site.path, ())
    )


def _line(site: Site) -> Place:
    return site.path, site.cell, site.row
