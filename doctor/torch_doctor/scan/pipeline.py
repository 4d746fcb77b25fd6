"""The main job: from paths to findings."""

from __future__ import annotations

import contextlib
import time
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.probing import Runnable
from torch_doctor.scan.causes import Causes, order
from torch_doctor.scan.following import Follower
from torch_doctor.scan.options import Options, Report
from torch_doctor.scan.running import give_verdicts, observed
from torch_doctor.scan.silencing import Silencing
from torch_doctor.scan.starting import TRAINING, of_a_folder
from torch_doctor.scan.unfollowed import Unfollowed
from torch_doctor.sources.discovery import discover, display, outer_root, root_of
from torch_doctor.sources.ignores import Ignores
from torch_doctor.sources.project import Project
from torch_doctor.static import Failure, OutOfTime, Spending, witness
from torch_doctor.trace import GaveUp, Scope, ScopeKind, Trace, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torch_doctor.rule import Finding, Rule
    from torch_doctor.sources.source import Problem, SourceFile
    from torch_doctor.trace import Site

UNREADABLE_CODE = "TDR000"


def scan(options: Options, follower: Follower | None = None) -> Report:
    """Look at everything under the paths; `follower` hears how it goes on."""
    return Scan(options, follower).run()


def traces(options: Options, follower: Follower | None = None) -> tuple[list[Trace], Report]:
    """What the static witness sees in the files under the paths, and the probe where it is asked for.

    The report says what they could not see.
    """
    scan = Scan(options, follower, everything=True)
    found: list[Trace] = []
    for project, files in scan.projects():
        found += scan.traces(project, files)
        if options.probe is not None:
            found += [trace for trace, _ in observed(scan, [Runnable(project, scan.scripts[project], found)])]
        for site in {branch.site for trace in found for branch in trace.branches}:
            scan.show(site, project)
    return found, scan.report


class Scan:
    """One scan under way."""

    def __init__(self, options: Options, follower: Follower | None = None, *, everything: bool = False) -> None:
        self.options = options
        self.follower = follower or Follower()
        asked = (*options.rules, *options.hiding)
        needed = TRAINING if of_a_folder(options) else ()
        self._wanted = (
            None if everything else frozenset(event for rule in asked for event in rule.reads()).union(needed)
        )
        self.report = Report(seconds=dict.fromkeys(("discover", "read", "parse", "execute", "judge", "probe"), 0.0))
        self._given: set[Path] = set()
        self.scripts: dict[Project, list[Path]] = {}
        self._found: dict[tuple[object, ...], Finding] = {}
        self.causes = Causes(options.rules)
        self._silencing = Silencing(options)
        self._spending = Spending()
        self._done = 0
        self._total = 0

    def run(self) -> Report:
        """Do it."""
        runnable: list[Runnable] = []
        for project, files in self.projects():
            traces, unfollowed = [], Unfollowed(self._wanted)
            for trace in self.traces(project, files):
                self._judge(trace, project)
                if trace.meant:
                    continue
                unfollowed.hear(trace)
                if self.options.probe is not None:
                    traces.append(trace)
            for file in files:
                self.report.warnings += self._silencing.problems(file)
            self.report.warnings += unfollowed.remarks(project, files)
            self.report.warnings += self._spending.remarks()
            for finding in self.causes.told():
                self.take(finding, project)
            runnable.append(Runnable(project, self.scripts[project], traces))
            for stage, seconds in project.seconds.items():
                self.report.seconds[stage] += seconds
        self.report.findings.sort(key=order)
        if self.options.probe is not None:
            self.follower.found(self.report)
            give_verdicts(self, runnable)
            self.report.findings.sort(key=order)
        return self.report

    # --- what there is to look at ---

    def projects(self) -> Iterator[tuple[Project, list[SourceFile]]]:
        """The files under the paths that can matter, by the project they belong to."""
        options, report = self.options, self.report
        start = time.perf_counter()
        outer = outer_root(options.paths)
        ignores = Ignores(frozenset({outer}), options.exclude, options.extend_exclude, options.respect_gitignore)
        found = discover([path for path in options.paths if path not in options.overlay], ignores)
        report.errors += found.errors
        report.warnings += found.warnings
        paths = [*options.overlay, *(path for path in found.files if path not in options.overlay)]
        if options.force_exclude:
            paths = [path for path in paths if not ignores.excludes_path(path, outer)]
        self._given = set(paths)
        report.files = len(paths)
        roots = {folder: root_of(folder, outer) for folder in {path.parent for path in paths}}
        groups: dict[Path, list[Path]] = {}
        for path in paths:
            groups.setdefault(roots[path.parent], []).append(path)
        report.seconds["discover"] += time.perf_counter() - start
        for root, members in groups.items():
            project = Project(root, ignores, options.overlay, options.names, options.torch)
            self.scripts[project] = members
            yield project, self._relevant(project, members)

    def _relevant(self, project: Project, paths: Sequence[Path]) -> list[SourceFile]:
        files = []
        for path in paths:
            try:
                project.raw(path)
            except OSError as error:
                self.report.errors.append(f"{display(path)} cannot be read: {error.strerror}")
                continue
            if not project.matters(path):
                continue
            file = project.read(path)
            if file is None:
                self.report.warnings.append(f"{display(path)} is too large to be source that somebody wrote: skipped")
            else:
                files.append(file)
        self._total += len(files)
        return files

    # --- what the witness says ---

    def traces(self, project: Project, files: Sequence[SourceFile]) -> Iterator[Trace]:
        """What the static witness sees in the files, and what of them is not valid.

        Where the witness fails, it says so, and the traces of the other files follow.
        """
        stream = witness(
            files,
            project,
            on_file=self._tell,
            wanted=self._wanted,
            environment=self.options.environment,
            spending=self._spending,
        )
        for found in self._timed(iter(stream), project):
            if isinstance(found, Failure):
                self.report.failed(found.path, found.error)
            else:
                yield found
        for file in files:
            yield from self.unreadable(project, file)

    def _timed(self, stream: Iterator[Trace | Failure], project: Project) -> Iterator[Trace | Failure]:
        while True:
            start, before = time.perf_counter(), sum(project.seconds.values())
            try:
                trace = next(stream, None)
            finally:
                elsewhere = sum(project.seconds.values()) - before
                self.report.seconds["execute"] += time.perf_counter() - start - elsewhere
            if trace is None:
                return
            yield trace

    def _tell(self, file: SourceFile) -> None:
        self.follower.reading(self._done, self._total, file.display)
        self._done += 1

    def unreadable(self, project: Project, file: SourceFile) -> Iterator[Trace]:
        """A trace that says what of the file is not valid, if anything is."""
        problems = project.problems(file.path)
        if wrong := [problem for problem in problems if problem.wrong]:
            yield _trace_of_problems(file, wrong)
        for problem in problems:
            if not problem.wrong:
                self.report.remark(f"{problem.site}: not read: {problem.reason}")
        if wrong and not any(rule.code == UNREADABLE_CODE for rule in self.options.rules):
            self.report.warnings.append(f"{wrong[0].site} is not valid Python: {wrong[0].reason}")

    # --- what the rules say ---

    def _judge(self, trace: Trace, project: Project) -> None:
        start = time.perf_counter()
        for event in trace.of(GaveUp):
            run = "" if event.site.path == trace.path else f" (in the run of {trace.path})"
            self.report.remark(f"{event.site}: gave up: {event.reason}{run}")
        with contextlib.suppress(OutOfTime), self._spending.ending(trace.path):
            for rule in self.options.rules:
                self._ask(rule, trace, project)
            for rule in self.options.hiding:
                self._ask(rule, trace, project, tells=False)
        self.report.seconds["judge"] += time.perf_counter() - start

    def _ask(self, rule: Rule, trace: Trace, project: Project, *, tells: bool = True) -> None:
        try:
            for finding in rule.check(trace):
                if trace.reports_in is not None and finding.site.path not in trace.reports_in:
                    continue
                if tells and finding.site not in trace.invented:
                    behind = tuple(sorted(trace.meant, key=attrgetter("site")))
                    self.causes.add(replace(finding, behind=behind) if behind else finding)
                broken = rule.broken(finding)
                if broken is not None and not self._is_silenced(finding, project):
                    trace.broken.add(broken)
        except Exception as error:  # noqa: BLE001 - one rule's failure is not the others'
            self.report.failed(f"{trace.path} with {rule.code}", error)

    def take(self, finding: Finding, project: Project) -> None:
        """Let the report have a finding, unless it has it, or it is silenced."""
        key = (finding.code, finding.site)
        if key in self._found:
            return
        path = project.displayed(finding.site.path)
        if path not in self._given and not project.visible(path):
            return
        if self._is_silenced(finding, project):
            return
        if project.read(path) is not None:
            for site in (finding.site, *(step.site for step in finding.trail)):
                self.show(site, project)
        self._found[key] = finding
        self.report.findings.append(finding)

    def _is_silenced(self, finding: Finding, project: Project) -> bool:
        path = project.displayed(finding.site.path)
        return self._silencing.silences(finding, path, project.read(path))

    def show(self, site: Site, project: Project) -> None:
        """Let the report have the source that a site lies in."""
        if site.path not in self.report.sources and (source := project.read(project.displayed(site.path))):
            self.report.sources[site.path] = source


def _trace_of_problems(file: SourceFile, problems: Sequence[Problem]) -> Trace:
    trace = Trace(file.display)
    scope = Scope(ScopeKind.ROOT, problems[0].site)
    for problem in problems:
        trace.add(Unreadable(site=problem.site, scope=scope, reason=problem.reason))
    return trace
