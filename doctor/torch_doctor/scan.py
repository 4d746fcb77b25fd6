"""The main job: from paths to findings."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor.probing import Probing, probed
from torch_doctor.rule import Verdict
from torch_doctor.sources.discovery import discover, display, outer_root, root_of
from torch_doctor.sources.ignores import Ignores, Patterns
from torch_doctor.sources.project import Project
from torch_doctor.sources.suppressions import Suppressions, suppressions
from torch_doctor.static import witness
from torch_doctor.trace import GaveUp, Scope, ScopeKind, Trace, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch_doctor.probe import Outcome
    from torch_doctor.rule import Finding, Rule
    from torch_doctor.sources.source import Problem, SourceFile
    from torch_doctor.trace import Site, Versions

UNREADABLE_CODE = "TDR000"


@dataclass(frozen=True, slots=True)
class FileIgnore:
    """Rules that do not speak in some files; `negated`: in all files but these."""

    patterns: Patterns
    codes: frozenset[str]
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to scan and what to report. Paths are absolute; `overlay` holds files that are not read from the disk."""

    paths: tuple[Path, ...]
    rules: tuple[Rule, ...]
    known: frozenset[str] = frozenset()  # every code and name, to check what comments say
    exclude: tuple[Patterns, ...] | None = None
    extend_exclude: tuple[Patterns, ...] = ()
    respect_gitignore: bool = True
    force_exclude: bool = False  # exclude patterns hold for files that are named, too
    file_ignores: tuple[FileIgnore, ...] = ()
    overlay: Mapping[Path, bytes] = field(default_factory=dict)
    names: Mapping[Path, str] = field(default_factory=dict)
    torch: Versions | None = None  # as the user says; else the project's pins are read
    probe: Probing | None = None


@dataclass(slots=True)
class Report:
    """The findings in order, and what else there is to say; errors make the exit status 2, notes are for `-v`.

    `remarks` are what the probe has to say of its runs, and `outputs` what each script printed, by its name.
    """

    findings: list[Finding] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    files: int = 0
    sources: dict[str, SourceFile] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def scan(options: Options, on_file: Callable[[int, int, str], None] | None = None) -> Report:
    """Look at everything under the paths. `on_file` hears of each file: how many are done, of how many, its name."""
    return Scan(options, on_file).run()


def traces(options: Options) -> tuple[list[Trace], Report]:
    """What the static witness sees in the files under the paths, and the probe where it is asked for.

    The report says what they could not see.
    """
    scan = Scan(options)
    found: list[Trace] = []
    for project, files in scan.projects():
        found += scan.witnessed(project, files)
        for file in files:
            found += scan.unreadable(project, file)
        if options.probe is not None:
            found += scan.observed(project, found, options.probe)
        for site in {branch.site for trace in found for branch in trace.branches}:
            scan.show(site, project)
    return found, scan.report


class Scan:
    """One scan under way."""

    def __init__(self, options: Options, on_file: Callable[[int, int, str], None] | None = None) -> None:
        self.options = options
        self.report = Report(seconds=dict.fromkeys(("discover", "read", "parse", "execute", "judge", "probe"), 0.0))
        self._on_file = on_file
        self._given: set[Path] = set()
        self._scripts: dict[Project, list[Path]] = {}
        self._found: dict[tuple[object, ...], Finding] = {}
        self._suppressions: dict[str, Suppressions] = {}
        self._remarks: set[str] = set()
        self._done = 0
        self._total = 0

    def run(self) -> Report:
        """Do it."""
        for project, files in self.projects():
            traces = []
            for trace in self.witnessed(project, files):
                self._judge(trace, project)
                if self.options.probe is not None:
                    traces.append(trace)
            for file in files:
                for trace in self.unreadable(project, file):
                    self._judge(trace, project)
                self._check_comments(file)
            if self.options.probe is not None:
                self._probe(project, traces, self.options.probe)
            for stage, seconds in project.seconds.items():
                self.report.seconds[stage] += seconds
        self.report.findings.sort(key=_order)
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
            self._scripts[project] = members
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

    def witnessed(self, project: Project, files: Sequence[SourceFile]) -> Iterator[Trace]:
        """The traces of the files; where the witness fails, those of the other files."""
        positions = {file.path: position for position, file in enumerate(files)}
        begin = 0
        while begin < len(files):
            current = begin

            def entered(file: SourceFile) -> None:
                nonlocal current
                current = positions.get(file.path, current)
                self._tell(file)

            stream = iter(witness(files[begin:], project, on_file=entered))
            try:
                yield from self._timed(stream, project)
            except Exception as error:  # noqa: BLE001 - one file's failure is not the others'
                self._failed(files[current].display, error)
                begin = current + 1
            else:
                return

    def _timed(self, stream: Iterator[Trace], project: Project) -> Iterator[Trace]:
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
        if self._on_file is not None:
            self._on_file(self._done, self._total, file.display)
        self._done += 1

    def unreadable(self, project: Project, file: SourceFile) -> Iterator[Trace]:
        """A trace that says what of the file is not valid, if anything is."""
        problems = project.problems(file.path)
        if wrong := [problem for problem in problems if problem.wrong]:
            yield _trace_of_problems(file, wrong)
        for problem in problems:
            if not problem.wrong:
                self._remark(f"{problem.site}: not read: {problem.reason}")
        if wrong and not any(rule.code == UNREADABLE_CODE for rule in self.options.rules):
            self.report.warnings.append(f"{wrong[0].site} is not valid Python: {wrong[0].reason}")

    # --- what the rules say ---

    def _judge(self, trace: Trace, project: Project) -> None:
        start = time.perf_counter()
        for event in trace.of(GaveUp):
            run = "" if event.site.path == trace.path else f" (in the run of {trace.path})"
            self._remark(f"{event.site}: gave up: {event.reason}{run}")
        for rule in self.options.rules:
            try:
                for finding in rule.check(trace):
                    self._take(finding, project)
            except Exception as error:  # noqa: BLE001, PERF203 - one rule's failure is not the others'
                self._failed(f"{trace.path} with {rule.code}", error)
        self.report.seconds["judge"] += time.perf_counter() - start

    def _take(self, finding: Finding, project: Project) -> None:
        key = (finding.code, finding.site)
        if key in self._found:
            return
        path = project.displayed(finding.site.path)
        if path not in self._given and not project.visible(path):
            return
        if any(_is_ignored(ignore, path, finding.code) for ignore in self.options.file_ignores):
            return
        file = project.read(path)
        if file is not None:
            if self._comments_of(file).silences(finding, file):
                return
            for site in (finding.site, *(step.site for step in finding.trail)):
                self.show(site, project)
        self._found[key] = finding
        self.report.findings.append(finding)

    def show(self, site: Site, project: Project) -> None:
        """Let the report have the source that a site lies in."""
        if site.path not in self.report.sources and (source := project.read(project.displayed(site.path))):
            self.report.sources[site.path] = source

    # --- what the probe says ---

    def observed(self, project: Project, traces: Sequence[Trace], how: Probing) -> Iterator[Trace]:
        """What the runs of the project's scripts showed, of those that could be run."""
        for script in self._scripts[project]:
            start = time.perf_counter()
            outcome = probed(script, project, traces, self.options.rules, how)
            self.report.seconds["probe"] += time.perf_counter() - start
            self._hear(outcome, script, how)
            if outcome.trace is not None:
                yield outcome.trace

    def _hear(self, outcome: Outcome, script: Path, how: Probing) -> None:
        name = self.options.names.get(script) or display(script)
        self.report.remarks += outcome.remarks
        self.report.outputs[name] = outcome.output
        if outcome.trace is not None:
            self.report.warnings += [outcome.ending] if outcome.ending else []
        elif how.required:
            self.report.errors.append(f"the probe could not run {name}: {outcome.ending}")
        else:
            self.report.warnings.append(
                f"the probe could not run {name}, what the source says stands: {outcome.ending}"
            )

    def _probe(self, project: Project, traces: Sequence[Trace], how: Probing) -> None:
        """Give the findings so far their verdicts, and add those of the runs alone."""
        from torch_doctor.probe import judge, merged  # noqa: PLC0415 - only where it is asked for

        report = self.report
        for trace in self.observed(project, traces, how):
            judgement = judge(report.findings, trace, self.options.rules)
            pairs = zip(report.findings, judgement.judged, strict=True)
            report.findings[:] = [merged(finding, judged) for finding, judged in pairs]
            for finding in judgement.new:
                self._take(finding, project)
            void: dict[str, list[str]] = {}
            for code, stand_in in judgement.void:
                void.setdefault(str(stand_in), []).append(code)
            for reason, codes in void.items():
                report.remarks.append(f"{trace.path}: nothing can be said of {', '.join(codes)}: {reason}")
            undecided = {finding.code for finding in judgement.judged if finding.verdict is Verdict.UNDECIDED}
            if how.processes == 1 and (
                codes := [each.code for each in self._compares_ranks() if each.code in undecided]
            ):
                report.remarks.append(f"{trace.path}: `--probe-processes 2` would decide {', '.join(codes)}")
            for code, error in judgement.failures:
                self._failed(f"the run of {trace.path} with {code}", error)
            for finding in report.findings:
                for evidence in finding.evidence:
                    if evidence.site is not None:
                        self.show(evidence.site, project)

    def _compares_ranks(self) -> list[Rule]:
        return [rule for rule in self.options.rules if rule.compares_ranks]

    # --- what comments say ---

    def _comments_of(self, file: SourceFile) -> Suppressions:
        if file.display not in self._suppressions:
            self._suppressions[file.display] = suppressions(file)
        return self._suppressions[file.display]

    def _check_comments(self, file: SourceFile) -> None:
        if "torch-doctor" not in file.text:
            return
        comments = self._comments_of(file)
        named = [(comment.row, name) for comment in comments.all() if comment.ours for name in comment.selectors]
        unknown = [(row, f"no rule is called `{name}`") for row, name in named if not self._is_known(name)]
        for row, why in sorted(comments.misspelt + unknown):
            self.report.warnings.append(f"{file.site(row, 1, row, 1)}: {why}")

    def _is_known(self, selector: str) -> bool:
        known = self.options.known
        return selector == "ALL" or selector in known or any(name.startswith(selector.upper()) for name in known)

    def _remark(self, note: str) -> None:
        if note not in self._remarks:  # a place that is passed several times is named once
            self._remarks.add(note)
            self.report.notes.append(note)

    def _failed(self, what: str, error: Exception) -> None:
        import traceback  # noqa: PLC0415 - only for an error of ours

        frames = traceback.extract_tb(error.__traceback__)
        where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        said = f": {error}" if str(error) else ""
        self.report.errors.append(
            f"internal error while scanning {what}: {type(error).__name__}{said}{where}; please report it"
        )
        self.report.notes.append("".join(traceback.format_exception(error)).rstrip())


def _trace_of_problems(file: SourceFile, problems: Sequence[Problem]) -> Trace:
    trace = Trace(file.display)
    scope = Scope(ScopeKind.ROOT, problems[0].site)
    for problem in problems:
        trace.add(Unreadable(site=problem.site, scope=scope, reason=problem.reason))
    return trace


def _is_ignored(ignore: FileIgnore, path: Path, code: str) -> bool:
    if code not in ignore.codes:
        return False
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - only where there are per-file ignores

    base = ignore.patterns.base
    inside = path.is_relative_to(base)
    name = path.relative_to(base).as_posix() if inside else path.name
    return bool(GitIgnoreSpec.from_lines(ignore.patterns.globs).match_file(name)) is not ignore.negated


def _order(finding: Finding) -> tuple[str, int, int, int, str]:
    site = finding.site
    return site.path, site.cell or 0, site.row, site.column, finding.code
