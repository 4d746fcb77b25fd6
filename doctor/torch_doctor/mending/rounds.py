"""Applies fixes in rounds, until none is left; a scan with the changes follows each round, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from torch_doctor import scan as scanning
from torch_doctor.fixes import changed, idle_imports, joined, moved, propose, readable
from torch_doctor.mending.readers import READERS, taken_out
from torch_doctor.rule import Verdict
from torch_doctor.trace import Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from torch_doctor.edits import Change
    from torch_doctor.mending.readers import Reads
    from torch_doctor.rule import Finding
    from torch_doctor.scan import Options, Report

Key: TypeAlias = tuple[str, Site]
"""Which finding: its code and its place in the original source."""
MOST_ROUNDS = 100


class Mended(Struct):
    """What was fixed: the findings in order, and each touched file as it was and as it is now.

    `proofs` says of some findings what the second run showed, `withdrawn` which fixes were not applied, or reverted, and
    why. `moved` gives the new place of each fixed finding, `origins` its place in the original source. `harm` holds the
    findings that the fixes cause.
    """

    findings: list[Finding] = field(default_factory=list)
    before: dict[Path, bytes] = field(default_factory=dict)
    after: dict[Path, bytes] = field(default_factory=dict)
    shown: dict[Path, str] = field(default_factory=dict)
    proofs: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    moved: dict[int, Site] = field(default_factory=dict)
    origins: list[Key] = field(default_factory=list)
    harm: list[Finding] = field(default_factory=list)


def with_proposals(report: Report, options: Options) -> Report:
    """Add the fix to each finding that has one; an internal error leaves the findings without."""
    if any(finding.edits for finding in report.findings):
        try:
            report.findings[:] = propose(report.findings, report.sources, options.rules)
        except Exception as error:  # noqa: BLE001 - as everywhere: the findings stand
            report.failed("findings to fix", error)
    return report


def key(finding: Finding) -> Key:
    """Return which finding this is."""
    return finding.code, finding.site


def in_rounds(  # noqa: PLR0913 - what is fixed, how, and what it was before
    report: Report,
    options: Options,
    withdrawn: Mapping[Key, str],
    reads: Reads,
    *,
    unsafe: bool,
    repairs: bool = True,
) -> tuple[Report, Mended]:
    """Apply the fixes of a report except those that are `withdrawn`, each with the reason; return what is left.

    `reads` are the readers of scores in the original. `repairs`: what the fixes cause is fixed, too.
    """
    attempt = _Attempt(report, options, withdrawn, reads, unsafe=unsafe)
    for _ in range(MOST_ROUNDS):
        taken, changes = joined(attempt.possible(repairs=repairs))
        written = attempt.written(taken, changes)
        if written is None:
            continue
        if not written:
            break
        useless = attempt.scanned(taken, changes, written)
        if useless:
            reasons = dict.fromkeys(useless, "it would not remove the finding")
            return in_rounds(report, options, {**withdrawn, **reasons}, reads, unsafe=unsafe, repairs=repairs)
    changes = attempt.idle_imports()
    if changes and (written := attempt.written((), changes)):
        attempt.scanned((), changes, written)
    return attempt.finished()


class _Attempt:
    """Fixes that are applied together: what was found before, what is left, and where everything has moved."""

    def __init__(
        self, report: Report, options: Options, withdrawn: Mapping[Key, str], reads: Reads, *, unsafe: bool
    ) -> None:
        self._first = self._report = report
        self._options = options
        self._plain = replace(options, probe=None, cache=None, rules=(*options.rules, *READERS))
        self._reads = reads
        self._readers: list[Finding] = []
        self._rounds: list[Mapping[str, Sequence[Change]]] = []
        self._unsafe = unsafe
        self._withdrawn = withdrawn
        self._refused: set[Key] = set(withdrawn)
        self._mended = Mended()
        self._offered = {key(each): each for each in report.findings}
        self._now = {each: each[1] for each in self._offered}  # where each finding of the original lies now
        self._origins = {each: each for each in self._offered}  # and the other way round
        self._known = [
            (each.code, each.cause, each.message, each.site)
            for finding in (*report.findings, *report.left_out)
            for each in (finding, *finding.members[1:])
        ]

    def possible(self, *, repairs: bool) -> list[Finding]:
        """Return the findings whose fix may be applied in the next round; `repairs`: those of later rounds, too."""
        found = []
        for finding in self._report.findings:
            origin = self._origin(finding)
            first = self._offered.get(origin)
            refuted = first is not None and first.verdict is Verdict.REFUTED  # later rounds have no verdicts
            if (
                finding.fix is not None
                and (finding.fix.safe or self._unsafe)
                and origin not in self._refused
                and not refuted
                and (repairs or first is not None)
                and self._is_of_stdin(finding)
            ):
                found.append(finding)
        return found

    def _is_of_stdin(self, finding: Finding) -> bool:
        """Return whether a fix leaves all files but stdin alone, where source is read from there."""
        overlay, fix = self._options.overlay, finding.fix
        return not overlay or (
            fix is not None and all(self._path(change.site.path) in overlay for change in fix.changes)
        )

    def _origin(self, finding: Finding) -> Key:
        """Return what a finding of this round was called in the original source; itself where it was not there."""
        return self._origins.get(key(finding), key(finding))

    def written(self, taken: Iterable[Finding], changes: Mapping[str, Sequence[Change]]) -> dict[Path, bytes] | None:
        """Return what the touched files hold with the changes; None where one of them cannot be changed."""
        mended = self._mended
        written: dict[Path, bytes] = {}
        for name, several in changes.items():
            path = self._path(name)
            try:
                raw = mended.after.get(path) or self._options.overlay.get(path) or path.read_bytes()
                new = changed(raw, several)
                if not readable(path, raw, new):
                    message = "the fixed file would not parse"
                    raise ValueError(message)  # noqa: TRY301 - as a file that has changed meanwhile
            except (OSError, ValueError) as error:
                self._refused |= {self._origin(each) for each in taken if _touches(each, name)}
                mended.errors.append(f"{name} cannot be changed: {getattr(error, 'strerror', None) or error}")
                return None
            written[path] = new
            mended.before.setdefault(path, raw)
            mended.shown[path] = name
        return written

    def _path(self, name: str) -> Path:
        return (
            next((path for path, shown in self._mended.shown.items() if shown == name), None)
            or self._report.sources[name].path
        )

    def idle_imports(self) -> dict[str, list[Change]]:
        """Return the changes that remove the imports which all fixes together leave unused, by the file's name."""
        mended = self._mended
        found = {
            mended.shown[path]: idle_imports(path, mended.shown[path], mended.before[path], after)
            for path, after in mended.after.items()
        }
        return {name: changes for name, changes in found.items() if changes}

    def scanned(
        self, taken: Sequence[Finding], changes: Mapping[str, Sequence[Change]], written: Mapping[Path, bytes]
    ) -> set[Key]:
        """Scan with the changes of one round; return the original findings that their fix does not remove."""
        mended = self._mended
        mended.after |= written
        count = len(mended.findings)
        mended.findings += map(self._as_judged, taken)
        mended.origins += map(self._origin, taken)
        mended.moved = {number: moved(site, changes) for number, site in mended.moved.items()}
        mended.moved |= {count + number: moved(each.site, changes) for number, each in enumerate(taken)}
        origins = [self._origin(each) for each in taken]
        self._now = {each: moved(site, changes) for each, site in self._now.items()}
        self._origins = {(code, site): (code, first) for (code, first), site in self._now.items()}
        self._known = [(code, cause, message, moved(site, changes)) for code, cause, message, site in self._known]
        overlay = {**self._options.overlay, **mended.after}
        report = scanning.scan(replace(self._plain, overlay=overlay))
        self._readers = taken_out(report)
        self._rounds.append(changes)
        self._report = with_proposals(report, self._options)
        still = {key(finding) for finding in self._report.findings}
        return {
            origin
            for each, origin in zip(taken, origins, strict=True)
            if (each.code, moved(each.site, changes)) in still
        }

    def _as_judged(self, finding: Finding) -> Finding:
        """Return a finding of a later round, which no run follows, with the verdict that it had at first."""
        first = self._offered.get(self._origin(finding))
        return finding if first is None else replace(finding, verdict=first.verdict, evidence=first.evidence)

    def finished(self) -> tuple[Report, Mended]:
        """Return what is left and what was done, with the reason of each fix that was not applied."""
        mended = self._mended
        if mended.after:
            mended.harm += [*self._harm(), *self._reads.lost(self._rounds, self._readers)]
        mended.withdrawn += self._reasons()
        return self._report, mended

    def _harm(self) -> list[Finding]:
        """Return the findings that are new: of their rule nothing lay in that row, had that cause, or said that."""
        rows = {(code, site.path, site.cell, site.row) for code, _, _, site in self._known}
        causes = {(code, site.path, cause) for code, cause, _, site in self._known if cause}
        found = [*self._report.findings, *self._report.left_out]
        rest = [
            each
            for each in found
            if (each.code, each.site.path, each.site.cell, each.site.row) not in rows
            and not (each.cause and (each.code, each.site.path, each.cause) in causes)
        ]
        before = [(code, site.path, message) for code, _, message, site in self._known]
        fixed = [(each.code, each.site.path, each.message) for each in self._mended.findings]
        after = [(each.code, each.site.path, each.message) for each in found if each not in rest]
        new = []
        for each in rest:
            said = each.code, each.site.path, each.message
            after.append(said)
            if after.count(said) + fixed.count(said) > before.count(said):
                new.append(each)
        return new

    def _reasons(self) -> list[str]:
        """Return a line for each announced fix that was not applied although its finding is still there."""
        still = {key(each) for each in self._report.findings}
        lines = []
        for each in self._first.findings:
            name = key(each)
            applies = each.fix is not None and (each.fix.safe or self._unsafe)
            if not applies or name in self._mended.origins or (each.code, self._now[name]) not in still:
                continue
            if name in self._refused and not self._withdrawn.get(name):
                continue  # another line says it
            reason = self._withdrawn.get(name, "it no longer applies after the other fixes")
            lines.append(f"{each.site}: fix for {each.code} not applied: {reason}")
        return lines


def _touches(finding: Finding, name: str) -> bool:
    return finding.fix is not None and any(change.site.path == name for change in finding.fix.changes)
