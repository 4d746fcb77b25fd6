"""The main job: from paths to findings."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.probing import Runnable
from torch_doctor.processes import jobs_for
from torch_doctor.scan.causes import Causes, order
from torch_doctor.scan.examining import Context, Examiner, alone
from torch_doctor.scan.following import Follower
from torch_doctor.scan.gathering import Gathering
from torch_doctor.scan.options import Options, Report
from torch_doctor.scan.running import give_verdicts
from torch_doctor.scan.sharding import Sharing
from torch_doctor.scan.silencing import Silencing
from torch_doctor.scan.starting import TRAINING, of_a_folder
from torch_doctor.scan.unfollowed import Unfollowed
from torch_doctor.scan.unused import Unused
from torch_doctor.sources.discovery import Discovered, discover, display, outer_root, root_of
from torch_doctor.sources.project import Project
from torch_doctor.static import FileOrder, Imports
from torch_doctor.static.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from torch_doctor.rule import Finding
    from torch_doctor.scan.examining import Examined
    from torch_doctor.scan.gathering import Turn
    from torch_doctor.scan.remembering import Memory
    from torch_doctor.sources.ignores import Ignores
    from torch_doctor.trace import Event, ModelInput, Site, Trace


PROBE = "probe"
"""The witness of what only a run shows."""


class Scan:
    """One scan under way."""

    def __init__(
        self,
        options: Options,
        follower: Follower | None = None,
        *,
        everything: bool = False,
        wanted: frozenset[type[Event]] = frozenset(),
        memory: Memory | None = None,
    ) -> None:
        self.options = options
        self.follower = follower or Follower()
        asked = (*options.rules, *options.hiding)
        needed = TRAINING if of_a_folder(options) else ()
        self._wanted = (
            None if everything else wanted or frozenset(event for rule in asked for event in rule.reads()).union(needed)
        )
        self.report = Report(seconds=dict.fromkeys(("discover", "read", "parse", "execute", "judge", "probe"), 0.0))
        self.report.warnings += shipped()[1]
        self._memory = memory
        self._sharing = None if options.shard is None else Sharing(options.shard)
        self._discovered = Discovered()
        self._shown: dict[str, Path] = {}
        self._given: set[Path] = set()
        self.scripts: dict[Project, list[Path]] = {}
        self._found: dict[tuple[object, ...], Finding] = {}
        self.causes = Causes(options.rules, options.quiet)
        self._silencing = Silencing(options)
        self._unused = Unused(options, self._silencing)
        self._done = 0
        self._total = 0

    def run(self) -> Report:
        """Do it."""
        runnable: list[Runnable] = []
        for project, files in self.projects():
            traces: list[Trace] = []
            self._examine(project, files, traces.append if self.options.probe is not None else None)
            runnable.append(Runnable(project, self.scripts[project], traces))
        if self.options.probe is not None:
            self.report.findings.sort(key=order)
            self.report.narrow(self.options.narrowing)
            self.follower.found(self.report)
            with self._guarding("scripts"):
                give_verdicts(self, runnable)
            self.report.narrow(self.options.narrowing, PROBE)
        self._unused.tell(self)
        self.report.findings.sort(key=order)
        if self._memory is not None:
            self._memory.keep(self.report, self._discovered, self._shown)
        return self.report

    def look(self, project: Project, files: Sequence[Path], hear: Callable[[Trace], None]) -> None:
        """Let somebody have the traces of the files, which nobody judges, and the report what they cannot tell."""
        for _, found in self._examined(project, files, hear, judges=False):
            self._take_in(found, project)

    def _examine(self, project: Project, files: Sequence[Path], hear: Callable[[Trace], None] | None) -> None:
        """Find out what there is to say about the files; `hear` gets the traces."""
        unfollowed = Unfollowed()
        examined = list(self._examined(project, files, hear))
        seen = {*files, *(Path(name) for _, found in examined for name in found.followed.imported)}
        project.know(seen)
        asked = frozenset(map(project.shown_as, seen))
        for _, found in examined:
            self._take_in(found, project)
            unfollowed.add(found.heard)
            for caller in found.callers.values():
                self._take_in(caller, project, asked)
                unfollowed.add(caller.heard)
        self._compare([found for _, found in examined], project)
        looked_at = [path for path, _ in examined]
        self._unused.take(project, looked_at, [found for _, found in examined])
        for path in files if self._sharing is None else looked_at:
            self.report.left(unfollowed.left(project.shown_as(path)))
        for finding in self._told():
            self.take(finding, project)
        for stage, seconds in project.seconds.items():
            self.report.seconds[stage] += seconds

    def _compare(self, examined: Sequence[Examined], project: Project) -> None:
        """Let each rule compare what it noted of several files."""
        noted: dict[str, list[ModelInput]] = {}
        for found in examined:
            for code, each in found.noted.items():
                noted.setdefault(code, []).extend(each)
        for rule in self.options.rules if noted else ():
            with self._guarding(f"the files with {rule.code}"):
                for finding in rule.between(noted[rule.code]) if rule.code in noted else ():
                    self._add(finding, project)

    def _told(self) -> list[Finding]:
        """The findings that are to be reported; all of them where their causes cannot be told."""
        found = self.causes.waiting()
        try:
            return list(self.causes.told())
        except Exception as error:  # noqa: BLE001 - an error of ours costs no finding
            self.report.failed("findings with a common cause", error)
            return found

    @contextmanager
    def _guarding(self, what: str) -> Iterator[None]:
        """An error of ours within is said, and costs nothing else."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, the rest is still reported
            self.report.failed(what, error)

    def _take_in(self, examined: Examined, project: Project, asked: Container[str] | None = None) -> None:
        """Take in what was found out about a file; `asked`: only findings in these files are reported."""
        report = self.report
        for finding in examined.findings:
            if asked is None or finding.site.path in asked:
                self._add(finding, project)
        report.take_errors(examined.errors)
        report.warnings += examined.warnings
        for note in examined.notes:
            report.remark(note)
        for stage, seconds in examined.seconds.items():
            report.seconds[stage] += seconds

    def _add(self, finding: Finding, project: Project) -> None:
        """Let a finding be one of its cause; where that spans files, what is left out in one says nothing of the others."""
        with self._guarding(finding.site.path):
            if finding.wide and self._is_left_out(finding, project):
                return
        self.causes.add(finding)

    def _examined(
        self, project: Project, files: Sequence[Path], hear: Callable[[Trace], None] | None, *, judges: bool = True
    ) -> list[tuple[Path, Examined]]:
        """What there is to say about the files, each after those that import it."""
        given = project.given = frozenset(files)
        order = self._order(project, given)
        own = order.files if self._sharing is None else self._sharing.own(project, order)
        gathering = Gathering(order, own, project.shown_as)
        remembered = None if self._memory is None else self._memory.of(project, files)

        def recall(turn: Turn) -> Examined | None:
            self.follower.reading(self._done, self._total, project.shown_as(turn.path))
            self._done += 1
            return None if remembered is None else remembered.recall(turn)

        def learn(turn: Turn, found: Examined) -> None:
            if remembered is not None:
                remembered.add(turn, found)

        options = replace(self.options, narrowing=())  # of all processes only this one decides
        context = Context(options, project.root, project.ignores, given, self._wanted, project.worked_out)
        jobs = 1 if hear is not None else jobs_for(len(own), self.options.jobs)
        if jobs > 1:
            from torch_doctor.scan.spreading import Together  # noqa: PLC0415 - slow to import

            found = dict(Together(context, gathering, recall, learn, jobs).results())
        else:
            with closing(Examiner(context, hear, judges=judges)) as examiner:
                found = dict(alone(gathering, examiner, recall, learn))
        return [(path, found[path]) for path in own]

    def _order(self, project: Project, given: frozenset[Path]) -> FileOrder:
        order = FileOrder(given, project, imports := Imports(project))
        imports.spending.close()
        for failure in imports.failures:
            self.report.failed(failure.path, failure.error)
        return order

    # --- what there is to look at ---

    def projects(self) -> Iterator[tuple[Project, list[Path]]]:
        """The files under the paths that can matter, by the project they belong to."""
        options, report = self.options, self.report
        start = time.perf_counter()
        outer, ignores, paths = self.files()
        roots = {folder: root_of(folder, outer) for folder in {path.parent for path in paths}}
        groups: dict[Path, list[Path]] = {}
        for path in paths:
            groups.setdefault(roots[path.parent], []).append(path)
        report.seconds["discover"] += time.perf_counter() - start
        for root, members in groups.items():
            project = Project(root, ignores, options.overlay, options.names, options.torch)
            self.scripts[project] = members
            yield project, self._relevant(project, members)

    def files(self) -> tuple[Path, Ignores, list[Path]]:
        """The folder around all paths, what is ignored below it, and the files under the paths."""
        options, report = self.options, self.report
        outer = outer_root(options.paths)
        ignores = options.ignores(outer)
        found = self._discovered = discover([path for path in options.paths if path not in options.overlay], ignores)
        report.errors += found.errors
        report.warnings += found.warnings
        named = [path for path in options.overlay if path in options.paths]
        paths = [*named, *(path for path in found.files if path not in named)]
        if options.force_exclude:
            paths = [path for path in paths if not ignores.excludes_path(path, outer)]
        self._given = set(paths)
        report.files = len(paths)
        return outer, ignores, paths

    def _relevant(self, project: Project, paths: Sequence[Path]) -> list[Path]:
        files = []
        for path in paths:
            try:
                project.raw(path)
            except OSError as error:
                self.report.errors.append(f"{display(path)} cannot be read: {error.strerror}")
                continue
            except Exception as error:  # noqa: BLE001 - whatever it is, the other files are still looked at
                self.report.failed(display(path), error)
                continue
            if not project.matters(path):
                continue
            if project.too_large(path):
                self.report.warnings.append(f"{display(path)} is too large for hand-written source: skipped")
            else:
                files.append(path)
        self._total += len(files)
        return files

    # --- what is reported ---

    def take(self, finding: Finding, project: Project) -> None:
        """Let the report have a finding, unless it has it, or it is silenced."""
        key = (finding.code, finding.site)
        if key in self._found:
            return
        self._unused.hear([finding])
        with self._guarding(finding.site.path):
            if self._is_left_out(finding, project):
                return
            if project.read(project.displayed(finding.site.path)) is not None:
                given = (site for site in finding.edited() if project.displayed(site.path) in self._given)
                for site in (*finding.places(), *given):
                    self.show(site, project)
        self._found[key] = finding
        self.report.findings.append(finding)

    def _is_left_out(self, finding: Finding, project: Project) -> bool:
        """Whether a finding lies in a file that is not to be looked at, concerns no file of the scan, or is silenced."""
        path = project.displayed(finding.site.path)
        places = {project.displayed(site.path) for site in finding.places()}
        hidden = path not in self._given and not project.visible(path)
        if hidden or (self.options.named_only and self._given.isdisjoint(places)):
            return True
        return self._silencing.silences(finding, path, project.read(path))

    def show(self, site: Site, project: Project) -> None:
        """Let the report have the source that a site lies in."""
        if site.path not in self.report.sources and (source := project.read(project.displayed(site.path))):
            self.report.sources[site.path] = source
            self._shown[site.path] = source.path
