"""Which comments suppress nothing, when everything is known that a scan finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from torch_doctor.nearness import nearest
from torch_doctor.scan.silencing import UNREADABLE_CODE, UNUSED_CODE
from torch_doctor.sources.suppressing import without
from torch_doctor.trace import Scope, ScopeKind, SuppressionUnused, Trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from torch_doctor.rule import Finding
    from torch_doctor.scan.examining import Examined
    from torch_doctor.scan.options import Options, Report
    from torch_doctor.scan.silencing import Silencing
    from torch_doctor.sources.project import Project
    from torch_doctor.sources.source import SourceFile
    from torch_doctor.sources.suppressions import Suppression

NEVER_SUPPRESSED = frozenset((UNREADABLE_CODE, UNUSED_CODE))


class Scanning(Protocol):
    """The scan that everything is found in."""

    options: Options
    report: Report

    def take(self, finding: Finding, project: Project) -> None:
        """Let the report have a finding."""


class Unused:
    """What the scan has found so far, whether it is suppressed or not, and the files whose comments can be judged.

    They cannot where other files of their project were not looked at to the end: what is suppressed may be found there.
    """

    def __init__(self, options: Options, silencing: Silencing) -> None:
        rules = {rule.code: rule for rule in options.rules}
        self._rule = rules.get(UNUSED_CODE) if options.heeds_comments and options.shard is None else None
        self._shown_by_runs = {code for code, rule in rules.items() if "P" in rule.witness and options.probe is None}
        self._open: set[str] = set()
        self._spoke = {code: rule.name for code, rule in rules.items() if "S" in rule.witness}
        self._known = options.known | {name for code, rule in rules.items() for name in (code, rule.name)}
        self._tells_unknown = bool(options.known)
        self._families = {code.rstrip("0123456789") for code in rules}
        self._silencing = silencing
        self._found: dict[str, list[Finding]] = {}
        self._files: list[tuple[Project, Path]] = []

    def take(self, project: Project, files: Iterable[Path], examined: Iterable[Examined]) -> None:
        """What was found out about the files of a project."""
        if self._rule is None:
            return
        told = [each for found in examined for each in (found, *found.callers.values())]
        for each in told:
            self.hear(each.findings)
            self._open |= each.open
        if not any(each.ended or each.errors for each in told):
            self._files += [(project, path) for path in files]

    def hear(self, findings: Iterable[Finding]) -> None:
        """These were found, too."""
        for finding in findings if self._rule is not None else ():
            self._found.setdefault(finding.site.path, []).append(finding)

    def tell(self, scan: Scanning) -> None:
        """Let the report have what there is to say of comments."""
        others, scan.report.findings = scan.report.findings, []
        for project, path in self._files:
            try:
                for finding in self._findings(project, path):
                    scan.take(finding, project)
            except Exception as error:  # noqa: BLE001, PERF203 - an error of ours costs no other finding
                scan.report.failed(project.shown_as(path), error)
        if scan.options.probe is not None:  # else all findings are narrowed together
            scan.report.narrow(scan.options.narrowing)
        scan.report.findings += others

    def _findings(self, project: Project, path: Path) -> Iterable[Finding]:
        file = project.read(path)
        if self._rule is None or file is None or not ("noqa" in file.text.lower() or "torch-doctor" in file.text):
            return ()
        if project.problems(path):
            return ()  # what cannot be read was not checked
        trace = Trace(file.display)
        for event in self._idle(file, path):
            trace.add(event)
        return self._rule.check(trace)

    def _idle(self, file: SourceFile, path: Path) -> Iterator[SuppressionUnused]:
        comments, found = self._silencing.comments_of(file), self._found.get(file.display, ())
        used = {
            (comment, selector)
            for finding in found
            for comment in comments.about(finding, file)
            for selector in comment.selectors
            if comment.covers(selector, finding)
        }
        for comment in sorted(comments.all(), key=lambda comment: (comment.row, comment.column)):
            names = sorted(comment.selectors)
            idle = [
                name
                for name in names
                if (comment, name) not in used and self._spoke_of(name, path, seen=file.display not in self._open)
            ]
            unknown = [(name, nearest(name, sorted(self._known))) for name in names if self._is_unknown(name, comment)]
            if idle or unknown:
                yield _event(comment, file, idle, unknown)

    def _spoke_of(self, selector: str, path: Path, *, seen: bool) -> bool:
        """Whether all rules that a selector names had their say in a file, so that their silence means something.

        Where not all was `seen` that the file does, the silence of those that a run can prove right means nothing.
        """
        named = {code for code, name in self._spoke.items() if name == selector}
        named |= {name for name in self._known if name.startswith(selector.upper()) and name != selector.lower()}
        if not seen and named & self._shown_by_runs:
            return False
        return bool(named) and not any(
            code not in self._spoke or code in NEVER_SUPPRESSED or self._silencing.ignores(code, path) for code in named
        )

    def _is_unknown(self, selector: str, comment: Suppression) -> bool:
        """Whether a selector means a rule of ours and there is none; other tools have codes of their own."""
        ours = comment.ours or selector.rstrip("0123456789") in self._families
        return ours and self._tells_unknown and selector not in self._known and not self._silencing.is_known(selector)


def _event(
    comment: Suppression, file: SourceFile, idle: Sequence[str], unknown: Sequence[tuple[str, str]]
) -> SuppressionUnused:
    gone = {*idle, *(name for name, near in unknown if not near)}
    part, instead = without(comment, gone or comment.selectors, file)
    row, column = comment.row, comment.column
    return SuppressionUnused(
        site=file.site(row, column, row, column + len(part)),
        scope=Scope(ScopeKind.ROOT, file.site(row, 1, row, 1)),
        names=tuple(idle),
        unknown=tuple(unknown),
        whole_file=comment.whole_file,
        instead=instead if gone else None,
    )
